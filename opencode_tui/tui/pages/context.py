"""The context page: the items of the next request, their tokens, and what can be freed."""

import asyncio
from collections.abc import Callable, Container, Coroutine, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.style import Style
from textual import events

from opencode_tui.schema.api.context import CompactSession, ContextGroup, ContextItem, ContextView
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.prefix import prefix_line
from opencode_tui.text.quantity import amount, money, period, plural, when
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import name_of
from opencode_tui.tui.keys.keyed import KeyAction, opens
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.derive import mix
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, measure

GROUPS: tuple[tuple[ContextGroup, str, str], ...] = (
    ("outputs", "tool output", "output"),
    ("messages", "messages", "messages"),
    ("summary", "summary", "summary"),
    ("system", "system and tools", "system"),
)
"""The parts of the bar, each with its name and a shorter one; what can be freed comes first."""

_SHADES = ("accent", "muted", "guide", "border")
_FADED = (0.0, 0.35, 0.6, 0.82)
"""Share of the background in the color of each part."""

MARGIN = 5
"""Cells of a row outside its texts."""


class ContextHead:
    """Title, bar and legend."""

    def __init__(self, look: Look, view: ContextView) -> None:
        self._look = look
        self._view = view
        self._sums = [sum(item.tokens for item in view.items if item.group == group) for group, _, _ in GROUPS]

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the title, with the used tokens at the right."""
        view, palette = self._view, self._look.palette
        facts = f" tokens · {round(100 * view.tokens / view.usable)} %" if view.usable else " tokens"
        of = f" of {amount(view.usable)}" if view.usable else ""
        cost = f" · {money(view.cost)}" if view.cost else ""
        bold = palette.style("text", bold=True)
        right = [(amount(view.tokens), bold), (self._look.words(f"{of}{facts}{cost}"), palette.style("muted"))]
        return [("Context", bold)], right

    def bar(self, room: int) -> list[Piece]:
        """Return the bar: each part as long as its share of the usable context."""
        view = self._view
        whole = max(view.usable or 0, view.tokens, 1)
        pieces: list[Piece] = []
        used = 0
        for number, total in enumerate(self._sums):
            cells = min(room - used, round(room * total / whole) or (1 if total else 0))
            used += cells
            pieces.append((self._sign(number) * cells, self._shade(number)))
        return [*pieces, (self._look.glyphs.shades[4] * (room - used), self._look.palette.style("guide"))]

    def legend(self, width: int) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the tokens of each part, the free ones and, where it fits, the limit of compaction."""
        view = self._view
        pieces = self._parts(are_short=False, has_empty=True)
        if measure(pieces) + MARGIN > width:
            pieces = self._parts(are_short=True, has_empty=True)
        if measure(pieces) + MARGIN > width:
            pieces = self._parts(are_short=True, has_empty=False)
        if measure(pieces) + MARGIN > width:
            pieces = self._parts(are_short=True, has_empty=False, gap=2)
        while measure(pieces) + MARGIN > width and len(pieces) > 3:
            del pieces[-3:]
        if not view.usable:
            return pieces, []
        right = [(f"compacts at {amount(view.usable)}", self._look.palette.style("muted"))]
        return pieces, right if measure([*pieces, *right]) + MARGIN + 3 <= width else []

    def _parts(self, *, are_short: bool, has_empty: bool, gap: int = 3) -> list[Piece]:
        """Return each part with its tokens: by its short name, without those that have no tokens, as far as the space demands."""
        palette, view = self._look.palette, self._view
        muted, text = palette.style("muted"), palette.style("text")
        pieces: list[Piece] = []
        for number, (total, (_, words, short)) in enumerate(zip(self._sums, GROUPS, strict=True)):
            if total or has_empty:
                sign = (f"{self._sign(number)} ", self._shade(number))
                pieces += [sign, (f"{short if are_short else words} ", muted), (_whole(total) + " " * gap, text)]
        if view.usable:
            free = max(0, view.usable - view.tokens)
            sign = (f"{self._look.glyphs.shades[4]} ", palette.style("guide"))
            pieces += [sign, ("free ", muted), (_whole(free), text)]
        return pieces

    def _sign(self, number: int) -> str:
        return self._look.glyphs.shades[0 if self._look.palette.tones else number]

    def _shade(self, number: int) -> Style:
        palette = self._look.palette
        if palette.depth == "truecolor":
            return Style.parse(f"{mix(palette.accent, palette.background, _FADED[number])} on {palette.background}")
        return palette.style(_SHADES[number])


def _whole(number: int) -> str:
    """Return an amount, from ten thousand on without decimals."""
    return f"{round(number / 1_000)} k" if 10_000 <= number < 1_000_000 else amount(number)


_KINDS = {
    "provider": "Provider",
    "family": "System prompt",
    "agent": "System prompt",
    "environment": "Environment",
    "instruction": "Rules",
    "system": "System",
    "plugin": "Plugin",
    "tools": "Tools",
    "request": "You",
    "answer": "Response",
    "thought": "Reasoning",
    "call": "Call",
    "file": "File",
    "subtask": "Task",
    "summary": "Summary",
    "marker": "Compaction",
    "added": "Added",
    "older": "Older",
}
_NAMED = {"provider": "header of", "agent": "agent"}
_FAMILIES = {
    "anthropic": "Claude models",
    "gemini": "Gemini models",
    "openai-chat": "OpenAI's chat models",
    "openai-reasoning": "OpenAI's reasoning models",
    "open-weights": "open-weight models",
}
"""The families of models with a system prompt of their own, in words."""

SENT = ("sent", "kept")
"""States of items that are sent in full."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One item, several that a summary replaces, or those of some `turns`."""

    id: str
    items: tuple[ContextItem, ...]
    is_fold: bool = False
    turns: int = 0

    @property
    def item(self) -> ContextItem:
        """Return the first item."""
        return self.items[0]

    @property
    def tokens(self) -> int:
        """Return the tokens in the next request."""
        return sum(one.tokens for one in self.items)

    @property
    def is_sent(self) -> bool:
        """Return whether the request contains it in full."""
        return self.item.state in SENT

    @property
    def begins_turn(self) -> bool:
        """Return whether it starts a turn, which an empty row precedes."""
        return self.item.kind == "request" and not self.is_fold


def context_rows(items: Sequence[ContextItem], opened: Container[str]) -> list[ContextRow]:
    """Return the rows in the order of the request; a fold whose id is in `opened` is followed by its items."""
    rows: list[ContextRow] = []
    at = 0
    while at < len(items):
        end = at + 1
        while _is_folded(items[at]) and end < len(items) and _is_folded(items[end]):
            end += 1
        folded = f"fold-{at}"
        if end - at > 1:
            rows.append(ContextRow(folded, tuple(items[at:end]), is_fold=True))
        if end - at == 1 or folded in opened:
            rows += [ContextRow(str(number), (items[number],)) for number in range(at, end)]
        at = end
    return rows


def _is_folded(item: ContextItem) -> bool:
    return item.state == "summarized" and item.kind != "older"


FOLDED_FROM, LATEST = 30, 2
"""Rows from which turns are folded, and how many of the latest turns are not."""

LARGE, FEW = 4, 20
"""An item with this part of the tokens of the largest one, and of all, keeps its turn open: it is what one looks for."""


def fold_turns(rows: Sequence[ContextRow], opened: Container[str]) -> list[ContextRow]:
    """Return the rows with neighboring old turns in one row each, where there are many rows.

    Turns with something that is large or not sent are not folded. A fold whose id is in `opened` is followed by its rows.
    """
    starts = [at for at, row in enumerate(rows) if row.begins_turn]
    if len(rows) < FOLDED_FROM or len(starts) <= LATEST:
        return list(rows)
    large = max(*(row.tokens / LARGE for row in rows), sum(row.tokens for row in rows) / FEW)
    folded = list(rows[: starts[0]])
    run: list[Sequence[ContextRow]] = []
    for number, (start, end) in enumerate(pairwise([*starts, len(rows)])):
        turn = rows[start:end]
        is_plain = all(not row.is_fold and row.is_sent and row.tokens < large for row in turn)
        if is_plain and number < len(starts) - LATEST:
            run.append(turn)
        else:
            folded += [*_folded_run(run, opened), *turn]
            run = []
    return [*folded, *_folded_run(run, opened)]


def _folded_run(run: Sequence[Sequence[ContextRow]], opened: Container[str]) -> list[ContextRow]:
    rows = [row for turn in run for row in turn]
    if len(run) < 2:
        return rows
    fold = ContextRow(f"turns-{rows[0].id}", tuple(row.item for row in rows), is_fold=True, turns=len(run))
    return [fold, *rows] if fold.id in opened else [fold]


def kind_words(row: ContextRow, now: int) -> str:
    """Return the kind of a row: `Summary`, `Read`, the time of a prompt as is clear at `now`, `41 messages`, `3 turns`."""
    item = row.item
    if row.turns:
        return plural(row.turns, "turn")
    if row.is_fold:
        return plural(len({one.message_id for one in row.items}), "message")
    if item.kind == "request" and item.time:
        return when(item.time, now)
    if item.kind == "call" and item.tool:
        return name_of(item.tool)
    return "Kept" if item.state == "kept" else _KINDS.get(item.kind, item.kind)


def name_words(row: ContextRow, now: int) -> str:
    """Return the name of a row in one safe line."""
    if row.is_fold:
        times = [one.time for one in row.items if one.time]
        span = period(times[0], times[-1], now) if times else ""
        items = plural(len(row.items), "item") if row.turns else ""
        return ", ".join(words for words in (span, items) if words)
    name = screen_line(" ".join(row.item.name.split()))
    if row.item.kind == "family":
        return f"for {_FAMILIES.get(name, f'{name} models')}"
    return f"{_NAMED[row.item.kind]} {name}" if row.item.kind in _NAMED else name


def token_words(row: ContextRow) -> str:
    """Return `31.4 k`, of an item that is not sent in full its former tokens."""
    was = sum(one.was or 0 for one in row.items)
    return _aligned(row.tokens) if row.is_sent or not was else f"was {_aligned(was)}"


def _aligned(number: int) -> str:
    """Return an amount with its decimal digit aligned."""
    words = amount(number)
    return words.replace(" ", ".0 ") if 1_000 <= number < 99_500 and "." not in words else words


NAME, STATE, TOKENS, SHARE = 14, 12, 12, 18
"""Cells of the columns other than the item's name."""

SHARE_FROM, STATE_FROM = 100, 70
"""Cells of the page from which these columns are shown."""


class ContextScreen(PageScreen):
    """The page with keys to prune, restore and compact; Enter shows an item in the chat through `jump`."""

    scopes = ("page:context", "page")

    has_preview = False

    def __init__(self, control: SessionController, view: ContextView, jump: Callable[[str], object]) -> None:
        super().__init__()
        self._control = control
        self._view = view
        self._jump = jump
        self._by_size = False
        self._opened: set[str] = set()
        self._rows: dict[str, ContextRow] = {}

    def fill(self) -> None:
        """Show bar, legend and items."""
        self.head.show(self._head(), is_table=True)
        self.listing.show(self._entries())

    def on_resize(self, event: events.Resize) -> None:
        """Draw the bar and the columns for the new width."""
        super().on_resize(event)
        self.call_after_refresh(self.fill)

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions; those of the selected item come first."""
        row = self._row
        item = row.item if row is not None and not row.is_fold else None
        keys: list[KeyAction] = []
        if item is not None and item.frees:
            keys.append(
                KeyAction("context_prune", f"prune, frees {amount(item.frees)}", lambda: self._begin(self._prune(item)))
            )
        elif self._view.prunable:
            words = f"prune old output, frees {amount(self._view.prunable)}"
            keys.append(KeyAction("context_prune", words, lambda: self._begin(self._prune(None))))
        pruned = sum(one.state == "pruned" for one in self._view.items)
        if item is not None and item.state == "pruned":
            keys.append(KeyAction("context_restore", "restore", lambda: self._begin(self._restore(item))))
        elif pruned:
            words = f"restore {plural(pruned, 'pruned output')}"
            keys.append(KeyAction("context_restore", words, lambda: self._begin(self._restore(None))))
        keys.append(KeyAction("context_compact", "compact", lambda: self._begin(self._compact())))
        keys.append(KeyAction("context_ledger", "what that keeps", lambda: self._begin(self._open_ledger())))
        if row is not None and row.is_fold:
            keys.append(opens("fold" if row.id in self._opened else "open", self.on_page_list_opened))
        elif item is not None and item.state == "kept":
            keys.append(opens("what it keeps", self.on_page_list_opened))
        elif item is not None and self._chat_id(item):
            keys.append(opens("show in chat", self.on_page_list_opened))
        keys.append(KeyAction("context_sort", "sort by position" if self._by_size else "sort by size", self._sort))
        return keys

    def on_page_list_opened(self) -> None:
        """Expand or collapse the items of a summary; show any other item in the chat."""
        row = self._row
        if row is None:
            return
        if row.item.state == "kept":
            self._begin(self._open_ledger())
        elif row.is_fold:
            self._opened.symmetric_difference_update({row.id})
            self.listing.show(self._entries())
        elif chat_id := self._chat_id(row.item):
            self.dismiss(None)
            self._jump(chat_id)

    @staticmethod
    def _chat_id(item: ContextItem) -> str:
        """Return the id of the item in the chat; empty for one that it does not show."""
        if item.state == "reverted" or item.kind in ("added", "summary", "marker"):
            return ""
        return (item.message_id if item.kind in ("request", "file") else item.part_id) or ""

    @property
    def _row(self) -> ContextRow | None:
        return self._rows.get(self.listing.chosen)

    def _sort(self) -> None:
        """Change the order; by size, select the largest item."""
        self._by_size = not self._by_size
        entries = self._entries()
        self.listing.show(entries, chosen=entries[0].id if self._by_size and entries else "")

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self.run_worker(self._guarded(work), exclusive=True, exit_on_error=False)

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
            self._view = await self._control.client.context.items(self._view.session_id)
            self.fill()
        except OpencodeError as error:
            self.foot.show_message(screen_line(" ".join(str(error).split())), "error")

    async def _open_ledger(self) -> None:
        from opencode_tui.tui.pages.ledger import LedgerScreen  # pages load on demand

        view = await self._control.client.context.ledger(self._view.session_id)
        self.app.push_screen(LedgerScreen(self._control, view), self._leave_ledger)

    def _leave_ledger(self, message_id: str | None) -> None:
        """Show a message in the chat, or the items as they are after the changes of the ledger."""
        if message_id is None:
            self._begin(asyncio.sleep(0))
        else:
            self.dismiss(None)
            self._jump(message_id)

    async def _prune(self, item: ContextItem | None) -> None:
        parts = [item.part_id] if item is not None and item.part_id else None
        await self._control.client.context.prune(self._view.session_id, parts)

    async def _restore(self, item: ContextItem | None) -> None:
        parts = [item.part_id] if item is not None and item.part_id else None
        await self._control.client.context.restore(self._view.session_id, parts)

    async def _compact(self) -> None:
        self.foot.show_message("Compacting: summarizing older messages")
        await self._control.client.context.compact(
            self._view.session_id, CompactSession(model=self._control.choice.model)
        )

    def _head(self) -> list[tuple[Sequence[Piece], Sequence[Piece]]]:
        muted = self.style("muted")
        head = ContextHead(self.listing.look, self._view)
        gap: tuple[Sequence[Piece], Sequence[Piece]] = ([], [])
        columns = self._columns(
            (pad("state", STATE), muted),
            (pad("tokens", TOKENS - 2, is_right=True), muted),
            [(pad("   share", SHARE + 1), muted)],
        )
        bar = head.bar(max(10, self.size.width - MARGIN))
        lines: list[tuple[Sequence[Piece], Sequence[Piece]]]
        lines = [head.title(), gap, (bar, []), gap, head.legend(self.size.width), gap]
        if start := prefix_line(self._view.prefix, self._control.now()):
            lines[-1:] = [([(clip(start, max(10, self.size.width - MARGIN)), muted)], []), gap]
        return [*lines, ([("item", muted)], columns)]

    def _columns(self, state: Piece, tokens: Piece, share: Sequence[Piece]) -> list[Piece]:
        """Return the columns at the right that leave space for the names of the items."""
        width = self.size.width
        return [*([state] if width >= STATE_FROM else []), tokens, *(share if width >= SHARE_FROM else [])]

    def _entries(self) -> list[ListRow]:
        rows = context_rows(self._view.items, self._opened)
        rows = rows if self._by_size else fold_turns(rows, self._opened)
        self._rows = {row.id: row for row in rows}
        if self._by_size:
            rows.sort(key=lambda one: -one.tokens)
        biggest = max((row.tokens for row in rows), default=1) or 1
        now = self._control.now()
        entries: list[ListRow] = []
        was_fold = False
        for row in rows:
            if (row.begins_turn or row.turns or was_fold) and not self._by_size and entries:
                entries.append(ListRow(lambda _area: []))
            entries.append(self._entry(row, biggest, now))
            was_fold = row.is_fold and row.id not in self._opened
        return entries

    def _sign(self, row: ContextRow) -> str:
        glyphs, item = self.listing.look.glyphs, row.item
        if row.is_fold:
            return glyphs.unfolded if row.id in self._opened else glyphs.folded
        if row.is_sent:
            return glyphs.user_bar if item.kind == "request" else glyphs.compacted if item.kind == "summary" else " "
        return {"pruned": glyphs.pruned, "reverted": glyphs.undone}.get(item.state, " ")

    def _entry(self, row: ContextRow, biggest: int, now: int) -> ListRow:
        glyphs = self.listing.look.glyphs
        is_sent = row.is_sent
        is_loud = is_sent and not row.is_fold and row.item.kind in ("request", "summary")
        sign, kind, name, tokens = self._sign(row), kind_words(row, now), name_words(row, now), token_words(row)

        def left(area: str) -> Sequence[Piece]:
            is_here = area == "selection"
            return [
                (f"{sign} ", self.style("accent" if is_loud else "muted", area)),
                (pad(clip(kind, NAME - 1), NAME), self.style("muted", area)),
                (name, self.style("text" if is_sent else "muted", area, bold=is_here)),
            ]

        def right(area: str) -> Sequence[Piece]:
            cells = round((SHARE - 2) * row.tokens / biggest) if row.tokens * 50 > biggest else 0
            bar = glyphs.gauge_used * cells
            is_big = row.tokens * 4 > biggest
            share = (pad(bar, SHARE - 2), self.style("accent" if area == "selection" else "guide", area))
            return self._columns(
                (pad(row.item.state, STATE), self.style("muted" if is_sent else "text", area)),
                (pad(tokens, TOKENS - 2, is_right=True), self.style("text" if is_big else "muted", area)),
                [("   ", self.style("text", area)), share],
            )

        return ListRow(left, right, row.id)
