"""The chat in lines, at a real terminal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


Start = Callable[..., Terminal]
CHOICE = "Undo? y both, c conversation only, f files only, n nothing: "


@pytest.fixture
def plain(line: CommandLine) -> Start:
    asking = replace(line, settings={"permission": {"edit": "ask"}})

    def start(*arguments: str) -> Terminal:
        words = ["-m", "opencode_tui", "--plain", "-m", line.model, *arguments]
        return Terminal(words, folder=line.folder, environ=asking.variables())

    return start


def test_a_day_in_lines(plain: Start, project: Any) -> None:
    with plain() as terminal:
        terminal.expect("> ")
        terminal.send('write it <<tool write {"filePath":"note.txt","content":"hello"}>>\n')
        terminal.expect("n reject")
        terminal.send("y\n")
        terminal.expect("Done: write it")
        assert (project.path / "note.txt").read_text() == "hello"
        terminal.expect("> ")
        terminal.send("/undo\n")
        assert "note.txt" in terminal.expect(CHOICE)
        terminal.send("n\n")
        terminal.expect("Nothing was changed.")
        terminal.send("/undo\n")
        terminal.expect(CHOICE)
        terminal.send("f\n")
        assert "Undid the file changes of 3 messages (1 prompt)" in terminal.expect("/redo restores it")
        assert not (project.path / "note.txt").exists()
        terminal.send("/show\n")
        terminal.expect("Done: write it")
        terminal.send("/redo\n")
        terminal.expect("Redid")
        assert (project.path / "note.txt").read_text() == "hello"
        terminal.send("/undo\n")
        terminal.expect(CHOICE)
        terminal.send("conversation\n")
        assert "files stay as they are" in terminal.expect("/redo restores it")
        assert (project.path / "note.txt").read_text() == "hello"
        terminal.send("/redo\n")
        terminal.expect("Redid")
        terminal.send("/undo\n")
        terminal.expect(CHOICE)
        terminal.send("y\n")
        terminal.expect("/redo restores it")
        assert not (project.path / "note.txt").exists()
        terminal.send("/redo\n")
        terminal.expect("Redid")
        assert (project.path / "note.txt").read_text() == "hello"
        terminal.send("/diff\n")
        terminal.expect("hello")
        terminal.expect("> ")
        terminal.send("!echo from the shell\n")
        terminal.expect("\nfrom the shell\n")
        terminal.send("first line \\\n")
        terminal.expect(". ")
        terminal.send("second line\n")
        assert "second line" in terminal.expect("Echo: first line second line")
        terminal.send("/nonsense\n")
        terminal.expect("unknown command")
        terminal.send("/cost\n")
        terminal.expect("tokens in")
        terminal.send("\x04")
        terminal.expect("opencode-tui --plain -s ses_")
        assert terminal.wait() == 0
        assert "\x1b" not in terminal.text
    session_id = terminal.text.strip().rsplit(" ", 1)[-1]
    with plain("-s", session_id) as terminal:
        assert "write it" in terminal.expect("> ")
        terminal.send("/sessions\n")
        terminal.expect("1  write it")
        terminal.send("/new\n/open 1\n")
        terminal.expect("Done: write it")
        terminal.send("/quit\n")
        assert terminal.wait() == 0


def test_a_command_of_a_subfolder_runs_and_a_path_is_text(plain: Start, line: CommandLine) -> None:
    file = Path(line.variables()["XDG_CONFIG_HOME"], "opencode-tui", "commands", "docs", "api.md")
    file.parent.mkdir(parents=True)
    file.write_text("Describe $ARGUMENTS")
    with plain() as terminal:
        terminal.expect("> ")
        terminal.send("/docs/api parser\n")
        terminal.expect("Echo: Describe parser")
        terminal.send("/usr/bin is missing\n")
        terminal.expect("Echo: /usr/bin is missing")
        terminal.send("/quit\n")
        assert terminal.wait() == 0


def test_an_interruption_ends_the_turn_and_not_the_chat(plain: Start) -> None:
    with plain() as terminal:
        terminal.expect("> ")
        terminal.send("\x03")
        terminal.expect("Nothing is running")
        terminal.send('wait <<tool bash {"command":"sleep 60","description":"wait"}>>\n')
        terminal.expect("Calling bash")
        terminal.send("\x03")
        terminal.expect("Interrupted.")
        terminal.send("again\n")
        terminal.expect("Echo: again")
        terminal.send("/quit\n")
        assert terminal.wait() == 0


def test_the_variant_of_the_model_can_be_changed(plain: Start, server: ModelServer) -> None:
    with plain("--variant", "low") as terminal:
        terminal.expect("> ")
        terminal.send("/variant\n")
        assert "* low" in terminal.expect("  high")
        terminal.send("one\n")
        terminal.expect("Echo: one")
        terminal.send("/variant huge\n")
        terminal.expect("choose one of low, medium, high")
        terminal.send("/variant high\n")
        terminal.expect("Variant high")
        terminal.send("two\n")
        terminal.expect("Echo: two")
        terminal.send("/quit\n")
        assert terminal.wait() == 0
    assert [request.body.get("reasoning_effort") for request in server.requests] == ["low", "high"]


def test_a_line_about_the_model_is_shown(line: CommandLine, server: ModelServer) -> None:
    (line.folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    models = {"fake": {**server.config()["fake"], "models": {"text-only": {"attachment": False}}}}
    words = ["-m", "opencode_tui", "--plain", "-m", "fake/text-only"]
    with Terminal(words, folder=line.folder, environ=replace(line, provider=models).variables()) as terminal:
        terminal.expect("> ")
        terminal.send("look at @a.png\n")
        terminal.expect("a.png left out: fake/text-only is not known to accept images")
        terminal.expect(" tokens")
        terminal.expect("> ")


def test_a_check_runs_until_it_passes_in_lines_too(plain: Start, project: Any) -> None:
    with plain() as terminal:
        terminal.expect("> ")
        terminal.send("/until\n")
        terminal.expect("for example /until make test")
        terminal.send("/until echo no; false\n")
        terminal.expect("turn 1 of 10 follows: echo no; false")
        terminal.expect("the same failure 3 times in a row")
        terminal.expect("> ")
        terminal.send("/until off\n")
        terminal.expect("The check is off.")
