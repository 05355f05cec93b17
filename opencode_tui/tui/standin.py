"""A plain stand-in for the conversation until its view is there."""

from collections.abc import Sequence

from textual.strip import Strip

from opencode_tui.tui.row import row
from opencode_tui.tui.rows import Rows
from opencode_tui.tui.safe_text import screen_lines
from opencode_tui.tui.transcript import Transcript


class ConversationView(Rows):
    """Lines."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript

    def on_mount(self) -> None:
        self.set_interval(1 / 20, self.tick)

    def tick(self) -> None:
        if self.transcript.has_changes:
            self.transcript.take_changes()
            self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        palette = self.look.palette
        fill = palette.area("background")
        lines: list[Strip] = []
        for item in self.transcript.items:
            text = str(getattr(item, "text", "") or getattr(getattr(item, "part", None), "tool", item.kind))
            area = "surface" if item.kind == "user" else "background"
            for line in screen_lines(text):
                lines.append(row(width, [("   ", fill), (line, palette.style("text", area))], fill=palette.area(area)))
            lines.append(Strip.blank(width, fill))
        return lines[-height:]
