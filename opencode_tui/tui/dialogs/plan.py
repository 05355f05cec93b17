"""The panel that asks whether to build a finished plan: its steps, and keys without a preselection."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.client.client import Client
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.plan import PlanStep, steps_of
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.tools import row_of
from opencode_tui.text.cells import clip_front, pad, wrap
from opencode_tui.text.cells import width as cells
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.widgets.row import Piece

_FILE_WIDTH = 30
_WIDE = 70
"""Cells from which the files of steps have a column."""


class Plan(Struct, frozen=True):
    """A plan's text, and its file where there is one; unsafe."""

    text: str
    file: Path | None = None


async def load_plan(client: Client, request: QuestionRequest, *, is_local: bool) -> Plan | None:
    """Return the plan that a question is about: of the file that it names, else what the agent wrote; None for other questions.

    `is_local`: the folder is on this machine.
    """
    if request.tool is None:
        return None
    try:
        message = await client.messages.get(request.session_id, request.tool.message_id)
    except OpencodeError:
        return None
    calls = [part for part in message.parts if isinstance(part, ToolPart) and part.call_id == request.tool.call_id]
    if not calls or row_of(calls[0].tool).role != "plan":
        return None
    given = [str(value) for value in calls[0].state.input.values()]
    named = request.questions[0].plan
    if named is not None:
        try:
            file = Path((await client.project.places()).worktree, named)
            if is_local:
                return Plan(await asyncio.to_thread(file.read_text, "utf-8", "replace"), file)
            return Plan((await client.files.read(named)).content)
        except (OpencodeError, OSError):  # it is gone, or outside the folder: what the agent wrote is shown
            pass
    written = (part.text for part in message.parts if isinstance(part, TextPart))
    return Plan("\n".join([*given, *written]))


class PlanPanel(Panel):
    """`build` receives the label for yes, `keep` that for no; `edit` opens the plan's file, None where that is not possible."""

    bar = "accent"
    scopes = ("panel:plan", "panel")

    def __init__(
        self,
        request: QuestionRequest,
        plan: Plan,
        *,
        place: tuple[int, int],
        build: Callable[[str], object],
        keep: Callable[[str], object],
        edit: Callable[[Path], object] | None,
    ) -> None:
        super().__init__()
        self.request = request
        self._place = place
        labels = [option.label for option in request.questions[0].options]
        yes, no = labels[:2] if len(labels) > 1 else ("Yes", "No")
        self._answers = [
            KeyAction("plan_build", "build", lambda: build(yes)),
            KeyAction("plan_keep", "keep planning", lambda: keep(no)),
        ]
        if edit is not None and (file := plan.file) is not None:
            self._answers.append(KeyAction("plan_edit", "edit the plan in your editor", lambda: edit(file)))
        self._steps: Sequence[PlanStep] = steps_of(plan.text)

    def set_place(self, place: tuple[int, int]) -> None:
        """Show the number of open questions."""
        self._place = place
        self.redraw()

    def show_plan(self, text: str) -> None:
        """Show the steps of a changed plan."""
        self._steps = steps_of(text)
        self.guard_again()

    @property
    def answers(self) -> Sequence[KeyAction]:
        """The answers: build, keep planning, edit."""
        return self._answers

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the question; at the right the number of files and steps."""
        palette = self.look.palette
        files = {file for step in self._steps for file in step.files}
        counts = [plural(len(files), "file")] if files else []
        counts += [plural(len(self._steps), "step")] if self._steps else []
        at, count = self._place
        facts = [", ".join(counts), *([f"{at} of {count}"] if count > 1 else [])]
        left = [("Plan ready. Start building?", palette.style("text", "surface", bold=True))]
        return left, [("   ".join(filter(None, facts)), palette.style("muted", "surface"))]

    def body(self, width: int) -> Sequence[Line]:
        """Return the steps, numbered, each with its first file at the right where there is space."""
        names = [self._names(step) for step in self._steps] if width >= _WIDE else [""] * len(self._steps)
        column = max((cells(name) for name in names), default=0)
        digits = len(str(len(self._steps)))
        room = width - digits - 2 - (column + 3 if column else 0)
        return [
            line
            for number, (step, name) in enumerate(zip(self._steps, names, strict=True), 1)
            for line in self._step(f"{number:>{digits}}  ", step, name, room)
        ]

    def _names(self, step: PlanStep) -> str:
        first, *others = step.files or ("",)
        more = f" +{len(others)}" if others else ""
        return clip_front(screen_line(first), _FILE_WIDTH, self.look.glyphs.ellipsis) + more

    def _step(self, number: str, step: PlanStep, name: str, room: int) -> list[Line]:
        palette = self.look.palette
        muted, text = palette.style("muted", "surface"), palette.style("text", "surface")
        first, *rest = wrap(screen_line(" ".join(step.text.split())), room)
        head = [(number, muted), (pad(first, room) if name else first, text), (f"   {name}" if name else "", muted)]
        return [head, *([(" " * len(number), muted), (line, text)] for line in rest)]
