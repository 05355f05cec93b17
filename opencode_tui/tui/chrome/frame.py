"""The widgets of the first frame, which needs nothing of the engine."""

from textual.containers import Container

from opencode_tui.tui.chrome.activity import ActivityLine
from opencode_tui.tui.chrome.header import Header
from opencode_tui.tui.chrome.queue_rows import QueueRows
from opencode_tui.tui.chrome.status_line import StatusLine
from opencode_tui.tui.prompt.box import PromptBox


class Frame:
    """The rows of the chat from top to bottom; the conversation comes into `talk`, panels into `ask`."""

    def __init__(self) -> None:
        self.header = Header()
        self.activity = ActivityLine()
        self.queue = QueueRows()
        self.prompt = PromptBox()
        self.talk = Container(id="talk")
        self.ask = Container(id="ask")
        self.status = StatusLine()
