"""What the conversation looks like, one picture a situation; pictures become references only after somebody looked at them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.event.event import SessionUpdated
from opencode_tui.schema.session.session import RevertState
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.theme.look import ASCII
from tests.support.terminal.conversation import (
    ConversationApp,
    Story,
    chat_dark,
    chat_light,
    compaction_and_retry,
    errors,
    every_state,
    every_tool,
    failures,
    look,
    markdown,
    requests_of,
    revert_preview,
    tasks,
)
from tests.support.terminal.scripted_client import session

pytestmark = pytest.mark.usefixtures("jumping_clock")

Act = Callable[[Pilot[Any]], Awaitable[None]]


def app_of(pilot: Pilot[Any]) -> ConversationApp:
    assert isinstance(pilot.app, ConversationApp)
    return pilot.app


async def nothing(pilot: Pilot[Any]) -> None:
    await pilot.pause(0.15)


async def focus_the_pruned_search(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    await pilot.pause(0.15)
    app.view.focus()
    await pilot.pause(0.1)
    for _ in range(8):
        await pilot.press("up")
    await pilot.pause(0.1)


async def focus_a_response(pilot: Pilot[Any]) -> None:
    app = app_of(pilot)
    await pilot.pause(0.15)
    app.view.focus()
    await pilot.pause(0.1)
    await pilot.press("up")
    await pilot.pause(0.1)


async def open_thoughts(pilot: Pilot[Any]) -> None:
    await _open(pilot, "thought")


async def open_tools(pilot: Pilot[Any]) -> None:
    await _open(pilot, "tool", but=("read", "task"))


async def open_the_summary(pilot: Pilot[Any]) -> None:
    await _open(pilot, "compaction")


async def scroll_up(pilot: Pilot[Any]) -> None:
    await pilot.pause(0.15)
    app_of(pilot).view.scroll_lines(-8)
    await pilot.pause(0.1)


async def preview_an_undo(pilot: Pilot[Any]) -> None:
    await pilot.pause(0.15)
    transcript = app_of(pilot).view.transcript
    transcript.preview_undo(_second_request(pilot))
    await pilot.pause(0.1)


async def undo(pilot: Pilot[Any]) -> None:
    await pilot.pause(0.15)
    transcript = app_of(pilot).view.transcript
    message_id = _second_request(pilot)
    files = [
        UndoneFile("M", "src/csvkit/parser.py", "restored", "", 1, 1),
        UndoneFile("A", "tests/test_last_row.py", "deleted", "", 17),
        UndoneFile("M", "README.md", "kept", "you changed it at 12:05", 3),
    ]
    transcript.show_undone(message_id, files)
    transcript.apply(SessionUpdated(info=session("reverted", revert=RevertState(message_id=message_id))))
    await pilot.pause(0.1)


async def select_with_the_mouse(pilot: Pilot[Any]) -> None:
    view = app_of(pilot).view
    await pilot.pause(0.15)
    await pilot.mouse_down(view, offset=(10, 2))
    await pilot.hover(view, offset=(20, 4))
    await pilot.mouse_up(view, offset=(40, 9))
    await pilot.pause(0.1)


async def _open(pilot: Pilot[Any], kind: str, but: tuple[str, ...] = ()) -> None:
    view = app_of(pilot).view
    await pilot.pause(0.15)
    for item in list(view.transcript.items):
        if item.kind == kind and (kind != "tool" or item.part.tool not in but):  # pyright: ignore[reportAttributeAccessIssue] - a call
            view.act(item)
    view.action_scroll_end()
    await pilot.pause(0.1)


def _second_request(pilot: Pilot[Any]) -> str:
    users = [item for item in app_of(pilot).view.transcript.items if item.kind == "user"]
    return users[1].message_id


DARK, LIGHT = look(), look(dark=False)

SITUATIONS: dict[str, tuple[Callable[[], Story], tuple[int, int], Any, Act]] = {
    "response-with-the-focus": (tasks, (80, 28), DARK, focus_a_response),
    "response-with-plain-signs": (tasks, (80, 28), look(depth="16", glyphs=ASCII), nothing),
    "turn-with-edit-running-command-and-queued-request": (chat_dark, (100, 32), DARK, nothing),
    "turn-with-edit-running-command-and-queued-request-light": (chat_dark, (100, 32), LIGHT, nothing),
    "turn-in-80-columns": (chat_dark, (80, 19), DARK, nothing),
    "turn-in-60-columns": (chat_dark, (60, 36), DARK, nothing),
    "turn-in-40-columns": (chat_dark, (40, 44), DARK, nothing),
    "turn-in-160-columns": (chat_dark, (160, 32), LIGHT, nothing),
    "turn-in-16-colors-and-ascii": (chat_dark, (86, 32), look(depth="16", glyphs=ASCII), nothing),
    "turn-in-256-colors": (chat_dark, (100, 32), look(depth="256"), nothing),
    "turn-in-256-colors-light": (chat_dark, (100, 32), look(dark=False, depth="256"), nothing),
    "turn-without-colors": (chat_dark, (100, 32), look(depth="none"), nothing),
    "answer-that-streams-light": (chat_light, (100, 30), LIGHT, nothing),
    "answer-that-streams-dark": (chat_light, (100, 30), DARK, nothing),
    "compaction-pruned-calls-and-retries": (compaction_and_retry, (110, 32), DARK, focus_the_pruned_search),
    "compaction-with-its-summary-opened": (compaction_and_retry, (100, 40), LIGHT, open_the_summary),
    "failed-edit-bad-exit-and-refused-key-in-60-columns": (errors, (60, 26), DARK, nothing),
    "failed-edit-bad-exit-and-refused-key-light": (errors, (100, 24), LIGHT, nothing),
    "one-call-of-each-tool": (every_tool, (100, 38), DARK, nothing),
    "one-call-of-each-tool-opened-light": (every_tool, (100, 52), LIGHT, open_tools),
    "calls-that-wait-ask-run-and-stopped": (every_state, (100, 22), DARK, nothing),
    "calls-that-wait-ask-run-and-stopped-light": (every_state, (60, 30), LIGHT, nothing),
    "markdown-and-an-opened-thought": (markdown, (100, 46), DARK, open_thoughts),
    "markdown-in-60-columns-light": (markdown, (60, 50), LIGHT, nothing),
    "markdown-in-160-columns": (markdown, (160, 40), DARK, nothing),
    "each-failure": (failures, (100, 56), DARK, nothing),
    "each-failure-in-40-columns-light": (failures, (40, 70), LIGHT, nothing),
    "scrolled-up-with-the-thumb": (compaction_and_retry, (100, 20), DARK, scroll_up),
    "preview-of-an-undo": (revert_preview, (110, 26), DARK, preview_an_undo),
    "preview-of-an-undo-light": (revert_preview, (110, 26), LIGHT, preview_an_undo),
    "undone-stretch": (revert_preview, (110, 16), DARK, undo),
    "undone-stretch-in-60-columns-light": (revert_preview, (60, 18), LIGHT, undo),
    "text-selected-with-the-mouse": (markdown, (100, 30), DARK, select_with_the_mouse),
}


@pytest.mark.fast_cases("failed-edit-bad-exit-and-refused-key-in-60-columns")
@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool]) -> None:
    make, size, chosen, act = SITUATIONS[name]
    story = make()
    waiting = requests_of(story, "rm -rf build dist", "python -m csvkit --version")
    app = ConversationApp(story.transcript(requests=waiting), chosen)
    assert snap_compare(app, terminal_size=size, run_before=act)
