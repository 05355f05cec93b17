"""The title of the terminal's window."""

import pytest

from opencode_tui.tui.terminal_title import TerminalTitle


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
