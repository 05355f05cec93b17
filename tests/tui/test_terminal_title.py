"""The title of the terminal's window."""

import pytest

from opencode_tui.tui.terminal_title import Progress, TerminalProgress, TerminalTitle
from tests.support.rows import each


def test_the_session_is_named_once_and_the_old_title_comes_back() -> None:
    written: list[str] = []
    title = TerminalTitle(written.append)
    title.show("")
    title.show("Fix the parser")
    title.show("Fix the parser")
    title.end()
    title.end()
    first, second, *rest = written
    assert first == "\x1b[22;2t\x1b]2;opencode-tui\x07"
    assert second == "\x1b]2;Fix the parser · opencode-tui\x07"
    assert rest == ["\x1b[23;2t"]


def test_a_hostile_title_orders_nothing() -> None:
    written: list[str] = []
    TerminalTitle(written.append).show("a\x07b\x1b]52;c;x\x1b\\c\n\x9d\u202ed")
    assert sum(one.count("\x07") for one in written) == 1
    assert written[0].count("\x1b") == 2
    assert "\x9d" not in written[0] and "\u202e" not in written[0]


def test_it_can_be_switched_off_and_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_DISABLE_TERMINAL_TITLE", "1")
    written: list[str] = []
    title = TerminalTitle(written.append)
    title.show("Fix the parser")
    assert written == []
    title.switch()
    assert written == ["\x1b[22;2t\x1b]2;Fix the parser · opencode-tui\x07"]
    title.switch()
    assert written[-1] == "\x1b[23;2t"


def test_progress_is_written_when_it_changes_and_removed_at_the_end() -> None:
    written: list[str] = []
    progress = TerminalProgress(written.append, {"WT_SESSION": "1"})
    states: tuple[Progress, ...] = ("busy", "busy", "asks", "busy", "", "")
    for state in states:
        progress.show(state)
    assert written == [f"\x1b]9;4;{one}\x07" for one in ("3;0", "4;100", "3;0", "0;0")]


@each(
    ("environ", "shows"),
    [
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.10"}, True),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.14"}, False),
        ({"VTE_VERSION": "8002"}, True),
        ({"VTE_VERSION": "7600"}, False),
        ({"WT_SESSION": "1", "TMUX": "/tmp/tmux"}, False),
        ({"TERM": "xterm-256color"}, False),
    ],
)
def test_a_terminal_that_would_show_progress_as_a_notification_gets_none(environ: dict[str, str], shows: bool) -> None:
    written: list[str] = []
    TerminalProgress(written.append, environ).show("busy")
    assert bool(written) is shows
