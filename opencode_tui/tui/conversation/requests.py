"""Messages from the conversation and the parts around it to the screen."""

from collections.abc import Sequence

from textual.message import Message

from opencode_tui.tui.conversation.tools import FullText
from opencode_tui.tui.state.message import AnyItem, PictureSource, ToolItem


class FollowChanged(Message):
    """The view follows the end, or does not: then `new_lines` have come since."""

    def __init__(self, is_following: bool, new_lines: int) -> None:
        super().__init__()
        self.is_following = is_following
        self.new_lines = new_lines


class FullTextRequested(Message):
    """Request to show a long text in a view of its own."""

    def __init__(self, full: FullText) -> None:
        super().__init__()
        self.full = full


class PictureRequested(Message):
    """Request to show pictures in their full size; with `is_outside` the first one in another program."""

    def __init__(self, pictures: Sequence[PictureSource], *, is_outside: bool = False) -> None:
        super().__init__()
        self.pictures = pictures
        self.is_outside = is_outside


class SessionRequested(Message):
    """Request to show another session."""

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self.session_id = session_id


class RestoreRequested(Message):
    """Request to restore a pruned output."""

    def __init__(self, item: ToolItem) -> None:
        super().__init__()
        self.item = item


class RevertRequested(Message):
    """Request to undo everything from a message, or from one of its parts, after a preview."""

    def __init__(self, message_id: str, part_id: str | None) -> None:
        super().__init__()
        self.message_id = message_id
        self.part_id = part_id


class ForkRequested(Message):
    """Request to fork the session before a message."""

    def __init__(self, message_id: str) -> None:
        super().__init__()
        self.message_id = message_id


class FindRequested(Message):
    """Request to ask for a text to find in the conversation."""


class RedoRequested(Message):
    """Request to redo what was undone."""


class CopyRequested(Message):
    """Request to copy a text to the clipboard; `what` describes it, as a safe text."""

    def __init__(self, text: str, what: str = "") -> None:
        super().__init__()
        self.text = text
        self.what = what


class NothingToCopy(Message):
    """The focused item has no code block."""


class EditorRequested(Message):
    """Request to open a file that an item names in the user's editor."""

    def __init__(self, item: AnyItem) -> None:
        super().__init__()
        self.item = item


class LinkRequested(Message):
    """A link was pressed."""

    def __init__(self, href: str) -> None:
        super().__init__()
        self.href = href


class TopNear(Message):
    """The first line is at most one screen above the window: older messages may be wanted."""


class Left(Message):
    """Request to return the focus to the prompt."""
