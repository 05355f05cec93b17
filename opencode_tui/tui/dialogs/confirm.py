"""A panel that asks for confirmation of an action."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.style import Style

from opencode_tui.text.cells import breaks
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import CANCEL, KeyAction
from opencode_tui.tui.widgets.row import Piece


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The question, its subject (unsafe lines), a muted sentence, and the answers, among which should be one that
    `cancels`; `scope` is that of answers other than yes and cancel. `is_asked_for`: a key of the user has opened it just now.
    """

    title: str
    about: Sequence[str] = ()
    sentence: str = ""
    answers: Sequence[KeyAction] = ()
    scope: str = "panel"
    is_asked_for: bool = True


class ConfirmPanel(Panel):
    """Shows a question of the program. It is answered once; it can be canceled after that, as what the answer began may fail."""

    def __init__(self, question: Confirmation) -> None:
        super().__init__()
        self._question = question
        self._is_answered = False
        self._answers = [
            one if one.id == CANCEL else replace(one, act=partial(self._answer, one.act)) for one in question.answers
        ]
        self.scopes = (question.scope, "panel")
        self.is_asked_for = question.is_asked_for

    @property
    def answers(self) -> Sequence[KeyAction]:
        """The answers."""
        return self._answers

    def _answer(self, act: Callable[[], object]) -> None:
        """Do it once: work in the background may close the panel behind keys that came with the one that answered."""
        if not self._is_answered:
            self._is_answered = True
            act()

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the question."""
        return [(screen_line(self._question.title), self.look.palette.style("text", "surface", bold=True))], []

    def body(self, width: int) -> Sequence[Line]:
        """Return the subject, then the sentence."""
        palette = self.look.palette
        lines = _wrapped(self._question.about, width, palette.style("text", "surface"))
        if self._question.sentence:
            sentence = _wrapped([self._question.sentence], width, palette.style("muted", "surface"))
            lines += [[], *sentence] if lines else sentence
        return lines


def _wrapped(texts: Sequence[str], room: int, style: Style) -> list[Line]:
    """Return wrapped texts; continuation rows start under the first character, so that no row looks like another line."""
    lines: list[Line] = []
    for line in map(screen_line, texts):
        words = line.lstrip(" ")
        indent = min(len(line) - len(words), room // 2)
        lines += [[(" " * indent + words[start:end], style)] for start, end in breaks(words, room - indent)]
    return lines
