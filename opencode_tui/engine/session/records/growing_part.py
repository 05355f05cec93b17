"""Parts that are still growing, stored as pieces: nothing is copied or joined per token."""

from opencode_tui.schema.session.part import PartTime, ReasoningPart, TextPart, ToolPart


class LiveText:
    """A text or reasoning part while the model writes it."""

    def __init__(self, start: TextPart | ReasoningPart) -> None:
        self._start = start
        self._pieces: list[str] = [start.text] if start.text else []

    @property
    def id(self) -> str:
        """The part's id."""
        return self._start.id

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._pieces.append(text)

    def text(self) -> str:
        """Return the whole text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def record(self) -> TextPart | ReasoningPart:
        """Return the part as it is now, still open."""
        return self._start.changed(text=self.text())

    def closed(self, *, end: int, metadata: dict[str, object] | None = None) -> TextPart | ReasoningPart:
        """Return the finished part: trailing white space removed, `time.end` set."""
        started = self._start.time.start if self._start.time else end
        return self._start.changed(
            text=self.text().rstrip(),
            time=PartTime(start=started, end=end),
            metadata=metadata if metadata is not None else self._start.metadata,
        )


class LiveTool:
    """A tool part while its call runs; new progress replaces the previous one."""

    def __init__(self, part: ToolPart) -> None:
        self.part = part

    def record(self) -> ToolPart:
        """Return the part as it is now."""
        return self.part
