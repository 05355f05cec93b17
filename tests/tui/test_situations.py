"""The screen where people meet it: no key, no repository, little room, little trust, a turn that runs while they leave."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


WITHOUT_ROOT = (
    "import os, sys; drop = ['setpriv', '--bounding-set=-dac_override,-dac_read_search']; "
    "os.execvp(drop[0], [*drop, sys.executable, *sys.argv[1:]])"
)
"""Root may write everywhere; a person may not."""


def test_not_one_letter_is_lost_from_the_start_of_the_program_on(start: Open) -> None:
    with start() as terminal:
        letters = ""
        while "fake-model" not in terminal.shown() or len(letters) < 120:
            letters += chr(97 + len(letters) % 26)
            terminal.type(letters[-1])
            terminal.read_for(0.02)

        def written() -> str:
            return "".join(line.partition("▎")[2].strip() for line in terminal.lines())

        terminal.read_until(lambda: written() == letters)


def test_quitting_while_a_turn_runs_asks_and_tells_the_way_back(start: Open, paths: Any) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("count <<slow 30>> <<words 500>>\r")
        terminal.sees("word5 ")
        terminal.press("ctrl+d", "ctrl+d")
        terminal.sees("Quit while the agent is running?")
        terminal.answer("escape")
        terminal.sees_no_more("Quit while the agent is running?")
        terminal.press("ctrl+x", "q")
        terminal.sees("Quit while the agent is running?")
        terminal.answer("s")
        assert terminal.ends() == 0
        session_id = terminal.shown().split()[-1]
        assert f"opencode-tui -s {session_id}" in terminal.shown()
    assert read_store(paths.storage).unfinished == []
    with start("-c") as terminal:
        assert "Interrupted by you" in terminal.sees("word5 ")


def latest_word(text: str) -> int:
    """Return the number of the last word of a count that is shown."""
    return max((int(number) for number in re.findall(r"word(\d+)\b", text)), default=0)


def test_what_is_sent_during_a_turn_waits_and_is_answered_and_escape_twice_ends_a_turn_and_once_does_not(
    start: Open,
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("count <<slow 20>> <<words 120>>\r")
        terminal.sees("word5 ")
        terminal.type("and then this\r")
        assert "and then this" in terminal.sees("queued")
        terminal.sees("Echo: and then this")
        terminal.sees("Done")

        terminal.press("ctrl+x", "n")
        terminal.sees_no_more("Echo: and then this")
        terminal.type("count <<slow 30>> <<words 3000>>\r")
        terminal.sees("word5 ")
        terminal.press("escape")
        latest = latest_word(terminal.sees("again to interrupt"))
        terminal.read_until(lambda: latest_word(terminal.shown()) > latest + 2)
        terminal.click("again to interrupt")
        terminal.sees("Interrupted")
        terminal.type("more\r")
        terminal.sees("Echo: more")


def test_the_first_screen_without_a_key_offers_the_demo(folder: Path, environ: dict[str, str]) -> None:
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=environ) as terminal:
        terminal.sees("No API key found")
        assert "opencode-tui auth login" in terminal.shown()
        terminal.press("up")
        terminal.sees("▎ list the files here")
        terminal.press("ctrl+c")
        terminal.type("create notes.md with a plan\r")
        assert "✓ Write  notes.md" in terminal.sees("Done")
        assert (folder / "notes.md").exists()


def test_40_columns_show_everything_that_matters(start: Open) -> None:
    with start(size=(40, 20)) as terminal:
        terminal.sees("Ask anything")
        terminal.type('look <<tool bash {"command":"echo seen; exit 3","description":"x"}>>\r')
        shown = terminal.sees("Done")
        assert "exit 3" in shown and "seen" in shown
        lines = terminal.lines()
        assert lines and all(len(line) <= 40 for line in lines)
        terminal.press("ctrl+p")
        terminal.sees("What do you want to do?")
        terminal.press("escape")
        terminal.resize(120, 30)
        terminal.sees("f1 help")


def test_a_folder_that_is_not_trusted_starts_nothing_and_says_what_it_would_start(start: Open, folder: Path) -> None:
    make_repo(folder)
    plugin = folder / ".opencode" / "plugins" / "evil.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f"open({str(folder / 'started')!r}, 'w')\n")
    (folder / "opencode.json").write_text(
        json.dumps({"mcp": {"evil": {"type": "local", "command": ["touch", "started"]}}})
    )
    with start() as terminal:
        shown = terminal.sees("Inactive until you trust this folder")
        assert ".opencode/plugins/evil.py" in shown and "mcp.evil" in shown and "/trust" in shown
        terminal.type("hello\r")
        terminal.sees("Echo: hello")
        assert not (folder / "started").exists()


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_says_so_and_the_agent_reads_there(
    folder: Path, environ: dict[str, str], server: ModelServer
) -> None:
    (folder / "a.txt").write_text("seen\n")
    folder.chmod(0o555)
    line = CommandLine(folder, environ, provider=server.config(), settings={"model": "fake/fake-model"})
    words = ["-m", "opencode_tui"] if os.geteuid() else ["-c", WITHOUT_ROOT, "-m", "opencode_tui"]
    with ScreenTerminal(words, folder=folder, environ=line.variables(), size=(200, 40)) as terminal:
        terminal.sees("Read-only folder")
        terminal.type('look <<tool write {"filePath":"n.txt","content":"hi"}>>\r')
        terminal.sees("permission denied")
        terminal.sees("✓ Done")
        terminal.type('look <<tool read {"filePath":"a.txt"}>>\r')
        terminal.sees("✓ Read")


def test_a_mistake_in_a_region_is_told_in_a_line_and_the_session_goes_on(
    folder: Path, environ: dict[str, str], server: ModelServer
) -> None:
    broken = (
        "import sys\nfrom opencode_tui.tui.chrome.status_line import StatusLine\n"
        "def fails(self, event): raise ValueError('planted')\nStatusLine.on_click = fails\n"
        "from opencode_tui.cli.main import run_command_line\nsys.exit(run_command_line([]))"
    )
    line = CommandLine(folder, environ, provider=server.config(), settings={"model": "fake/fake-model"})
    with ScreenTerminal(["-c", broken], folder=folder, environ=line.variables()) as terminal:
        terminal.sees("fake-model")  # before, no widget is there that could be clicked
        terminal.click("f1 help")
        assert "log/opencode-tui.log" in terminal.sees("ValueError")
        terminal.type("hello\r")
        terminal.sees("Echo: hello")
        terminal.sees("Done")
        terminal.press("ctrl+x", "q")
        assert terminal.ends() == 0


def test_without_a_terminal_the_screen_names_the_way(folder: Path, environ: dict[str, str]) -> None:
    done = CommandLine(folder, environ).run()
    assert done.code == 2 and "opencode-tui run" in done.stderr and not done.stdout


def test_after_the_editor_ctrl_c_clears_the_prompt_and_a_question_mark_in_the_empty_one_shows_the_keys(
    start: Open, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "written outside" > "$1"\n')
    editor.chmod(0o755)
    with start(environ={"EDITOR": str(editor)}) as terminal:
        terminal.sees("Ask anything")
        terminal.press("ctrl+x", "e")
        terminal.sees("written outside")
        terminal.press("ctrl+c")
        assert "again to quit" not in terminal.sees("Ask anything")
        terminal.type("still here?\r")
        terminal.sees("Echo: still here?")
        terminal.press("?")
        terminal.sees("Keyboard shortcuts")
        terminal.press("escape")
        terminal.sees_no_more("Keyboard shortcuts")
