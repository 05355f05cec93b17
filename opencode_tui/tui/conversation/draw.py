"""Draws an item that is no text: which kind is drawn by whom."""

from typing import assert_never

from opencode_tui.tui.conversation.failure import draw_failure
from opencode_tui.tui.conversation.markers import draw_compaction, draw_retries, draw_stop, draw_thought_line, draw_undo
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.scene import Scene
from opencode_tui.tui.conversation.tool_view import draw_tool
from opencode_tui.tui.conversation.user import draw_user
from opencode_tui.tui.items import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    RetryItem,
    StopItem,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)


def draw_item(item: AnyItem, page: Page, scene: Scene) -> list[Line]:
    """Return an item's lines; of a thought only the first, of a text none: they flow."""
    match item:
        case UserItem():
            return draw_user(item, page, scene)
        case ToolItem():
            return draw_tool(item, page, scene)
        case ThoughtItem():
            return [draw_thought_line(item, page, scene)]
        case CompactionItem():
            return draw_compaction(item, page, scene)
        case RetryItem():
            return draw_retries(item, page, scene)
        case ErrorItem():
            return draw_failure(item, page, scene)
        case StopItem():
            return draw_stop(item, page, scene)
        case UndoItem():
            return draw_undo(item, page, scene)
        case TextItem():
            return []
        case _:
            assert_never(item)
