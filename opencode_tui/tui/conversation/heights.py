"""The empty rows between items, and the estimated height of an item. Source: docs/internals/screen.md#columns."""

from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text.tool import changed_lines
from opencode_tui.tui.conversation.body import TAIL_LINES
from opencode_tui.tui.conversation.drawing import LISTED
from opencode_tui.tui.conversation.line import RenderContext
from opencode_tui.tui.conversation.tool_view import opened_of
from opencode_tui.tui.conversation.tools.edit import SHOWN
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    GrowingItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)

_LINES = frozenset({"tool", "thought", "retry", "stop"})


def gap_between(before: AnyItem | None, item: AnyItem) -> int:
    """Return the empty rows above an item."""
    if before is None or item.is_hidden:
        return 0
    if isinstance(before, UndoItem) and before.is_preview:
        return 0
    if before.kind in _LINES and item.kind in _LINES:
        return int(_is_running(item) and not _is_running(before))
    return 1


def estimate_item(item: AnyItem, page: RenderContext, scene: ViewState) -> int:
    """Return the estimated height of an item in rows, without the gap; cheap for any size."""
    if item.is_hidden:
        return 0
    match item:
        case ThoughtItem():
            return 1 if not scene.is_open(item) else 2 + _text_rows(item, page)
        case GrowingItem():
            return _text_rows(item, page)
        case UserItem():
            return 1 + len(item.text) // page.prose + item.text.count("\n")
        case ToolItem():
            return _tool_rows(item, scene)
        case ErrorItem():
            return 4
        case CompactionItem():
            return 1 if not scene.is_open(item) else 2 + len(item.summary) // page.prose
        case UndoItem():
            listed = len(item.files) if scene.is_open(item) else min(LISTED + 1, len(item.files))
            return 1 if item.is_preview else 3 + listed
        case _:
            return 1


def _text_rows(item: GrowingItem, page: RenderContext) -> int:
    room = page.prose
    return 1 + sum(len(piece) // room + piece.count("\n") for piece in item.pieces[:50]) + len(item.pieces[50:]) // 8


def _tool_rows(item: ToolItem, scene: ViewState) -> int:
    state, result = item.part.state, row_of(item.part.tool).result
    if _is_running(item):
        return 1 + (TAIL_LINES if result in ("command", "agent") else 0)
    if (
        isinstance(state, ToolStateCompleted)
        and result in ("diff", "patch")
        and item.id not in scene.opened
        and not scene.detailed
    ):
        changed = changed_lines(item.part.tool, state.metadata)
        return 1 + min(SHOWN, sum(changed) + 4 if changed else 0)
    if isinstance(state, ToolStateError) or item.is_last or item.id in scene.opened or item.kind in scene.detailed:
        return 1 if opened_of(item, scene) == "folded" else 3
    return 1


def _is_running(item: AnyItem) -> bool:
    return isinstance(item, ToolItem) and item.part.state.status == "running" and not item.wait
