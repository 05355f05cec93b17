"""`ctrl+z` gives the terminal back to the shell, whatever the program was started through, and `fg` shows the screen again.

OpenCode (`app.tsx`), Claude Code and pi call `process.kill(0, "SIGTSTP")` for it, which is for the group (read 2026-11-29).
"""

import sys
from collections.abc import Callable

import pytest

from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


SHELL = "import os; os.environ['PS1'] = 'SHELL> '; os.execvp('bash', ['bash', '--norc', '--noprofile'])"
WAITS = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
PROGRAM = f"{sys.executable} -m opencode_tui"

Open = Callable[..., ScreenTerminal]


@pytest.fixture
def opened(line: CommandLine) -> Open:
    def open_terminal(*arguments: str) -> ScreenTerminal:
        return ScreenTerminal(arguments, folder=line.folder, environ=line.variables())

    return open_terminal


@pytest.mark.parametrize(
    "command",
    [PROGRAM, f"sh -c '{PROGRAM}; true'", f"{sys.executable} -c '{WAITS}' sh -c '{PROGRAM}; true'"],
    ids=["alone", "by a script", "by a program and a script"],
)
def test_the_shell_has_the_terminal_until_it_continues_the_screen(opened: Open, command: str) -> None:
    with opened("-c", SHELL) as terminal:
        terminal.sees("SHELL>")
        terminal.type(f"{command}\r")
        terminal.sees("f1 help")
        terminal.type("some words")
        terminal.sees("▎ some words")
        for _ in range(2):
            terminal.press("ctrl+z")
            terminal.sees("Stopped")
            terminal.type("echo shell $((20 + 22))\r")
            terminal.sees("shell 42")
            terminal.type("fg\r")
            terminal.sees("▎ some words")
        terminal.type("!")
        terminal.sees("▎ some words!")
        terminal.press("ctrl+c")
        terminal.sees_no_more("some words!")
        terminal.press("ctrl+x", "q")
        terminal.sees("SHELL>")
        terminal.type("exit\r")
        assert terminal.ends() == 0


@pytest.mark.parametrize("above", [("-m", "opencode_tui"), ("-c", WAITS, "sh", "-c", f"{PROGRAM}; true")])
def test_without_a_shell_the_screen_stays(opened: Open, above: tuple[str, ...]) -> None:
    with opened(*above) as terminal:
        terminal.sees("f1 help")
        terminal.press("ctrl+z")
        terminal.sees("Suspend needs a shell to return to")
        terminal.type("some words")
        terminal.sees("▎ some words")
        terminal.press("ctrl+c")
        terminal.sees_no_more("some words")
        terminal.press("ctrl+x", "q")
        assert terminal.ends() == 0
