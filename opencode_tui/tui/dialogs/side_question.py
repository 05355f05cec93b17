"""The panel of a side question: what was asked, the answer, what it cost."""

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual.strip import Strip

from opencode_tui.schema.api.side_question import SideAnswer
from opencode_tui.text.cells import breaks
from opencode_tui.text.quantity import duration, money
from opencode_tui.text.safe_text import screen_line, screen_lines
from opencode_tui.tui.conversation.line import TEXT, RenderContext
from opencode_tui.tui.conversation.markdown import Markdown
from opencode_tui.tui.conversation.prose import draw_block
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import KeyAction, cancels
from opencode_tui.tui.widgets.row import Piece

_MARGIN = 5
"""Columns of a conversation's line that its text does not use."""


class SideQuestionPanel(Panel):
    """Waits for the answer, which it shows then; `apart` says that it stays apart, `now` returns ms."""

    bar = "accent"
    scopes = ("panel:side", "panel")
    is_asked_for = True

    def __init__(
        self,
        question: str,
        *,
        apart: str,
        now: Callable[[], int],
        again: Callable[[], object],
        copy: Callable[[str], object],
        closed: Callable[[], object],
    ) -> None:
        super().__init__()
        self._question = question
        self._apart = apart
        self._now = now
        self._since = now()
        self._again = again
        self._copy = copy
        self.close_panel = closed
        self.answer: SideAnswer | None = None
        self._problem = ""

    def on_mount(self) -> None:
        """Count the seconds until the answer comes."""
        super().on_mount()
        self.set_interval(1, self._tick)

    def _tick(self) -> None:
        if not self._is_answered:
            self.redraw()

    @property
    def _is_answered(self) -> bool:
        return self.answer is not None or bool(self._problem)

    def show_answer(self, answer: SideAnswer) -> None:
        """Show the answer and its cost."""
        self.answer = answer
        self.refresh(layout=True)
        self.redraw()

    def show_problem(self, problem: str) -> None:
        """Show why there is no answer."""
        self._problem = problem
        self.refresh(layout=True)
        self.redraw()

    @property
    def answers(self) -> Sequence[KeyAction]:
        """Ask again and copy, once there is an answer; close at any time."""
        if not self._is_answered:
            return (cancels("cancel", self.close_panel),)
        again, answer = KeyAction("side_again", "ask again", self._again), self.answer
        if answer is None:
            return again, cancels("close", self.close_panel)
        return (
            again,
            KeyAction("side_copy", "copy", lambda: self._copy(answer.text)),
            cancels("close", self.close_panel),
        )

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return what it is; at the right that it stays apart, and the cost."""
        palette = self.look.palette
        facts = self._apart
        if self.answer is not None:
            facts += f"   {money(self.answer.cost)}"
        return [("Side question", palette.style("text", "surface", bold=True))], [
            (facts, palette.style("muted", "surface"))
        ]

    def body(self, width: int) -> Sequence[Line]:
        """Return the question, and the answer or what is waited for."""
        palette = self.look.palette
        asked = palette.style("accent", "surface")
        lines: list[Line] = [
            [(line[start:end], asked)] for line in screen_lines(self._question) for start, end in breaks(line, width)
        ]
        lines.append([])
        if self.answer is not None:
            return [*lines, *self._prose(self.answer.text, width)]
        if self._problem:
            words, style = screen_line(self._problem), palette.style("error", "surface")
            return [*lines, *([(words[start:end], style)] for start, end in breaks(words, width))]
        seconds = (self._now() - self._since) // 1000
        wait = f"Waiting for the answer{f'  {duration(seconds)}' if seconds else ''}"
        return [*lines, [(wait, palette.style("muted", "surface"))]]

    def _prose(self, text: str, width: int) -> list[Strip]:
        """Return the lines of an answer with the tone of the panel."""
        page = RenderContext(width + _MARGIN, self.look)
        markdown = Markdown()
        markdown.feed(text)
        markdown.close()
        around, fill = page.area().bgcolor, page.area("surface")
        return [
            Strip(
                [
                    Segment(words, style + fill if style is not None and style.bgcolor == around else style)
                    for words, style, _ in line.strip.crop(TEXT, TEXT + width)
                ]
            )
            for block in markdown.blocks
            for line in draw_block(block, page)
        ]
