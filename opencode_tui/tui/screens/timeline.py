"""The timeline: every request of the session with the steps that changed files, and what going back to it would do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.fork import fork_origin
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import UserMessage
from opencode_tui.schema.part import CompactionPart, PatchPart, TextPart, ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted
from opencode_tui.schema.undo import RevertPreview
from opencode_tui.tui.cells import clip, clip_front, pad
from opencode_tui.tui.control import Control
from opencode_tui.tui.items import UndoneFile
from opencode_tui.tui.quantity import plural
from opencode_tui.tui.row import Piece
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen
from opencode_tui.tui.session_facts import clock
from opencode_tui.tui.session_tree import name_of
from opencode_tui.tui.status.header import change_counts
from opencode_tui.tui.undo_words import undone_files

SHOWN_TOOLS = frozenset({"write", "edit", "multiedit", "patch", "apply_patch"})


@dataclass(slots=True)
class Step:
    """Something in a turn that is worth a row: a file change, a fork, a summary."""

    name: str
    text: str
    additions: int = 0
    deletions: int = 0
    session_id: str = ""


@dataclass(slots=True)
class Moment:
    """One request, or a compaction (`is_rule`), with its steps."""

    message_id: str
    time: int
    text: str
    is_rule: bool = False
    steps: list[Step] = field(default_factory=list[Step])

    @property
    def additions(self) -> int:
        """Lines that its steps added."""
        return sum(one.additions for one in self.steps)

    @property
    def deletions(self) -> int:
        """Lines that its steps removed."""
        return sum(one.deletions for one in self.steps)


def moments(messages: Sequence[MessageWithParts], forks: Sequence[tuple[int, str, str]]) -> list[Moment]:
    """The requests in order; `forks` are (time, title, session id)."""
    found: list[Moment] = []
    for message in messages:
        if isinstance(message.info, UserMessage):
            if (made := _request(message)) is not None:
                found.append(made)
        elif found:
            found[-1].steps += _steps(message)
    for time, title, session_id in forks:
        at = [one for one in found if one.time <= time]
        if at:
            at[-1].steps.append(Step("fork", title, session_id=session_id))
    return found


def _request(message: MessageWithParts) -> Moment | None:
    info = message.info
    if any(isinstance(part, CompactionPart) for part in message.parts):
        return Moment(info.id, info.time.created, "Compacted", is_rule=True)
    words = [part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic]
    text = screen_line(" ".join(" ".join(words).split()))
    return Moment(info.id, info.time.created, text) if text else None


def _steps(message: MessageWithParts) -> list[Step]:
    steps: list[Step] = []
    for part in message.parts:
        if isinstance(part, ToolPart) and part.tool in SHOWN_TOOLS and isinstance(part.state, ToolStateCompleted):
            diff = str(part.state.metadata.get("diff") or "")
            changed = [line[0] for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
            path = screen_line(str(part.state.input.get("filePath") or part.state.title))
            steps.append(Step(part.tool.capitalize(), path, changed.count("+"), changed.count("-")))
    if not steps:
        for part in message.parts:
            if isinstance(part, PatchPart):
                steps += [Step("Bash", screen_line(file)) for file in part.files[:5]]
    return steps


class TimelineScreen(PageScreen):
    """Enter jumps, `r` goes back to a request after its preview, `f` forks before it."""

    def __init__(self, control: Control, found: Sequence[Moment], act: Callable[[str, str], object]) -> None:
        super().__init__()
        self._control = control
        self._moments = found
        self._act = act
        self._previews: dict[str, RevertPreview | str] = {}

    def fill(self) -> None:
        """Draw all moments, the last one chosen."""
        turns = sum(not one.is_rule for one in self._moments)
        changed = sum(bool(one.additions or one.deletions) for one in self._moments)
        told = f"{plural(turns, 'turn')} · {changed} with changes"
        head = [("Timeline", self.style("text", bold=True))]
        self.head.show([(head, [(self.listing.look.words(told), self.style("muted"))])])
        chosen = next((one.message_id for one in reversed(self._moments) if not one.is_rule), "")
        self.listing.show(self._entries(), chosen=chosen)
        self.preview.show(self._draw_preview)

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen row."""
        chosen = self.listing.chosen
        if not chosen:
            return ()
        if chosen.startswith("ses_"):
            return (PageKey("enter", "open the fork", lambda: self._leave("open", chosen)),)
        return (
            PageKey("enter", "jump", lambda: self._leave("jump", chosen)),
            PageKey("r", "undo back to here", lambda: self._leave("revert", chosen)),
            PageKey("f", "fork before it", lambda: self._leave("fork", chosen)),
            PageKey("d", "diff", lambda: self._leave("diff", chosen)),
        )

    def on_page_list_moved(self) -> None:
        """Ask what going back to the row would do."""
        super().on_page_list_moved()
        chosen = self.listing.chosen
        if chosen and not chosen.startswith("ses_") and chosen not in self._previews:
            self.run_worker(self._look(chosen), exclusive=True, exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """A click on the chosen row jumps there."""
        if self.listing.chosen:
            self._leave("jump", self.listing.chosen)

    def _leave(self, what: str, chosen: str) -> None:
        self.dismiss(None)
        self._act(what, chosen)

    async def _look(self, message_id: str) -> None:
        session_id = self._control.session_id
        if session_id is None:
            return
        try:
            self._previews[message_id] = await self._control.client.undo.preview(session_id, message_id)
        except OpencodeError as error:
            self._previews[message_id] = screen_line(" ".join(str(error).split()))
        self.preview.redraw()

    def _entries(self) -> list[Entry]:
        entries: list[Entry] = []
        for number, moment in enumerate(self._moments):
            if number:
                entries.append(self._rail(is_between=True))
            entries.append(self._moment(moment))
            entries += [self._step(one) for one in moment.steps]
        return entries

    def _rail(self, *, is_between: bool) -> Entry:
        glyph = self.listing.look.glyphs.step_rail if is_between else " "
        return Entry(lambda area: [(" " * 9, self.style("text", area)), (glyph, self.style("guide", area))])

    def _moment(self, moment: Moment) -> Entry:
        look = self.listing.look
        sign = look.glyphs.compacted if moment.is_rule else look.glyphs.turn_rail

        def left(area: str) -> Sequence[Piece]:
            text = self.style("text", area, bold=area == "selection")
            return [
                (f"  {pad(clock(moment.time), 7)}", self.style("muted", area)),
                (f"{sign} ", self.style("accent", area, bold=True)),
                (moment.text, text),
            ]

        def right(area: str) -> Sequence[Piece]:
            return change_counts(look, moment.additions, moment.deletions, area)

        return Entry(left, right, "" if moment.is_rule else moment.message_id)

    def _step(self, step: Step) -> Entry:
        look = self.listing.look
        arm = f"{look.glyphs.branch}{look.glyphs.twig}" if step.session_id else f"{look.glyphs.step_rail} "
        root = str(self._control.client.directory)
        text = step.text.removeprefix(root + "/")

        def left(area: str) -> Sequence[Piece]:
            return [
                (" " * 9, self.style("text", area)),
                (arm, self.style("guide", area)),
                (pad(clip(step.name, 7), 8), self.style("muted", area)),
                (clip_front(text, 60), self.style("text" if step.session_id else "muted", area)),
            ]

        def right(area: str) -> Sequence[Piece]:
            counts = change_counts(look, step.additions, step.deletions, area)
            return [(words, self.style("muted", area)) for words, _ in counts]

        return Entry(left, right, step.session_id)

    def _draw_preview(self, room: int) -> list[Sequence[Piece]]:
        chosen = self.listing.chosen
        moment = next((one for one in self._moments if one.message_id == chosen), None)
        if moment is None:
            return []
        muted = self.style("muted", "panel")
        lines: list[Sequence[Piece]] = [
            [(f"Undo back to {clock(moment.time)}", self.style("text", "panel", bold=True))],
            [],
        ]
        found = self._previews.get(chosen)
        if found is None:
            return lines
        if isinstance(found, str):
            return [*lines, [(found, muted)]]
        if found.scope is not None:
            told = f"{plural(found.scope.requests, 'turn')} {'goes' if found.scope.requests == 1 else 'go'}"
            lines += [[(f"{told}, {plural(len(found.scope.messages), 'message')}. Redo brings them back.", muted)], []]
        files = undone_files(found, self._control.client.directory)
        if not files:
            lines.append([("No file changes.", muted)])
        for one in files[:30]:
            lines += self._file(one, room)
        return lines

    def _file(self, one: UndoneFile, room: int) -> list[Sequence[Piece]]:
        look = self.listing.look
        is_kept = one.fate == "kept"
        path = clip_front(one.path, max(12, room - 26), look.glyphs.ellipsis)
        counts = change_counts(look, one.additions, one.deletions, "panel")
        left: list[Piece] = [
            (f"{look.glyphs.asks if is_kept else ' '} ", self.style("warning", "panel", bold=True)),
            (f"{one.status} ", self.style("muted", "panel")),
            (pad(path, max(12, room - 26)), self.style("text", "panel")),
            (f" {pad(one.fate, 10)}", self.style("warning" if is_kept else "muted", "panel", bold=is_kept)),
            *counts,
        ]
        lines: list[Sequence[Piece]] = [left]
        if is_kept and one.note:
            lines.append([(f"    {one.note}", self.style("muted", "panel"))])
        return lines


def forks_of(control: Control) -> list[tuple[int, str, str]]:
    """The forks of the shown session: when, title, id."""
    shown = control.session_id
    found: list[tuple[int, str, str]] = []
    for info in control.folder.sessions.values():
        origin = fork_origin(info)
        if origin is not None and origin.session_id == shown:
            found.append((info.time.created, name_of(info)[1], info.id))
    return sorted(found)
