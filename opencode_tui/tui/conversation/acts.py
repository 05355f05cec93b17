"""What can be done with the items: which can have the focus, what Enter does, where an undo would begin."""

from collections.abc import Sequence

from textual.message import Message

from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.tool import argument_of, name_of
from opencode_tui.tui.conversation import requests
from opencode_tui.tui.conversation.scene import Scene
from opencode_tui.tui.conversation.tool_view import is_pruned, opened_of
from opencode_tui.tui.conversation.tools.table import renderer_of
from opencode_tui.tui.conversation.tools.task import session_of
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.items import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)
from opencode_tui.tui.transcript import Transcript


class Acts:
    """Acts on the items of one transcript."""

    def __init__(self, transcript: Transcript, scene: Scene, root: str) -> None:
        self._transcript = transcript
        self._scene = scene
        self._root = root

    @property
    def focused(self) -> AnyItem | None:
        """The item that has the focus."""
        return self._transcript.item(self._scene.focus) if self._scene.focus else None

    @property
    def pruned(self) -> ToolItem | None:
        """The item that has the focus, if it is a pruned call."""
        item = self.focused
        return item if isinstance(item, ToolItem) and is_pruned(item) else None

    def last_of(self, items: Sequence[AnyItem]) -> AnyItem | None:
        """Return the last of these items that can have the focus."""
        return next((item for item in reversed(items) if can_focus(item)), None)

    def next(self, direction: int) -> AnyItem | None:
        """Return the next item that can have the focus, below or above; None at the end."""
        items, current = self._transcript.items, self.focused
        at = current.at if current is not None else len(items) if direction < 0 else -1
        places = range(at + direction, len(items) if direction > 0 else -1, direction)
        return next((items[place] for place in places if can_focus(items[place])), None)

    def is_pressable(self, item: AnyItem) -> bool:
        """Tell whether a click on the item's line does something."""
        return isinstance(item, ToolItem | ThoughtItem | CompactionItem | UndoItem)

    def act(self, item: AnyItem) -> Message | None:
        """Do what Enter and a click do; return what the app must do, None when the item was opened or folded."""
        if isinstance(item, UndoItem):
            return None if item.is_preview else requests.RedoRequested()
        if not isinstance(item, ToolItem):
            self._scene.opened[item.id] = "folded" if self._scene.is_open(item) else "whole"
            return None
        session_id = session_of(item.part)
        if session_id:
            return requests.SessionRequested(session_id)
        return self._open_tool(item)

    def fold(self, item: AnyItem, opened: str) -> bool:
        """Open or fold an item; tell whether anything changed."""
        if isinstance(item, ErrorItem | TextItem | UndoItem) or opened not in ("folded", "whole"):
            return False
        self._scene.opened[item.id] = "folded" if opened == "folded" else "whole"
        return True

    def boundary_of(self, item: AnyItem) -> tuple[str, str | None]:
        """Return the message and the part from which an undo back to this item goes."""
        is_message = isinstance(item, UserItem | CompactionItem | ErrorItem)
        return item.message_id, None if is_message else item.id

    def text_of(self, item: AnyItem) -> str:
        """Return an item's text as it is, for the clipboard."""
        match item:
            case UserItem() | TextItem() | ThoughtItem():
                return item.text
            case CompactionItem():
                return item.summary
            case ToolItem():
                return _tool_text(item)
            case _:
                return ""

    def _open_tool(self, item: ToolItem) -> Message | None:
        opened = opened_of(item, self._scene)
        state = item.part.state
        if opened == "whole":
            full = renderer_of(item.part.tool).full(item.part) if isinstance(state, ToolStateCompleted) else None
            if full is not None:
                title = f"{name_of(item.part.tool)}  {argument_of(item.part, self._root)}"
                return requests.FullTextRequested(FullText(title, full.text, full.path))
            self._scene.opened[item.id] = "folded"
        elif isinstance(state, ToolStateCompleted | ToolStateError):
            self._scene.opened[item.id] = "whole"
        return None


def can_focus(item: AnyItem) -> bool:
    """Tell whether an item can have the focus."""
    if item.is_hidden or (isinstance(item, UndoItem) and item.is_preview):
        return False
    return isinstance(item, UserItem | ToolItem | ThoughtItem | CompactionItem | UndoItem)


def _tool_text(item: ToolItem) -> str:
    state = item.part.state
    if isinstance(state, ToolStateError):
        return state.error
    if item.part.tool == "bash":
        return str(state.input.get("command") or "")
    return renderer_of(item.part.tool).text(item.part)
