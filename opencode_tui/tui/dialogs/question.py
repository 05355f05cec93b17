"""The panel for questions of the agent, answered by number, arrow keys or a typed text."""

from collections.abc import Callable, Sequence

from textual import events

from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.text.cells import breaks, pad, wrap
from opencode_tui.text.cells import width as cells
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.widgets.row import Piece

Answers = list[list[str]]

_GAP = 3
"""Cells between an option and its description."""


class QuestionPanel(Panel):
    """The first option is selected at first. `answer` receives a list of labels per question; `write` asks for a typed answer."""

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
        self._row = 0
        self._is_nothing_ticked = False
        """Whether the answer was sent without a tick, which the panel then says."""

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

    @property
    def number(self) -> int:
        """Which question is shown, counted from 0."""
        return self._at

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
        lines = self._asked(width)
        for option_lines in self._option_lines(width):
            lines += option_lines
        if self._is_nothing_ticked:
            lines += [[], [("Tick an answer first, or type one.", palette.style("warning", "surface"))]]
        return lines

    def _option_lines(self, width: int) -> list[list[Line]]:
        """Return the lines of each option: one with its description beside it if all fit so, else both in full."""
        palette, glyphs = self.look.palette, self.look.glyphs
        question = self.request.questions[self._at]
        signs = (glyphs.checked, glyphs.unchecked) if question.multiple else (glyphs.done, " ")
        indent = max(map(cells, signs)) + 4
        room = max(1, width - indent)
        texts = [(screen_line(option.label), screen_line(option.description)) for option in question.options]
        column = max((cells(label) for label, said in texts if said), default=0)
        fits = all(column + _GAP + cells(said) <= room for _, said in texts if said)
        options: list[list[Line]] = []
        for number, (label, said) in enumerate(texts):
            area = "selection" if number == self._row else "surface"
            is_chosen = question.options[number].label in self._chosen[self._at]
            label_style, said_style = (
                palette.style("text", area, bold=number == self._row),
                palette.style("muted", area),
            )
            if said and fits:
                rows: list[list[Piece]] = [[(pad(label, column + _GAP), label_style), (said, said_style)]]
            else:
                rows = [[(line, label_style)] for line in wrap(label, room)]
                rows += [[(line, said_style)] for line in (wrap(said, room) if said else ())]
            head: list[Piece] = [
                (
                    pad(signs[0] if is_chosen else signs[1], indent - 3),
                    palette.style("success" if is_chosen else "muted", area),
                ),
                (f"{number + 1}  " if number < 9 else "   ", palette.style("accent", area, bold=True)),
            ]
            below = [(" " * indent, palette.area(area))]
            options.append([[*(below if at else head), *row] for at, row in enumerate(rows)])
        return options

    def _asked(self, width: int) -> list[Line]:
        """Return the lines of the question, with an empty one before the options."""
        question = self.request.questions[self._at]
        style = self.look.palette.style("text", "surface")
        asked = screen_line(" ".join(question.question.split()))
        lines: list[Line] = [[(asked[start:end], style)] for start, end in breaks(asked, width)]
        return [*lines, []] if question.options else lines

    def _move(self, step: int) -> None:
        count = len(self.request.questions[self._at].options)
        self._row = (self._row + step) % count
        self.scroll_to_line(self._line_of(self._row))

    def _line_of(self, number: int) -> int:
        """Return the first line of an option in the text."""
        above = self._option_lines(self.text_width)[:number]
        return len(self._asked(self.text_width)) + sum(len(lines) for lines in above)

    def _pick(self, number: int) -> None:
        question = self.request.questions[self._at]
        if not 0 <= number < len(question.options):
            return
        if not self.was_shown(self._line_of(number)):
            self._row = number
            return
        label, chosen = question.options[number].label, self._chosen[self._at]
        if question.multiple:
            chosen.remove(label) if label in chosen else chosen.append(label)
            self._row, self._is_nothing_ticked = number, False
            self.refresh(layout=True)
            self.redraw()
            return
        self._chosen[self._at] = [label]
        self._next()

    def _enter(self) -> None:
        question = self.request.questions[self._at]
        if not question.multiple:
            self._pick(self._row)
        elif self._chosen[self._at]:
            self._next()
        else:
            self._is_nothing_ticked = True
            self.refresh(layout=True)
            self.redraw()

    def _next(self) -> None:
        if self._at + 1 < len(self.request.questions):
            self._at, self._row, self._is_nothing_ticked = self._at + 1, 0, False
            self.guard_again()
        else:
            self._answer(self._chosen)
