"""The list of sessions behind each place that shows one: its rows, the filter, the selection and the marks."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from opencode_tui.schema.ranking import ranked
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.sessions.known_sessions import KnownSessions, View
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.theme.look import Glyphs
from opencode_tui.tui.widgets.selection import Selection

VIEWS: Sequence[View] = ("active", "archived", "trash")


class Done(NamedTuple):
    """What was done with sessions, and with which; nothing without a head. `may_undo`: one key takes it back."""

    head: str = ""
    facts: str = ""
    may_undo: bool = False
    selected: str = ""
    """The ID of the session to select."""

    def __str__(self) -> str:
        return f"{self.head}: {self.facts}" if self.facts else self.head


NOTHING = Done()


class SessionList:
    """Kept while nothing shows it; `read` applies what is known of the sessions now."""

    def __init__(self, known: KnownSessions, *, chosen: str = "", typed: str = "") -> None:
        self.known = known
        self.selection = Selection()
        self.selection.select(chosen)
        self.typed = typed
        self.view: View = "active"
        self.is_everywhere = False
        """Whether the sessions of all projects are shown."""
        self.marked: list[str] = []
        self.found_in_text: Sequence[str] = ()
        """Sessions whose content has the typed words, but not their title."""
        self._with_text: frozenset[str] = frozenset()
        self.rows: Sequence[Row] = ()
        """All rows, those that the filter hides among them."""
        self.waiting = 0
        """How many sessions wait for an answer of the user."""
        self.lines: Sequence[Row | str] = ()
        """The rows that the filter finds; without one all by group, with headings and empty lines as texts."""
        self.ids: Sequence[str] = ()
        """The IDs of these, empty for texts."""
        self._latest: tuple[Sequence[Row], Sequence[Row], Sequence[str]] = ((), (), ())
        """All rows, the same with the latest first, and the titles of these."""

    @property
    def chosen(self) -> str:
        """The ID of the selected session; empty when there is none."""
        return self.selection.chosen

    @property
    def is_filtered(self) -> bool:
        """Whether anything is typed into the filter."""
        return bool(self.typed.strip())

    @property
    def can_undo(self) -> bool:
        """Whether there is something to bring back."""
        return bool(self.known.moved)

    def read(self, glyphs: Glyphs) -> bool:
        """Read all rows again, return whether any changed; the selection stays on its session, or in its place if that is gone."""
        rows = self.known.rows(self.view, glyphs, is_everywhere=self.is_everywhere)
        if rows is self.rows or rows == self.rows:
            return False
        self.rows = rows
        self.waiting = sum(one.state == "asks" for one in rows)
        self._filter(near=self.selection.at)
        return True

    def prepare(self) -> None:
        """Get ready for the first key of a filter, on a thread if there are many sessions."""
        self._newest_first()

    async def load(self) -> None:
        """Load what no event reports: the trash, and the sessions of other projects. Raises OpencodeError."""
        await self.known.load(everywhere=self.is_everywhere, trash=self.view == "trash")

    def select(self, row_id: str) -> None:
        """Select a row, which may come with the next rows; nothing without an ID."""
        if row_id:
            self.selection.select(row_id)

    def type(self, text: str) -> None:
        """Add text to the filter."""
        self._filter_by(self.typed + clean(text))

    def erase(self) -> None:
        """Delete the last character of the filter."""
        self._filter_by(self.typed[:-1])

    def clear_filter(self) -> None:
        """Remove the filter."""
        self._filter_by("")

    def add_found(self, session_ids: Iterable[str]) -> None:
        """Show the sessions whose content has the typed words behind those with such a title."""
        self._with_text = frozenset(session_ids)
        self._filter(near=None)

    def mark(self) -> None:
        """Mark the selected row or remove its mark, and go to the next one."""
        if self.chosen in self.marked:
            self.marked.remove(self.chosen)
        elif self.chosen:
            self.marked.append(self.chosen)
        self.selection.move(1)

    def show_next_view(self) -> None:
        """Show the archived sessions after the others, then the trash."""
        self.view = self.next_view
        self.marked.clear()

    @property
    def next_view(self) -> View:
        """What is shown next."""
        return VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]

    @property
    def targets(self) -> Sequence[Row]:
        """Return the marked rows in the order of the list, or the selected one."""
        wanted = {*self.marked}
        marked = [one for one in self.lines if wanted and isinstance(one, Row) and one.id in wanted]
        return marked or [one for one in [self.selected] if one is not None]

    @property
    def selected(self) -> Row | None:
        """The selected row; None when there is none."""
        if not self.chosen or self.chosen not in self.ids:
            return None
        here = self.lines[self.ids.index(self.chosen)]
        return here if isinstance(here, Row) else None

    def _filter_by(self, typed: str) -> None:
        """Filter by another text, and select the best match; without a text the first row."""
        self.typed, self._with_text = typed, frozenset[str]()
        self.selection.select("")
        self._filter(near=None)

    def _filter(self, *, near: int | None) -> None:
        """Find what matches: the best matches first, of those that match alike the latest."""
        if self.is_filtered:
            latest, titles = self._newest_first()
            shown = [latest[at] for at, _ in ranked(self.typed, titles, is_short_first=False)]
            named = {one.id for one in shown}
            others = [one for one in latest if one.id in self._with_text and one.id not in named]
            self.found_in_text = [one.id for one in others]
            self.lines = [replace(one, branch="") if one.branch else one for one in (*shown, *others)]
        else:
            self.lines = _by_group(self.rows)
        self.ids = [one.id if isinstance(one, Row) else "" for one in self.lines]
        self.selection.show(self.ids, near=near)

    def _newest_first(self) -> tuple[Sequence[Row], Sequence[str]]:
        rows, known = self.rows, self._latest
        if known[0] is not rows:
            latest = sorted(rows, key=attrgetter("time"), reverse=True)
            known = self._latest = (rows, latest, [one.title for one in latest])
        return known[1], known[2]


def _by_group(rows: Sequence[Row]) -> list[Row | str]:
    """Return rows with a heading above each group, and an empty line before all headings but the first."""
    lines: list[Row | str] = []
    for name, group in groupby(rows, attrgetter("group")):
        lines += ["", name] if lines else [name]
        lines += group
    return lines
