"""The panel for questions of the agent, answered by number, arrow keys or a typed text."""

from collections.abc import Callable, Sequence

from textual import events

from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.text.cells import breaks, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.widgets.row import Piece

Answers = list[list[str]]


class QuestionPanel(Panel):
    """No option is selected at first. `answer` receives a list of labels per question; `write` asks for a typed answer."""

    bar = "accent"
    scopes = ("panel:question", "panel")

    def __init__(
        self,
        request: QuestionRequest,
        *,
        place: tuple[int, int],
        answer: Callable[[Answers], object],
        dismiss: Callable[[], object],
        write: Callable[[], object],
    ) -> None:
        super().__init__()
        self.request = request
        self._place = place
        self._answer = answer
        self._dismiss = dismiss
        self._write = write
        self._chosen: list[list[str]] = [[] for _ in request.questions]
        self._at = 0
        self._row = -1

    def set_place(self, place: tuple[int, int]) -> None:
        """Show the number of open questions."""
        self._place = place
        self.redraw()

    @property
    def answers(self) -> Sequence[KeyAction]:
        """The actions: select, toggle, type an answer, cancel."""
        question = self.request.questions[self._at]
        answers: list[KeyAction] = []
        if question.options:
            answers += [
                KeyAction("panel_up", "", lambda: self._move(-1)),
                KeyAction("panel_down", "", lambda: self._move(1)),
                KeyAction("question_choose", "select" if not question.multiple else "submit", self._enter),
            ]
        if question.multiple:
            answers.append(KeyAction("question_toggle", "toggle", lambda: self._pick(self._row)))
        return [
            *answers,
            KeyAction("question_write", "type an answer", self._write),
            KeyAction("question_cancel", "cancel (stops the turn)", self._dismiss),
        ]

    def type_key(self, event: events.Key) -> None:
        """Select the option of a number."""
        if event.key in frozenset("123456789"):
            self._pick(int(event.key) - 1)

    def write(self, words: str) -> None:
        """Answer the current question with a typed text."""
        if words:
            self._chosen[self._at].append(words)
            self._next()

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the title; at the right the number of the question."""
        palette = self.look.palette
        question = self.request.questions[self._at]
        at, count = self._place
        facts: list[str] = []
        if len(self.request.questions) > 1:
            facts.append(f"question {self._at + 1} of {len(self.request.questions)}")
        if count > 1:
            facts.append(f"{at} of {count}")
        head = screen_line(question.header or "The agent asks")
        return [(head, palette.style("text", "surface", bold=True))], [
            ("   ".join(facts), palette.style("muted", "surface"))
        ]

    def body(self, width: int) -> Sequence[Line]:
        """Return the full question, then the options."""
        palette = self.look.palette
        question = self.request.questions[self._at]
        lines = self._asked(width)
        labels = [screen_line(option.label) for option in question.options]
        column = min(max(map(cells, labels), default=0), max(8, (width - 5) // 2))
        for number, option in enumerate(question.options):
            area = "selection" if number == self._row else "surface"
            is_chosen = option.label in self._chosen[self._at]
            sign = self.look.glyphs.done if is_chosen else " "
            pieces: list[Piece] = [
                (f"{sign} ", palette.style("success", area)),
                (f"{number + 1}  " if number < 9 else "   ", palette.style("accent", area, bold=True)),
                (pad(labels[number], column), palette.style("text", area, bold=number == self._row)),
            ]
            if option.description:
                pieces.append((f"   {screen_line(option.description)}", palette.style("muted", area)))
            lines.append(pieces)
        return lines

    def _asked(self, width: int) -> list[Line]:
        """Return the lines of the question, with an empty one before the options."""
        question = self.request.questions[self._at]
        style = self.look.palette.style("text", "surface")
        asked = screen_line(" ".join(question.question.split()))
        lines: list[Line] = [[(asked[start:end], style)] for start, end in breaks(asked, width)]
        return [*lines, []] if question.options else lines

    def _move(self, step: int) -> None:
        count = len(self.request.questions[self._at].options)
        self._row = (self._row + step) % count if self._row >= 0 else (0 if step > 0 else count - 1)
        self.scroll_to_line(len(self._asked(self.inside)) + self._row)

    def _pick(self, number: int) -> None:
        question = self.request.questions[self._at]
        if not 0 <= number < len(question.options):
            return
        label, chosen = question.options[number].label, self._chosen[self._at]
        if question.multiple:
            chosen.remove(label) if label in chosen else chosen.append(label)
            self.redraw()
            return
        self._chosen[self._at] = [label]
        self._next()

    def _enter(self) -> None:
        question = self.request.questions[self._at]
        if question.multiple and self._chosen[self._at]:
            self._next()
        elif not question.multiple and self._row >= 0:
            self._pick(self._row)

    def _next(self) -> None:
        if self._at + 1 < len(self.request.questions):
            self._at, self._row = self._at + 1, -1
            self.guard_again()
        else:
            self._answer(self._chosen)
