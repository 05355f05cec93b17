"""A formatter in a turn: one patch, and an undo that restores every byte."""

import sys
from pathlib import Path

from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.repo import Repo

PROGRAM = "import sys\nsys.stdout.write('\\n'.join(line.rstrip() for line in sys.stdin.read().split('\\n')))\n"


async def test_the_undo_of_a_formatted_edit_restores_every_byte(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "fmt.py"
    script.write_text(PROGRAM)
    entry = {"command": [sys.executable, "-S", str(script)], "extensions": [".txt"]}
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
