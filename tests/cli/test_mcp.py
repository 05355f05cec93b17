import json
from pathlib import Path

import pytest

from opencode_tui.config.add_entry import add_mcp_server
from opencode_tui.schema.error import ConfigError
from tests.engine.mcp.conftest import COMMAND


def test_a_server_is_added_between_comments(tmp_path: Path):
    path = tmp_path / "opencode.jsonc"
    path.write_text('{\n  // mine\n  "theme": "nord", // dark\n}\n')
    for name in ("one", "two"):
        assert add_mcp_server(tmp_path, name, {"type": "local", "command": ["x", name]}) == path
    text = path.read_text()
    assert ("// mine" in text, "// dark" in text, text.index('"two"') < text.index('"one"')) == (True, True, True)
    with pytest.raises(ConfigError, match=r"mcp\.one exists already"):
        add_mcp_server(tmp_path, "one", {})


def test_a_server_is_added_to_a_new_file(tmp_path: Path):
    path = add_mcp_server(tmp_path / "new", "one", {"type": "local", "command": COMMAND})
    assert json.loads(path.read_text()) == {"mcp": {"one": {"type": "local", "command": COMMAND}}}
