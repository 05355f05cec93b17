import json
import stat
from pathlib import Path

import pytest

from opencode_tui.config.add_entry import add_mcp_server
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths
from tests.engine.mcp.conftest import COMMAND


def test_a_server_is_added_between_comments(tmp_path: Path, paths: Paths):
    path = tmp_path / "opencode.jsonc"
    path.write_text('{\n  // mine\n  "theme": "nord", // dark\n}\n')
    path.chmod(0o644)
    for name in ("one", "two"):
        assert add_mcp_server(tmp_path, name, {"type": "local", "command": ["x", name]}, paths=paths) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    text = path.read_text()
    assert ("// mine" in text, "// dark" in text, text.index('"one"') < text.index('"two"')) == (True, True, True)
    with pytest.raises(ConfigError, match=r"mcp\.one exists already"):
        add_mcp_server(tmp_path, "one", {}, paths=paths)
    (tmp_path / "opencode.json").write_text("{}")  # overrides the other
    assert add_mcp_server(tmp_path, "three", {}, paths=paths) == tmp_path / "opencode.json"


def test_a_server_is_added_to_a_new_file(tmp_path: Path, paths: Paths):
    path = add_mcp_server(tmp_path / "new", "one", {"type": "local", "command": COMMAND}, paths=paths)
    assert json.loads(path.read_text()) == {"mcp": {"one": {"type": "local", "command": COMMAND}}}
