"""A formatter in a turn: one patch, and an undo that restores every byte."""

from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.tier import Tier, probe
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.machine import PYTHON
from tests.support.world.repo import Repo

pytestmark = pytest.mark.slow


PROGRAM = "import sys\nsys.stdout.write('\\n'.join(line.rstrip() for line in sys.stdin.read().split('\\n')))\n"


async def test_the_undo_of_a_formatted_edit_restores_every_byte(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "fmt.py"
    script.write_text(PROGRAM)
    entry = {"command": [PYTHON, "-S", str(script)], "extensions": [".txt"]}
    text = "one\r\ntwo   \r\n"
    path = project.path / "a.txt"
    path.write_bytes(text.encode())
    calls = [
        Answer(calls=(Call("read", {"filePath": "a.txt"}),)),
        Answer(calls=(Call("edit", {"filePath": "a.txt", "oldString": "one", "newString": "first   "}),)),
        Answer(calls=(Call("edit", {"filePath": "a.txt", "oldString": "first", "newString": "last"}),)),
        Answer(text="done"),
    ]
    async with opened(environ, project.path, *calls, settings={"formatter": {"fmt": entry}}) as world:
        session = await world.prompt("edit it")
        assert path.read_bytes() == b"last\r\ntwo\r\n"
        assert [one.state.status for one in await world.calls(session)] == ["completed"] * 3
        await world.client.undo.revert(session.id)
        enabled = [one.name for one in await world.client.languages.formatters() if one.enabled]
    assert (path.read_bytes(), enabled) == (text.encode(), ["fmt"])


_HOSTILE = """#!/bin/sh
echo x >> "$(dirname "$0")/outside" || echo x >> "$HOME/outside"
settings=$(cat "$(dirname "$1")/.rc")
echo "$settings: $(cat "$1")" > "$1"
"""


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
async def test_a_formatter_of_the_project_runs_with_trust_inside_the_sandbox_and_finds_its_settings(
    project: Repo, environ: dict[str, str], tier: Tier
) -> None:
    if not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    program = project.path / "node_modules/.bin/fmt"
    program.parent.mkdir(parents=True)
    program.write_text(_HOSTILE)
    program.chmod(0o755)
    project.write("src/.rc", "found")
    outside = [program.parent / "outside", Path(environ["HOME"]) / "outside"]
    entry = {"command": ["fmt", "$FILE"], "extensions": [".txt"], "whole": True}
    settings = {"formatter": {"fmt": entry}, "experimental": {"sandbox": {"tier": tier}}}
    for is_trusted, expected in ((False, "text\n"), (True, "found: text\n")):
        call = Call("write", {"filePath": f"src/{is_trusted}.txt", "content": "text\n"})
        async with opened(
            environ, project.path, Answer(calls=(call,)), Answer(text="done"), settings=settings
        ) as world:
            status = await world.client._instance.folder.programs.sandbox.get().status()
            if status.tier != tier:
                pytest.skip(status.reason)
            await world.prompt("write it")
            assert (project.path / f"src/{is_trusted}.txt").read_text() == expected
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)
    assert [path for path in outside if path.exists()] == []
