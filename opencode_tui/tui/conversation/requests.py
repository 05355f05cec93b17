"""What the conversation asks of the app: messages that go up."""

from textual.message import Message

from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.state.items import ToolItem


class FollowChanged(Message):
    """The view follows the end, or does not: then `new_lines` have come since."""

    def __init__(self, is_following: bool, new_lines: int) -> None:
        super().__init__()
        self.is_following = is_following
        self.new_lines = new_lines


class FullTextRequested(Message):
    """A text that is too long for the conversation shall be shown in a view of its own."""

    def __init__(self, full: FullText) -> None:
        super().__init__()
        self.full = full


class SessionRequested(Message):
    """The session of a task's agent shall be opened."""

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self.session_id = session_id


class RestoreRequested(Message):
    """A pruned output shall be sent again."""

    def __init__(self, item: ToolItem) -> None:
        super().__init__()
        self.item = item


class RevertRequested(Message):
    """Everything from a message, or from one of its parts on, shall be undone; a preview comes first."""

    def __init__(self, message_id: str, part_id: str | None) -> None:
        super().__init__()
        self.message_id = message_id
        self.part_id = part_id


class ForkRequested(Message):
    """The session shall be forked before a message."""

    def __init__(self, message_id: str) -> None:
        super().__init__()
        self.message_id = message_id


class RedoRequested(Message):
    """The undone stretch shall come back."""


class CopyRequested(Message):
    """A text shall go into the clipboard."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class LinkRequested(Message):
    """A link was pressed."""

    def __init__(self, href: str) -> None:
        super().__init__()
        self.href = href


class Left(Message):
    """The keys go back to the prompt."""
