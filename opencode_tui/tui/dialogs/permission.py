"""The permission panel: the call, the rule for each part, and keys without a preselection."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from opencode_tui.schema.permission import Verdict
from opencode_tui.text.cells import breaks, clip, pad, width
from opencode_tui.text.permission import (
    Act,
    has_parts,
    is_command,
    lost_lines,
    sandbox_facts,
    suggestion_of,
    without_padding,
    without_suggestion,
)
from opencode_tui.text.safe_text import screen_line, screen_lines
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.dialogs.permission_case import PermissionCase
from opencode_tui.tui.diff.cells import code_rows, one_column, two_columns
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.widgets.row import Piece, change_counts, measure

WIDEST_PART = 48

LONGEST_KEY = 60
"""Cells of the description of a key."""

SPLIT = 100
"""Cells from which a diff can be shown side by side."""


ANSWERS: Mapping[str, str] = {
    "y": "permission_once",
    "h": "permission_host",
    "a": "permission_always",
    "e": "permission_edit",
    "n": "permission_reject",
    "k": "permission_keep",
    "r": "permission_restore",
}
"""The actions by the keys that the command line and other clients show for the same answers."""


class PermissionPanel(Panel):
    """The question with its keys."""

    scopes = ("panel:permission", "panel")

    def __init__(
        self,
        case: PermissionCase,
        *,
        place: tuple[int, int],
        acts: Mapping[Act, Callable[[], None]],
        names: Mapping[str, str] = ANSWERS,
        words: Mapping[Act, str] | None = None,
        decline: Callable[[], object] | None = None,
    ) -> None:
        """`acts` are the answers that can be given here, `names` their actions, `words` what is called otherwise than in a chat.

        `decline` ends the suggestion of the rule.
        """
        super().__init__()
        self.case = case
        self._place = place
        self._acts = acts
        self._names = names
        self._words = words or {}
        self._decline = decline
        self._code = code_rows(case.diff, case.subject) if case.diff else []
        self._is_split = False

    def set_place(self, place: tuple[int, int]) -> None:
        """Show the number of open questions."""
        if place != self._place:
            self._place = place
            self.redraw()

    @property
    def answers(self) -> Sequence[KeyAction]:
        """The answers; a rule that is too long to be shown is edited before it is stored."""
        most = min(LONGEST_KEY, self.inside - 2)
        answers: list[KeyAction] = []
        for choice in self.case.choices:
            if choice.act not in self._acts:
                continue
            words = screen_line(self._words.get(choice.act, choice.words))
            act = "edit" if choice.act == "always" and width(words) > most else choice.act
            answers.append(KeyAction(self._names[choice.key], clip(words, most), self._acts[act]))
        if self._decline is not None and suggestion_of(self.case.request):
            answers.append(KeyAction("permission_decline", "no more suggestion", self._drop_suggestion))
        if self._code and self.size.width >= SPLIT:
            words = "one column" if self._is_split else "side by side"
            answers.append(KeyAction("permission_columns", words, self._split))
        return answers

    def _drop_suggestion(self) -> None:
        if self._decline is not None:
            self._decline()
        self.case = replace(self.case, request=without_suggestion(self.case.request))
        self.refresh(layout=True)
        self.redraw()

    def _split(self) -> None:
        self._is_split = not self._is_split
        self.refresh(layout=True)
        self.redraw()

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the question; at the right the number of waiting ones, or the changed lines."""
        palette = self.look.palette
        bold, muted = palette.style("text", "surface", bold=True), palette.style("muted", "surface")
        left: list[Piece] = [(screen_line(self.case.title), bold)]
        if self.case.request.permission == "edit" and not is_command(self.case.request):
            left.append((f"  {screen_line(self.case.subject)}", palette.style("text", "surface")))
        if self.case.origin:
            left.append((f"  {screen_line(self.case.origin)}", muted))
        at, count = self._place
        facts: list[Piece] = self._counts()
        if count > 1:
            facts.append((f"{'   ' if facts else ''}{at} of {count}", muted))
        return left, facts

    def _counts(self) -> list[Piece]:
        changed = [line for line in self.case.diff.split("\n") if line[:3] not in ("+++", "---")]
        added, removed = (sum(line.startswith(sign) for line in changed) for sign in "+-")
        return change_counts(self.look, added, removed, "surface")

    def body(self, width: int) -> Sequence[Line]:
        """Return the subject and the reasons."""
        lines: list[Line] = []
        if self.case.diff:
            draw = two_columns if self._is_split else one_column
            lines += draw(self._code, self.look, width, "surface")
        elif is_command(self.case.request) or self.case.request.permission != "edit":
            lines += self._subject(width)
        if has_parts(self.case.request, self.case.verdicts):
            lines += [[], *self._verdicts(width)]
        if why := self._sentence(self.case.why, width):
            lines += [[], *why]
        if lost := lost_lines(sandbox_facts(self.case.request).lost or ()):
            lines += [[], *(line for row in lost for line in self._sentence(row, width))]
        if suggestion := suggestion_of(self.case.request):
            text = self.look.palette.style("text", "surface")
            lines += [[], *([(suggestion[at:end], text)] for at, end in breaks(suggestion, width))]
        return lines

    def _subject(self, room: int) -> list[Line]:
        bold = self.look.palette.style("text", "surface", bold=True)
        return [
            [("  " + line[start:end], bold)]
            for line in screen_lines(without_padding(self.case.subject.strip("\n")))
            for start, end in breaks(line, room - 2)
        ]

    def _verdicts(self, room: int) -> list[Line]:
        names = [clip(screen_line(one.pattern), WIDEST_PART) for one in self.case.verdicts]
        widest = max(width(name) for name in names)
        pairs = zip(self.case.verdicts, names, strict=True)
        return [line for one, name in pairs for line in self._verdict(one, pad(name, widest), room)]

    def _verdict(self, verdict: Verdict, name: str, room: int) -> list[Line]:
        """Return a part, its verdict and the rule; the rule is on the next row if there is no space."""
        palette, glyphs = self.look.palette, self.look.glyphs
        sign, token, word = {
            "allow": (glyphs.done, "success", "allowed"),
            "ask": (glyphs.asks, "warning", "needs approval"),
            "deny": (glyphs.failed, "error", "denied"),
        }[verdict.action]
        head: list[Piece] = [
            (f"{sign} ", palette.style(token, "surface", bold=verdict.action == "ask")),
            (f"{name}     ", palette.style("text", "surface")),
            (f"{word:<14}   ", palette.style(token, "surface")),
        ]
        reason, muted = screen_line(self.case.reason(verdict)), palette.style("muted", "surface")
        if measure(head) + width(reason) <= room:
            return [[*head, (reason, muted)]]
        below = [reason[start:end] for start, end in breaks(reason, room - 2)]
        return [head, *([(f"  {line}", muted)] for line in below)]

    def _sentence(self, text: str, room: int) -> list[Line]:
        muted = self.look.palette.style("muted", "surface")
        line = screen_line(" ".join(text.split()))
        return [[(line[start:end], muted)] for start, end in breaks(line, room)] if line else []
