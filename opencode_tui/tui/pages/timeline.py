"""The timeline page: the prompts of the session with the steps that changed files, and a preview of a revert."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.strip import Strip

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.undo import RevertPreview
from opencode_tui.text.cells import clip, clip_front, pad, width, wrap
from opencode_tui.text.diff_rows import unified
from opencode_tui.text.quantity import QUARTER_MS, amount, clock, day_words, plural, when
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.undo import UndoneFile, beside_commands, unchanged_files, undone_files
from opencode_tui.tui.chrome.activity import SHOWN_AFTER_S
from opencode_tui.tui.diff.cells import CodeRow, change_columns, code_rows, one_column
from opencode_tui.tui.keys.keyed import FAR, KeyAction, by_id, chooses, edits, leaves, moves, opens
from opencode_tui.tui.pages.page import FEWEST, ListRow, PageScreen, RowsOnDemand
from opencode_tui.tui.pages.timeline_head import EDGES, PICTURE, TimelineHead, bars_of, picture_of, shares_of, turn_of
from opencode_tui.tui.pages.timeline_moments import Moment, Step, diffs_of
from opencode_tui.tui.pages.timeline_reader import TimelineReader
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.message import CompactionItem
from opencode_tui.tui.state.session_state import HUES, State, sign_of, state_of
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, row

AREA = "panel"
FILES, CODE = 12, 40
"""Maximum rows of files and of code."""

Lines = list[Sequence[Piece] | Strip]


class Change(Struct, frozen=True):
    """One file's change since a prompt, as rows; `path` is safe."""

    path: str
    rows: Sequence[CodeRow]


class RevertEffects(Struct, frozen=True):
    """The effects of a revert, or the safe `error` that prevented the preview."""

    preview: RevertPreview | None = None
    files: Sequence[UndoneFile] = ()
    change: Change | None = None
    error: str = ""


class ChangedFile(Struct, frozen=True):
    """A file that turns changed, and the messages of the first and the last of them."""

    path: str
    first: str
    last: str


def file_since(found: Sequence[Moment], moment: Moment, files: Sequence[UndoneFile]) -> ChangedFile | None:
    """Return the first file changed in a turn that a revert would restore, None without one."""
    going = {one.path for one in files if not one.is_left}
    path = next((one.file for one in moment.diffs if screen_line(one.file) in going), None)
    if path is None:
        return None
    later = [one.message_id for one in found[found.index(moment) :] if any(diff.file == path for diff in one.diffs)]
    return ChangedFile(path, moment.message_id, later[-1])


def change_of(file: ChangedFile, messages: Sequence[MessageWithParts]) -> Change | None:
    """Return the change of a file over its turns, whose messages these are. Blocks, for long with a large file."""
    diffs = {one.info.id: diff for one in messages for diff in diffs_of(one.info) if diff.file == file.path}
    first, last = diffs.get(file.first), diffs.get(file.last)
    if first is None or last is None:
        return None
    rows = code_rows(unified(FileDiff(file=file.path, before=first.before, after=last.after)), file.path)
    return Change(screen_line(file.path), rows[:CODE]) if rows else None


def draw_effects(moment: Moment, effects: RevertEffects | None, look: Look, room: int, *, now: int) -> Lines:
    """Return the lines of the preview; `now` is in ms since 1970."""
    style = look.palette.style
    muted, fill = style("muted", AREA), look.palette.area(AREA)
    title = [(f"Reverting to {when(moment.time, now)}", style("text", AREA, bold=True))]
    lines: Lines = [row(room, title, [("preview", muted)], fill=fill), []]
    if effects is None:
        return lines
    if effects.preview is None:
        return [*lines, [(effects.error, muted)]]
    scope = effects.preview.scope
    if scope is not None:
        summary = f"Removes {plural(scope.requests, 'turn')} ({plural(len(scope.messages), 'message')}). Can be redone."
        lines += [*([(line, muted)] for line in wrap(summary, room)), []]
    if unchanged := unchanged_files(effects.preview):
        warning = style("warning", AREA)
        return [*lines, *([(line, warning)] for line in wrap(unchanged[:1].upper() + unchanged[1:], room))]
    if beside := beside_commands(effects.preview):
        lines += [*([(line, style("warning", AREA))] for line in wrap(beside, room)), []]
    lines += _files(effects.files, look, room) if effects.files else [[("No file changes.", muted)]]
    change = effects.change
    if change is not None:
        after = [(f"after {when(moment.time, now)}", muted)]
        lines += [[], row(room, [(change.path, style("text", AREA, bold=True))], after, fill=fill)]
        lines += one_column(change.rows, look, room, AREA)
    return lines


def _files(files: Sequence[UndoneFile], look: Look, room: int) -> Lines:
    shown = files[:FILES]
    most = max(12, room - 4 - 11 - 9)
    names = [clip_front(one.path, most, look.glyphs.ellipsis) for one in shown]
    widest = max(width(name) for name in names)
    lines: Lines = []
    for one, name in zip(shown, names, strict=True):
        lines += _file(one, pad(name, widest), look, room)
    if len(files) > FILES:
        lines.append([(f"    and {len(files) - FILES} more", look.palette.style("muted", AREA))])
    return lines


def _file(one: UndoneFile, name: str, look: Look, room: int) -> Lines:
    style = look.palette.style
    is_kept = one.is_left
    left: list[Piece] = [
        (f"{look.glyphs.asks if is_kept else ' '} ", style("warning", AREA, bold=True)),
        (f"{one.status} ", style("muted", AREA)),
        (f"{name}   ", style("text", AREA)),
        (one.fate, style("warning" if is_kept else "muted", AREA, bold=is_kept)),
    ]
    counts = change_columns(look, one.additions, one.deletions, AREA)
    lines: Lines = [row(room, left, counts, fill=look.palette.area(AREA))]
    if is_kept and one.note:
        lines.append([(f"    {one.note}", style("muted", AREA))])
    return lines


TEXT = 11
"""Cells of the time and the rail."""

NAME = 9
"""Cells of a step's name and the blank after it."""

COUNTS = 12
"""Cells of the counts of changed lines."""

FRAME = 7
"""Rows of the title between empty ones, of a message and of the keys, with an empty row below."""

LIVE_S = 1.0
"""Seconds between updates of the session's state."""

UPDATE_S = 0.5
"""Seconds between two updates of the list while older turns are read: to draw it takes time from the reading."""


class TimelineScreen(PageScreen):
    """The page; Enter jumps to a prompt, `r` reverts to it, `f` forks before it, `d` shows the changes of its turn, `/` filters."""

    scopes = ("page:timeline", "page")

    DEFAULT_CSS = "TimelineScreen Preview { width: 37%; }"

    def __init__(
        self,
        control: SessionController,
        reader: TimelineReader,
        act: Callable[[str, str], object],
        *,
        is_stacked: bool = False,
    ) -> None:
        """`is_stacked`: the page of a turn's changes uses one column."""
        super().__init__()
        self.head = TimelineHead()
        self._is_stacked = is_stacked
        self._control = control
        self._reader = reader
        self._act = act
        self._opened = time.monotonic()
        self._first = ""
        """The first turn that is shown."""
        self._is_at_first = False
        """Whether the first turn stays selected when older ones come before it."""
        self._effects: dict[str, RevertEffects] = {}
        self._has_failed = False
        """Whether the rest of the turns cannot be read."""
        self._looked_at = ""
        """The turn whose effects were asked for last."""
        self._title: tuple[Sequence[Piece], Sequence[Piece]] = ((), ())
        self._filter = ""
        self._is_typing = False
        """Whether characters are added to the filter."""

    @property
    def _moments(self) -> Sequence[Moment]:
        return self._reader.found

    def fill(self) -> None:
        """Show the moments that are read, the last one selected, and read the rest."""
        self._show()
        self.preview.show(self._draw_preview)
        self.set_interval(LIVE_S, self.listing.redraw)
        if self._reader.left:
            self.run_worker(self._read_older, group="older", exit_on_error=False)

    async def _read_older(self) -> None:
        """Read the older moments and show them; the selected row keeps its place."""
        shown = self._opened
        try:
            while self._reader.left:
                await self._reader.read_older()
                if not self._reader.left or time.monotonic() - shown > UPDATE_S:
                    shown = time.monotonic()
                    self._show(is_older=True)
        except OpencodeError as error:
            self._has_failed = True
            self._show(is_older=True)
            self.call_after_refresh(
                self.show_failed_work, error
            )  # the keys of the selected row come first and clear it

    def move(self, rows: int) -> None:
        """Move the selection; the first row stays selected also while older ones are read."""
        super().move(rows)
        self._is_at_first = rows == -FAR

    def _show(self, *, is_older: bool = False) -> None:
        """Show the moments that the filter finds, the last one selected; with `is_older` the selection stays."""
        found = self._found()
        turns = [one.message_id for one in found if not one.is_rule]
        changed = sum(step.is_change for one in found for step in one.steps)
        summary = f"{plural(len(turns), 'turn')} · {plural(changed, 'step')} with changes"
        left = plural(self._reader.left, "older message")
        if self._has_failed:
            summary += f" · {left} not read"
        elif self._reader.left and time.monotonic() - self._opened > SHOWN_AFTER_S:
            summary += f" · reading {left}"
        head: list[Piece] = [("Timeline", self.style("text", bold=True))]
        if self._is_typing or self._filter:
            head += [(f"   {self.listing.look.glyphs.user_bar} ", self.style("accent"))]
            head += [(screen_line(self._filter), self.style("text"))]
            head += [(" ", self.style("text") + Style(reverse=True))] if self._is_typing else []
        self._title = (head, [(self.listing.look.words(f"  {summary}"), self.style("muted"))])
        chosen = turns[-1] if turns else ""
        if is_older and self.listing.chosen:
            is_first = self._is_at_first and self.listing.chosen == self._first
            chosen = turns[0] if turns and is_first else ""
        self._first = turns[0] if turns else ""
        self.listing.show(self._entries(found), chosen=chosen, keeps_place=is_older)
        self._show_head()
        self.show_keys()

    def _show_head(self) -> None:
        """Show the title, and below it a column of each turn's tokens, with a mark where an undo would restore files."""
        found = [one for one in self._found() if one.message_id]
        room = self._head_room()
        rows = picture_of(found, self.listing.chosen, self.listing.look, room - PICTURE)
        if not self._filter:
            rows += shares_of(self._reader.shares, self.listing.look, room - EDGES)
        spare = self.app.size.height - FRAME - len(rows)
        rows = rows if spare >= FEWEST else []  # of a low screen the list has the rows
        self.head.show([self._title, *((row, ()) for row in rows)])

    def on_resize(self, event: events.Resize) -> None:
        """Fit the head."""
        self.call_after_refresh(self._show_head)

    def _head_room(self) -> int:
        return self.head.size.width or self.app.size.width * 6 // 10

    def on_timeline_head_chosen(self, event: TimelineHead.Chosen) -> None:
        """Select the turn of a clicked column."""
        self._select(event.turn)

    def _select(self, turn: str) -> None:
        self.listing.show(self.listing.entries, chosen=turn)

    def _move_bar(self, columns: int) -> None:
        """Select the turn of a column before or behind that of the selected row; those of compactions are passed over."""
        found = [one for one in self._found() if one.message_id]
        groups = bars_of(found, self._head_room() - PICTURE) or [[at] for at in range(len(found))]
        chosen = self.listing.chosen
        fork = next((one for one in found if any(step.session_id == chosen for step in one.steps)), None)
        turn = chosen if fork is None else fork.message_id
        at = next((at for at, group in enumerate(groups) if any(found[one].message_id == turn for one in group)), None)
        if at is None:
            return
        way = groups[at + 1 :] if columns > 0 else reversed(groups[:at])
        wanted = next((id for group in way if (id := turn_of([found[one] for one in group]))), "")
        if wanted:
            self._select(wanted)

    def _found(self) -> Sequence[Moment]:
        """Return the moments whose prompt or file has each word of the filter."""
        words = self._filter.casefold().split()
        if not words:
            return self._moments
        texts = ("\n".join([one.text, *(step.text for step in one.steps)]).casefold() for one in self._moments)
        return [one for one, text in zip(self._moments, texts, strict=True) if all(word in text for word in words)]

    def _type(self, *, is_typing: bool, text: str = "") -> None:
        """Begin or end typing the filter, which is then `text`."""
        self._is_typing, self._filter = is_typing, text[:200]
        self.scopes = ("list:timeline", "list") if is_typing else ("page:timeline", "page")
        self.foot.scope = self.scopes[0]
        self._show()

    def type_text(self, text: str) -> None:
        """Add text to the filter while it is typed."""
        if self._is_typing:
            self._type(is_typing=True, text=self._filter + clean(text).replace("\n", " "))

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions of the page, or those of the filter while it is typed."""
        if not self._is_typing:
            return super().key_actions()
        return {
            **{name: partial(self.move, rows) for name, rows in moves("list", 15).items()},
            **by_id(*self._filter_actions()),
            **edits(self._filter, lambda text: self._type(is_typing=True, text=text)),
        }

    def _filter_actions(self) -> Sequence[KeyAction]:
        return (
            chooses("select", lambda: self._type(is_typing=False, text=self._filter)),
            leaves("all turns", lambda: self._type(is_typing=False)),
        )

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        if self._is_typing:
            self.foot.show(self._filter_actions())
        else:
            super().show_keys()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions of the selected row, and the filter."""
        begin = KeyAction("timeline_filter", "filter", lambda: self._type(is_typing=True, text=self._filter))
        bars = (
            KeyAction("timeline_bar_left", "", lambda: self._move_bar(-1)),
            KeyAction("timeline_bar_right", "", lambda: self._move_bar(1)),
        )
        return (*self._row_actions(), begin, *bars)

    def _row_actions(self) -> Sequence[KeyAction]:
        chosen = self.listing.chosen
        if not chosen:
            return ()
        if chosen.startswith("ses_"):
            return (opens("open the fork", lambda: self._leave("open", chosen)),)
        return (
            opens("jump", lambda: self._leave("jump", chosen)),
            KeyAction("timeline_revert", "revert to here", lambda: self._leave("revert", chosen)),
            KeyAction("timeline_fork", "fork from here", lambda: self._leave("fork", chosen)),
            KeyAction(
                "timeline_diff",
                "diff",
                lambda: self.run_worker(partial(self._diff, chosen), exclusive=True, exit_on_error=False),
            ),
        )

    def on_page_list_moved(self) -> None:
        """Load the effects of a revert to the selected row."""
        chosen = self.listing.chosen
        is_new = chosen not in self._effects and chosen != self._looked_at
        if chosen and not chosen.startswith("ses_") and is_new:
            self._looked_at = chosen
            self.run_worker(partial(self._look, chosen), exclusive=True, exit_on_error=False)
        self._show_head()
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """Jump to the clicked row, or open the fork."""
        chosen = self.listing.chosen
        if chosen:
            self._leave("open" if chosen.startswith("ses_") else "jump", chosen)

    def _leave(self, what: str, chosen: str) -> None:
        self.dismiss(None)
        self._act(what, chosen)

    async def _diff(self, message_id: str) -> None:
        """Show the changes of a turn over this page, which is there again when they are closed."""
        from opencode_tui.tui.pages.diff import TURN, DiffScreen  # loads on demand

        session_id = self._control.session_id
        if session_id is None:
            return
        try:
            sessions = self._control.client.sessions
            diffs = await sessions.diff(session_id, message_id) or await sessions.ignored_changes(
                session_id, message_id
            )
        except OpencodeError as error:
            self.foot.show_message(screen_line(" ".join(str(error).split())), "error")
            return
        if diffs:
            places = self._control.client.project.places
            self.app.push_screen(DiffScreen(diffs, places, is_stacked=self._is_stacked, sides=TURN))
        else:
            self.foot.show_message("No file changes in this turn")

    async def _look(self, message_id: str) -> None:
        session_id, moment = self._control.session_id, self._moment_of(message_id)
        if session_id is None or moment is None:
            return
        try:
            preview = await self._control.client.undo.preview(session_id, message_id)
            files = undone_files(preview, self._control.client.directory, now=self._control.now())
            change = await self._change(session_id, moment, files)
            self._effects[message_id] = RevertEffects(preview, files, change)
        except OpencodeError as error:
            self._effects[message_id] = RevertEffects(error=screen_line(" ".join(str(error).split())))
        self.preview.redraw()

    async def _change(self, session_id: str, moment: Moment, files: Sequence[UndoneFile]) -> Change | None:
        """Return the change since a turn of the first file that a revert would restore. Raises OpencodeError."""
        file = file_since(self._moments, moment, files)
        if file is None:
            return None
        messages = await self._control.client.messages.named(session_id, list({file.first, file.last}))
        return await asyncio.to_thread(change_of, file, messages)

    def _moment_of(self, message_id: str) -> Moment | None:
        return next((one for one in self._moments if one.message_id == message_id), None)

    def _entries(self, found: Sequence[Moment]) -> Sequence[ListRow] | RowsOnDemand:
        if self._filter and not found:
            return [self.sentence("No matches")]
        rows: list[Moment | Step | str] = []
        """A text is a row between two moments: the day of the second one, where it is another than that of the first."""
        ids: list[str] = []
        shown, now = "Today", self._control.now()

        @cache
        def day_of(quarter: int) -> str:
            return day_words(quarter * QUARTER_MS, now)

        for moment in found:
            day = day_of(moment.time // QUARTER_MS)
            if day != shown:
                if rows:
                    rows.pop()
                    ids.pop()
                rows.append(day)
                ids.append("")
                shown = day
            rows += [moment, *moment.steps, ""]
            ids += ["" if moment.is_rule else moment.message_id, *(one.session_id for one in moment.steps), ""]
        return RowsOnDemand([*ids, ""], lambda at: self._entry(rows[at]) if at < len(rows) else self._now())

    def _entry(self, of: Moment | Step | str) -> ListRow:
        match of:
            case str():
                return self._rail(of)
            case Step():
                return self._step(of)
            case Moment():
                return self._compacted(of) if of.is_rule else self._moment(of)

    def _rail(self, day: str) -> ListRow:
        glyph = self.listing.look.glyphs.step_rail

        def left(area: str) -> Sequence[Piece]:
            rail = [(" " * (TEXT - 2), self.style("text", area)), (glyph, self.style("guide", area))]
            return [*rail, (f" {day}", self.style("muted", area))] if day else rail

        return ListRow(left)

    def _head(self, time: str, sign: str, hue: str, area: str) -> list[Piece]:
        return [
            (f"  {pad(time, TEXT - 4)}", self.style("muted", area)),
            (f"{sign} ", self.style(hue, area, bold=hue == "accent")),
        ]

    def _moment(self, moment: Moment) -> ListRow:
        look = self.listing.look

        def left(area: str) -> Sequence[Piece]:
            is_undone = self._is_undone(moment)
            text = self.style("muted" if is_undone else "text", area, bold=area == "selection")
            sign, hue = (look.glyphs.undone, "muted") if is_undone else (look.glyphs.turn_rail, "accent")
            return [*self._head(clock(moment.time), sign, hue, area), (moment.text, text)]

        def right(area: str) -> Sequence[Piece]:
            if self._is_undone(moment):
                return [("undone", self.style("muted", area))]
            return change_columns(look, moment.additions, moment.deletions, area)

        return ListRow(left, right, moment.message_id)

    def _is_undone(self, moment: Moment) -> bool:
        facts = self._control.facts
        return facts is not None and facts.is_undone(moment.message_id)

    def _compacted(self, moment: Moment) -> ListRow:
        glyphs = self.listing.look.glyphs
        items = self._control.transcript.items
        found = (one for one in items if isinstance(one, CompactionItem) and one.message_id == moment.message_id)
        compaction = _compaction_words(next(found, None)) or _compaction_words(moment.compaction)

        def left(area: str) -> Sequence[Piece]:
            words = [(moment.text, self.style("text", area)), (compaction, self.style("muted", area))]
            return [*self._head(clock(moment.time), glyphs.compacted, "accent", area), *words]

        return ListRow(left)

    def _now(self) -> ListRow:
        """Return the row of the session's current state."""
        glyphs = self.listing.look.glyphs

        def left(area: str) -> Sequence[Piece]:
            facts = self._control.facts
            state: State = state_of(listed(facts.info), self._control.folder) if facts is not None else "idle"
            if facts is None or state not in ("running", "asks", "retry"):
                return [*self._head("now", glyphs.waiting, "muted", area), ("idle", self.style("muted", area))]
            status = {"asks": "waiting for your answer", "retry": "waiting to retry"}.get(state, facts.word)
            words = (status[:1].lower() + status[1:], self.style(HUES[state], area))
            return [*self._head("now", sign_of(state, glyphs), HUES[state], area), words]

        return ListRow(left)

    def _step(self, step: Step) -> ListRow:
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
                summary = look.words(f"{plural(step.messages, 'message')} · {clock(step.time)}")
                return [(summary, self.style("muted", area))]
            return change_columns(look, step.additions, step.deletions, area, is_quiet=True)

        return ListRow(left, right, step.session_id)

    def _draw_preview(self, room: int) -> Sequence[Sequence[Piece] | Strip]:
        moment = self._moment_of(self.listing.chosen)
        if moment is None:
            return []
        effects = self._effects.get(moment.message_id)
        return draw_effects(moment, effects, self.listing.look, room, now=self._control.now())


def _compaction_words(item: CompactionItem | None) -> str:
    """Return `148 k to 21 k tokens`, empty when unknown."""
    if item is None or not (item.before and item.after):
        return ""
    until = f"{amount(item.after)} tokens" if item.is_measured else f"a summary of {amount(item.after)}"
    return f"  {amount(item.before)} to {until}"
