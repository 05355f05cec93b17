"""The list of sessions behind each place that shows one: its rows, the filter, the selection and the marks."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.ranking import ranked
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.sessions.known_sessions import KnownSessions, View
from opencode_tui.tui.sessions.tree import SessionRow, TrashRow
from opencode_tui.tui.theme.glyphs import Glyphs
from opencode_tui.tui.widgets.selection import Selection

Row = SessionRow | TrashRow

VIEWS: Sequence[View] = ("active", "archived", "trash")


class Done(NamedTuple):
    """What was done with sessions, and with which; nothing without a head. `may_undo`: one key takes it back."""

    head: str = ""
    facts: str = ""
    may_undo: bool = False

    def __str__(self) -> str:
        return f"{self.head}: {self.facts}" if self.facts else self.head


NOTHING = Done()


class SessionList:
    """Kept while nothing shows it; `read` applies what is known of the sessions now."""

    def __init__(self, known: KnownSessions, *, chosen: str = "", typed: str = "", keeps_place: bool = False) -> None:
        """`keeps_place`: a filter that hides the selected session selects the row in its place, not the best match."""
        self.known = known
        self.selection = Selection()
        self.selection.select(chosen)
        self.typed = typed
        self._keeps_place = keeps_place
        self.view: View = "active"
        self.is_everywhere = False
        """Whether the sessions of all projects are shown."""
        self.marked: list[str] = []
        self.found_in_text: Sequence[str] = ()
        """Sessions whose content has the typed words, but not their title."""
        self._with_text: frozenset[str] = frozenset()
        self.rows: Sequence[Row] = ()
        """All rows, those that the filter hides among them."""
        self.lines: Sequence[Row | str] = ()
        """The rows that the filter finds, the best first; without one by group, with headings and empty lines as texts."""

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

    def read(self, glyphs: Glyphs) -> None:
        """Read all rows again; the selection stays on its session, or in its place if that is gone."""
        rows: Sequence[Row]
        if self.view == "trash":
            rows = self.known.trash_rows(is_everywhere=self.is_everywhere)
        else:
            is_archived = self.view == "archived"
            rows = self.known.rows(glyphs, is_everywhere=self.is_everywhere, is_archived=is_archived)
        if rows != self.rows:
            self.rows = rows
            self._filter(near=self.selection.at)

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
        rows = [one for one in self.lines if not isinstance(one, str)]
        marked = [one for one in rows if one.id in self.marked]
        return marked or [one for one in rows if one.id == self.chosen]

    def infos(self) -> Sequence[SessionInfo]:
        """Return the sessions of `targets`."""
        return [info for one in self.targets if (info := self.known.get(one.id)) is not None]

    def trashed(self) -> Sequence[TrashedSession]:
        """Return the deleted sessions of `targets`."""
        return [one.entry for one in self.targets if isinstance(one, TrashRow)]

    def _filter_by(self, typed: str) -> None:
        self.typed, self._with_text = typed, frozenset[str]()
        self._filter(near=self.selection.place if self._keeps_place else None)

    def _filter(self, *, near: int | None) -> None:
        if self.is_filtered:
            named = [self.rows[at] for at, _ in ranked(self.typed, [one.title for one in self.rows])]
            ids = {one.id for one in named}
            others = [one for one in self.rows if one.id in self._with_text and one.id not in ids]
            self.found_in_text = [one.id for one in others]
            self.lines = [*named, *others]
        else:
            self.lines = list(_with_headings(self.rows))
        self.selection.show(["" if isinstance(one, str) else one.id for one in self.lines], near=near)


def _with_headings(rows: Iterable[Row]) -> Iterable[Row | str]:
    """Yield the rows with a heading above each group, and an empty line before all headings but the first."""
    group = ""
    for row in rows:
        if row.group != group:
            if group:
                yield ""
            group = row.group
            yield group
        yield row
