"""The timeline: every request of the session with the steps that changed files, and what going back to it would do."""

import asyncio
from collections.abc import Callable, Sequence

from textual.strip import Strip

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, clip_front, pad
from opencode_tui.text.quantity import amount, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.undo import undone_files
from opencode_tui.tui.change_columns import change_columns
from opencode_tui.tui.control import Control
from opencode_tui.tui.items import CompactionItem
from opencode_tui.tui.row import Piece
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen
from opencode_tui.tui.screens.timeline_moments import Moment, Step
from opencode_tui.tui.screens.timeline_preview import Outlook, change_since, draw_outlook
from opencode_tui.tui.session_facts import clock
from opencode_tui.tui.session_tree import HUES, State, sign_of, state_of

TEXT = 11
"""Cells of the list before a row's text: the time and the rail."""

NAME = 8
"""Cells of a step's name with the blank behind it."""

COUNTS = 12
"""Cells that are kept for the counts of changed lines."""

LIVE_S = 1.0
"""Seconds between two looks at what the session does now."""


class TimelineScreen(PageScreen):
    """Enter jumps, `r` goes back to a request after its preview, `f` forks before it."""

    DEFAULT_CSS = "TimelineScreen Preview { width: 37%; }"

    def __init__(self, control: Control, found: Sequence[Moment], act: Callable[[str, str], object]) -> None:
        super().__init__()
        self._control = control
        self._moments = found
        self._act = act
        self._outlooks: dict[str, Outlook] = {}

    def fill(self) -> None:
        """Draw all moments, the last one chosen."""
        turns = sum(not one.is_rule for one in self._moments)
        changed = sum(step.is_change for one in self._moments for step in one.steps)
        told = f"{plural(turns, 'turn')} · {plural(changed, 'step')} with changes"
        head = [("Timeline", self.style("text", bold=True))]
        self.head.show([(head, [(self.listing.look.words(told), self.style("muted"))])])
        chosen = next((one.message_id for one in reversed(self._moments) if not one.is_rule), "")
        self.listing.show(self._entries(), chosen=chosen)
        self.preview.show(self._draw_preview)
        self.set_interval(LIVE_S, self.listing.redraw)

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen row."""
        chosen = self.listing.chosen
        if not chosen:
            return ()
        if chosen.startswith("ses_"):
            return (PageKey("enter", "open the fork", lambda: self._leave("open", chosen)),)
        return (
            PageKey("enter", "jump", lambda: self._leave("jump", chosen)),
            PageKey("r", "revert to here", lambda: self._leave("revert", chosen)),
            PageKey("f", "fork from here", lambda: self._leave("fork", chosen)),
            PageKey("d", "diff", lambda: self._leave("diff", chosen)),
        )

    def on_page_list_moved(self) -> None:
        """Ask what going back to the row would do."""
        chosen = self.listing.chosen
        if chosen and not chosen.startswith("ses_") and chosen not in self._outlooks:
            self.run_worker(self._look(chosen), exclusive=True, exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """A click on the chosen row jumps there, or opens the fork."""
        chosen = self.listing.chosen
        if chosen:
            self._leave("open" if chosen.startswith("ses_") else "jump", chosen)

    def _leave(self, what: str, chosen: str) -> None:
        self.dismiss(None)
        self._act(what, chosen)

    async def _look(self, message_id: str) -> None:
        session_id, moment = self._control.session_id, self._moment_of(message_id)
        if session_id is None or moment is None:
            return
        try:
            preview = await self._control.client.undo.preview(session_id, message_id)
        except OpencodeError as error:
            self._outlooks[message_id] = Outlook(told=screen_line(" ".join(str(error).split())))
        else:
            files = undone_files(preview, self._control.client.directory)
            change = await asyncio.to_thread(change_since, self._moments, moment, files)
            self._outlooks[message_id] = Outlook(preview, files, change)
        self.preview.redraw()

    def _moment_of(self, message_id: str) -> Moment | None:
        return next((one for one in self._moments if one.message_id == message_id), None)

    def _entries(self) -> list[Entry]:
        entries: list[Entry] = []
        for moment in self._moments:
            entries += [self._compacted(moment) if moment.is_rule else self._moment(moment)]
            entries += [*(self._step(one) for one in moment.steps), self._rail()]
        return [*entries, self._now()]

    def _rail(self) -> Entry:
        glyph = self.listing.look.glyphs.step_rail
        return Entry(lambda area: [(" " * (TEXT - 2), self.style("text", area)), (glyph, self.style("guide", area))])

    def _head(self, time: str, sign: str, hue: str, area: str) -> list[Piece]:
        return [
            (f"  {pad(time, TEXT - 4)}", self.style("muted", area)),
            (f"{sign} ", self.style(hue, area, bold=hue == "accent")),
        ]

    def _moment(self, moment: Moment) -> Entry:
        look = self.listing.look

        def left(area: str) -> Sequence[Piece]:
            text = self.style("text", area, bold=area == "selection")
            return [*self._head(clock(moment.time), look.glyphs.turn_rail, "accent", area), (moment.text, text)]

        def right(area: str) -> Sequence[Piece]:
            return change_columns(look, moment.additions, moment.deletions, area)

        return Entry(left, right, moment.message_id)

    def _compacted(self, moment: Moment) -> Entry:
        glyphs = self.listing.look.glyphs
        items = self._control.transcript.items
        found = (one for one in items if isinstance(one, CompactionItem) and one.message_id == moment.message_id)
        told = _compaction_words(next(found, None))

        def left(area: str) -> Sequence[Piece]:
            words = [(moment.text, self.style("text", area)), (told, self.style("muted", area))]
            return [*self._head(clock(moment.time), glyphs.compacted, "accent", area), *words]

        return Entry(left)

    def _now(self) -> Entry:
        """What the session does while one looks."""
        glyphs = self.listing.look.glyphs

        def left(area: str) -> Sequence[Piece]:
            facts = self._control.facts
            state: State = state_of(facts.info, self._control.folder) if facts is not None else "idle"
            if facts is None or state not in ("running", "asks", "retry"):
                return [*self._head("now", glyphs.waiting, "muted", area), ("idle", self.style("muted", area))]
            told = {"asks": "waits for your answer", "retry": "waits to try again"}.get(state, facts.word)
            words = (told[:1].lower() + told[1:], self.style(HUES[state], area))
            return [*self._head("now", sign_of(state, glyphs), HUES[state], area), words]

        return Entry(left)

    def _step(self, step: Step) -> Entry:
        look = self.listing.look
        arm = f"{look.glyphs.branch}{look.glyphs.twig}" if step.session_id else f"{look.glyphs.step_rail} "

        def left(area: str) -> Sequence[Piece]:
            room = max(12, self.listing.size.width - TEXT - NAME - COUNTS)
            cut = clip_front if step.is_path else clip
            return [
                (" " * (TEXT - 2), self.style("text", area)),
                (arm, self.style("guide", area)),
                (pad(clip(step.name, NAME - 1, look.glyphs.ellipsis), NAME), self.style("muted", area)),
                (
                    cut(step.text, room, look.glyphs.ellipsis),
                    self.style("text" if step.session_id else "muted", area),
                ),
            ]

        def right(area: str) -> Sequence[Piece]:
            if step.session_id:
                told = look.words(f"{plural(step.messages, 'message')} · {clock(step.time)}")
                return [(told, self.style("muted", area))]
            return change_columns(look, step.additions, step.deletions, area, is_quiet=True)

        return Entry(left, right, step.session_id)

    def _draw_preview(self, room: int) -> Sequence[Sequence[Piece] | Strip]:
        moment = self._moment_of(self.listing.chosen)
        if moment is None:
            return []
        return draw_outlook(moment, self._outlooks.get(moment.message_id), self.listing.look, room)


def _compaction_words(item: CompactionItem | None) -> str:
    """`148 k to 21 k tokens`, as far as it is known."""
    if item is None or not (item.before and item.after):
        return ""
    until = f"{amount(item.after)} tokens" if item.is_measured else f"a summary of {amount(item.after)}"
    return f"  {amount(item.before)} to {until}"
