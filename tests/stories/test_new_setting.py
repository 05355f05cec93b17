"""Settings that are added with one field each: the field says what needs trust, what is secret and which lists are joined."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.source.tree import files_naming
from tests.support.world.cli import PACKAGE_ROOT, CommandLine

pytestmark = pytest.mark.slow


FIELDS = '''    lighthouse: Annotated[Url | None, Trust(SENDS)] = None
    """Where a light is."""
    passphrase_of_light: str | None = Field(default=None, repr=False)
    """What switches it on."""
    lighthouse_names: Annotated[list[Text] | None, Mark.JOINED] = None
    """Names of lights; lists of several files are joined."""
    old_lighthouse: Annotated[str | None, Mark.UNSUPPORTED] = None
    """Where a light was."""
'''
ADDED = ("lighthouse", "passphrase_of_light", "lighthouse_names", "old_lighthouse", "watch_lights")
HEAD = '    schema_url: str | None = Field(default=None, alias="$schema")\n'


@pytest.fixture
def extended(line: CommandLine, tmp_path: Path) -> CommandLine:
    """The program with five settings more."""
    root = tmp_path / "program"
    shutil.copytree(PACKAGE_ROOT / "opencode_tui", root / "opencode_tui", ignore=shutil.ignore_patterns("__pycache__"))
    fields = root / "opencode_tui/config/settings/settings.py"
    text = fields.read_text()
    inner = "    disable_paste_summary: "
    assert text.count(HEAD) == text.count(inner) == 1
    unmarked = f'    watch_lights: bool | None = None\n    """Look at them."""\n{inner}'
    fields.write_text(text.replace(HEAD, FIELDS + HEAD).replace(inner, unmarked))
    return replace(line, root=root)


def show(line: CommandLine) -> tuple[dict[str, str], str]:
    """Return the effective values by key, and the warnings."""
    done = line.run("config", "show")
    assert done.code == 0, done.stderr
    rows = (one.split(maxsplit=1) for one in done.stdout.splitlines())
    return {key: rest for key, rest in rows}, done.stderr


def test_a_field_says_what_a_repository_may_set_before_trust(extended: CommandLine) -> None:
    named = {name: files_naming(extended.root, name) for name in ADDED}
    assert named == {name: ["config/settings/settings.py"] for name in ADDED}
    own = replace(extended, provider=None, settings={"lighthouse_names": ["mine"], "passphrase_of_light": "sesame"})
    written = {
        "lighthouse": "https://sea.example",
        "lighthouse_names": ["theirs"],
        "old_lighthouse": "x",
        "experimental": {"watch_lights": True},
    }
    (extended.folder / "opencode.json").write_text(json.dumps(written))
    shown, warnings = show(own)
    assert "lighthouse" not in shown and "experimental.watch_lights" not in shown
    assert "lighthouse: sends data elsewhere" in warnings
    assert "experimental.watch_lights: disables a protection" in warnings
    assert "old_lighthouse: not supported yet" in warnings
    assert "theirs" in shown["lighthouse_names"] and "mine" in shown["lighthouse_names"]
    assert "sesame" not in str(shown) and shown["passphrase_of_light"]

    assert own.run("trust", "--yes").code == 0
    shown, _ = show(own)
    assert "https://sea.example" in shown["lighthouse"] and "true" in shown["experimental.watch_lights"]


def test_the_fields_are_in_the_schema_with_their_sentences(extended: CommandLine) -> None:
    schema = json.loads(extended.run("config", "schema").stdout)
    assert schema["properties"]["lighthouse"]["description"] == "Where a light is."
