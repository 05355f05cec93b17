"""The search page: what matches a query in the sessions of all projects, grouped by session, with snippets."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from textual import events

from opencode_tui.schema.api.search import SearchGroup, SearchHit, SearchRequest, SearchResult
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import age
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.search import (
    correction,
    count_words,
    found_words,
    hit_clock,
    hit_label,
    marked,
    progress,
    unknown_project,
)
from opencode_tui.tui.keys.keyed import KeyAction, by_id, chooses, edits, leaves, moves
from opencode_tui.tui.pages.page import ListRow, PageScreen, QueryHead
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece

PAUSE_S = 0.3
"""Seconds without a key after which a query is asked again, for similar words and what changed just now."""

POLL_S = 1.0
"""Seconds between two looks at an index that is being built."""

LABEL, CLOCK, COUNT, AGE = 10, 5, 14, 6
"""Cells of the columns at the right."""

FACTS_FROM = 76
"""Cells of the list from which the number of matches and the times are shown."""

HINT = 'Words, "a phrase", back*, -without, tool:bash, file:path, role:user, project:., since:2w'


class SearchRows:
    """Draws sessions and hits; `width` returns the cells of the list."""

    def __init__(self, look: Look, now: int, *, width: Callable[[], int]) -> None:
        self._look = look
        self._now = now
        self._width = width

    def group(self, group: SearchGroup, *, has_folder: bool) -> ListRow:
        """Return the row of a session."""
        return ListRow(
            lambda area: self._title(group, area, has_folder=has_folder),
            lambda area: self._facts(group, area),
            f"session {group.session_id}",
        )

    def hit(self, group: SearchGroup, number: int) -> ListRow:
        """Return the row of a hit."""
        hit = group.hits[number]

        def left(area: str) -> Sequence[Piece]:
            room = self._width() - LABEL - CLOCK - 12
            text, marks = _from_first_mark(hit.snippet, hit.marks, room)
            return [("    ", self._look.palette.area(area)), *self._marked(text, marks, "muted", area)]

        return ListRow(left, lambda area: self._place(hit, area), f"hit {group.session_id} {number}")

    def _title(self, group: SearchGroup, area: str, *, has_folder: bool) -> Sequence[Piece]:
        style = self._look.palette.style
        name = screen_line(group.directory.rstrip("/").rpartition("/")[2] or group.directory)
        folder: list[Piece] = [(f"{name}  ", style("accent", area))] if has_folder and self._width() >= 40 else []
        kind = "archived  " if group.archived is not None else ""
        title = self._marked(group.title or "(no title)", group.marks, "text", area, bold=True)
        return [("  ", style("text", area)), *folder, (kind, style("muted", area)), *title]

    def _facts(self, group: SearchGroup, area: str) -> Sequence[Piece]:
        words = pad(age(group.updated, self._now), AGE, is_right=True)
        if self._width() >= FACTS_FROM:
            words = pad(count_words(group.count), COUNT, is_right=True) + words
        return [(f"  {words}", self._look.palette.style("muted", area))]

    def _place(self, hit: SearchHit, area: str) -> Sequence[Piece]:
        ellipsis = self._look.glyphs.ellipsis
        words = pad(clip(screen_line(hit_label(hit)), LABEL, ellipsis), LABEL)
        if self._width() >= FACTS_FROM:
            words += "  " + pad(hit_clock(hit), CLOCK)
        return [(f"  {words}", self._look.palette.style("muted", area))]

    def _marked(
        self, text: str, marks: Sequence[tuple[int, int]], token: str, area: str, *, bold: bool = False
    ) -> list[Piece]:
        style = self._look.palette.style
        usual, found = style(token, area, bold=bold), style("warning", area, bold=True)
        return [
            (self._look.words(screen_line(piece)), found if is_match else usual)
            for piece, is_match in marked(text, marks)
        ]


def _from_first_mark(text: str, marks: Sequence[tuple[int, int]], room: int) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the snippet from a word before its first match on, if the match would not fit into `room` cells."""
    if not marks or marks[0][1] <= room * 2 // 3:
        return text, marks
    cut = max(0, marks[0][0] - max(0, room // 4))
    space = text.find(" ", cut, marks[0][0])
    cut = space + 1 if space >= 0 else cut
    return f"…{text[cut:]}", [(start - cut + 1, end - cut + 1) for start, end in marks]


class SearchScreen(PageScreen):
    """The page; `opened` gets the chosen session and hit, `back` is called after escape."""

    has_preview = False
    scopes = ("list:search", "list")

    def __init__(
        self,
        control: SessionController,
        opened: Callable[[SearchGroup, SearchHit | None], object],
        *,
        back: Callable[[], object],
        typed: str = "",
    ) -> None:
        """`typed` is the first query."""
        super().__init__()
        self.head = self.query_head = QueryHead()
        self.typed = typed
        self.result = SearchResult(groups=[])
        self._control = control
        self._opened = opened
        self._back = back
        self._is_editing = True
        self._is_here = False
        self._is_ranked = False
        self._is_waiting = False
        self._failure = ""
        self._targets: Mapping[str, tuple[SearchGroup, SearchHit | None]] = {}

    def fill(self) -> None:
        """Ask the first query; an empty one too, so that the first key finds the index open."""
        self._search()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the query, or for the list."""
        order = "newest first" if self._is_ranked else "by relevance"
        scope = "all projects" if self._is_here else "this project only"
        actions = [
            chooses("open at the match", self._open),
            KeyAction("search_order", order, self._switch_order),
        ]
        if self._is_editing:
            return [*actions, KeyAction("list_down", "to the list", partial(self._move, 1))]
        return [*actions, KeyAction("search_scope", scope, self._switch_scope)]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that edit the query, move in the list, or act on a row."""
        in_list = {
            "search_up": partial(self._move, -1),
            "search_down": partial(self._move, 1),
            "search_edit": lambda: self._edit(self.typed),
        }
        return {
            **{name: partial(self._move, rows) for name, rows in moves("list", 15).items()},
            **({} if self._is_editing else in_list),
            **{one.id: one.act for one in self.page_actions()},
            **edits(self.typed, self._edit),
            **by_id(leaves("back", self.close_page)),
        }

    def close_page(self) -> None:
        """Close the page, and show what was there before."""
        self.dismiss(None)
        self._back()

    def type_text(self, text: str) -> None:
        """Add text to the query."""
        self._edit(self.typed + clean(text))

    def on_page_list_opened(self) -> None:
        """Open the clicked row."""
        self._open()

    def on_resize(self, event: events.Resize) -> None:
        """Show the columns that fit."""
        self.call_after_refresh(self._show)

    def _edit(self, typed: str) -> None:
        is_same = typed == self.typed
        self._is_editing = True
        self.typed = typed[:2_000]
        if is_same:
            self._show()
        else:
            self._search()

    def _move(self, rows: int) -> None:
        if self._is_editing:
            self._is_editing = False
            rows = max(0, rows - 1)  # the first row is selected already
        self.listing.move(rows)
        self._show()

    def _switch_order(self) -> None:
        self._is_ranked = not self._is_ranked
        self._search()

    def _switch_scope(self) -> None:
        self._is_here = not self._is_here
        self._search()

    def _open(self) -> None:
        target = self._targets.get(self.listing.chosen)
        if target is not None:
            self.dismiss(None)
            self._opened(*target)

    def _search(self) -> None:
        self._is_waiting = bool(self.typed.strip())
        self._show_head()
        self.run_worker(self._ask, exclusive=True, group="search", exit_on_error=False)

    async def _ask(self) -> None:
        """Show a first answer, then a whole one, then what more is indexed."""
        request = SearchRequest(
            query=self.typed,
            order="relevance" if self._is_ranked else "newest",
            is_here=self._is_here,
            is_typing=True,
        )
        try:
            self._update(await self._control.client.sessions.search(request.changed(is_quick=True)), is_new=True)
            if not self.typed.strip():
                return
            await asyncio.sleep(PAUSE_S)
            self._update(await self._control.client.sessions.search(request))
            while not self.result.is_complete and self.result.problem is None:
                await asyncio.sleep(POLL_S)
                self._update(await self._control.client.sessions.search(request))
        except OpencodeError as error:
            self._failure = screen_line(str(error))
            self._is_waiting = False
            self._show()

    def _update(self, result: SearchResult, *, is_new: bool = False) -> None:
        self.result, self._failure, self._is_waiting = result, "", False
        self._show(is_new=is_new)

    def _show(self, *, is_new: bool = False) -> None:
        look = self.listing.look
        drawn = SearchRows(look, self._control.now(), width=lambda: self.listing.size.width)
        entries: list[ListRow] = []
        targets: dict[str, tuple[SearchGroup, SearchHit | None]] = {}
        for group in self.result.groups:
            if entries:
                entries.append(ListRow(lambda _area: []))
            entries.append(drawn.group(group, has_folder=not self._is_here))
            targets[entries[-1].id] = (group, None if group.marks else next(iter(group.hits), None))
            for number, hit in enumerate(group.hits):
                entries.append(drawn.hit(group, number))
                targets[entries[-1].id] = (group, hit)
        self._targets = targets
        first = next(iter(targets), "")
        self.listing.show(entries or [self._empty()], chosen=first if is_new else "")
        self._show_head()

    def _empty(self) -> ListRow:
        if not self.typed.strip():
            words = "Search the content of all sessions"
        elif not self.result.is_complete:
            words = f"Indexing sessions{self.listing.look.glyphs.ellipsis} {self.result.indexed:,} of {self.result.sessions:,}"
        elif self._is_waiting:
            words = f"Searching{self.listing.look.glyphs.ellipsis}"
        else:
            unknown = unknown_project(self.result)
            words = f"No matches: {unknown}" if unknown else "No matches"
        return self.sentence(words)

    def _show_head(self) -> None:
        look, result = self.listing.look, self.result
        facts = ""
        if self.typed.strip() and not self._is_waiting:
            facts = f"{found_words(result)} · {result.elapsed_ms:.0f} ms"
        scope = "this project" if self._is_here else ""
        order = "by relevance" if self._is_ranked else ""
        about = " · ".join(filter(None, [scope, order, facts]))
        title: list[Piece] = [("Search", self.style("text", bold=True))]
        self.query_head.show_query(
            title, [(look.words(about), self.style("muted"))], typed=self.typed, hint=HINT, is_editing=self._is_editing
        )
        self.show_keys()

    def show_keys(self) -> None:
        """Draw the keys, and above them what the user should know about the result."""
        super().show_keys()
        message, token = self._message()
        if message:
            self.foot.show_message(message, token)

    def _message(self) -> tuple[str, str]:
        """Return the line above the keys: a failure, what is still missing, or what was changed in the query."""
        result = self.result
        if self._failure or result.problem:
            return self._failure or screen_line(result.problem or ""), "error"
        if result.ignored:
            return screen_line(f"Ignored: {', '.join(result.ignored)}"), "warning"
        if result.corrected is not None:
            return screen_line(correction(result)).capitalize(), "warning"
        if not result.groups and self.typed.strip():  # the list says it
            return "", "muted"
        return progress(result).capitalize(), "muted"
