"""The context view: every item that the next request would carry, what it takes, and what can be freed."""

from collections.abc import Coroutine, Sequence

from rich.style import Style

from opencode_tui.schema.compaction import CompactSession
from opencode_tui.schema.context import ContextGroup, ContextItem, ContextView
from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.cells import clip, pad
from opencode_tui.tui.control import Control
from opencode_tui.tui.quantity import amount, money
from opencode_tui.tui.row import Piece
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen
from opencode_tui.tui.session_facts import clock

GROUPS: tuple[tuple[ContextGroup, str], ...] = (
    ("outputs", "tool output"),
    ("messages", "messages"),
    ("summary", "summary"),
    ("system", "system and tools"),
)
SHADES = ("accent", "muted", "guide", "border")
"""The brightest is what can be freed."""

KINDS = {
    "agent": "System prompt",
    "environment": "Environment",
    "instruction": "Rules",
    "system": "System",
    "plugin": "Plugin",
    "tools": "Tools",
    "request": "You",
    "answer": "Answer",
    "thought": "Thought",
    "call": "Call",
    "file": "File",
    "subtask": "Task",
    "summary": "Summary",
    "marker": "Marker",
    "reminder": "Reminder",
}
NAME, STATE, TOKENS, SHARE = 14, 12, 12, 18
"""Cells of the columns beside the item's own name."""


class ContextScreen(PageScreen):
    """Prune, restore, compact from here; each says first what it frees."""

    has_preview = False

    def __init__(self, control: Control, view: ContextView) -> None:
        super().__init__()
        self._control = control
        self._view = view
        self._by_size = False

    def fill(self) -> None:
        """Draw bar, legend and items."""
        self.head.show(self._head())
        self.listing.show(self._entries())

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen item comes first."""
        item = self._item
        keys: list[PageKey] = []
        if item is not None and item.frees:
            keys.append(PageKey("p", f"prune, frees {amount(item.frees)}", lambda: self._begin(self._prune(item))))
        elif self._view.prunable:
            told = f"prune old output, frees {amount(self._view.prunable)}"
            keys.append(PageKey("p", told, lambda: self._begin(self._prune(None))))
        if item is not None and item.state == "pruned":
            keys.append(PageKey("r", "restore", lambda: self._begin(self._restore(item))))
        keys.append(PageKey("c", "compact", lambda: self._begin(self._compact())))
        keys.append(PageKey("s", "sort by place" if self._by_size else "sort by size", self._sort))
        return keys

    @property
    def _item(self) -> ContextItem | None:
        chosen = self.listing.chosen
        return self._view.items[int(chosen)] if chosen else None

    def _sort(self) -> None:
        self._by_size = not self._by_size
        self.listing.show(self._entries())

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self.run_worker(self._guarded(work), exclusive=True, exit_on_error=False)

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
            self._view = await self._control.client.context.items(self._view.session_id)
            self.fill()
        except OpencodeError as error:
            self.foot.tell(screen_line(" ".join(str(error).split())), "error")

    async def _prune(self, item: ContextItem | None) -> None:
        parts = [item.part_id] if item is not None and item.part_id else None
        await self._control.client.context.prune(self._view.session_id, parts)

    async def _restore(self, item: ContextItem) -> None:
        await self._control.client.context.restore(self._view.session_id, [item.part_id] if item.part_id else None)

    async def _compact(self) -> None:
        self.foot.tell("Compacting: a summary takes the place of older messages")
        await self._control.client.context.compact(
            self._view.session_id, CompactSession(model=self._control.choice.model)
        )

    def _head(self) -> list[tuple[Sequence[Piece], Sequence[Piece]]]:
        view = self._view
        bold, muted, text = self.style("text", bold=True), self.style("muted"), self.style("text")
        facts = f" tokens · {round(100 * view.tokens / view.usable)} %" if view.usable else " tokens"
        of = f" of {amount(view.usable)}" if view.usable else ""
        cost = f" · {money(view.cost)}" if view.cost else ""
        right = [(amount(view.tokens), bold), (self.listing.look.words(f"{of}{facts}{cost}"), muted)]
        gap: tuple[Sequence[Piece], Sequence[Piece]] = ([], [])
        columns = [
            (pad("state", STATE), muted),
            (pad("tokens", TOKENS - 2, is_right=True), muted),
            (pad("   share", SHARE + 1), muted),
        ]
        return [
            ([("Context", bold)], right),
            gap,
            (self._bar(), []),
            gap,
            self._legend(text, muted),
            gap,
            ([("item", muted)], columns),
        ]

    def _sums(self) -> list[int]:
        items = self._view.items
        return [sum(item.tokens for item in items if item.group == group) for group, _ in GROUPS]

    def _bar(self) -> list[Piece]:
        room = max(10, self.size.width - 6)
        whole = max(self._view.usable or 0, self._view.tokens, 1)
        glyphs = self.listing.look.glyphs
        pieces: list[Piece] = []
        used = 0
        for number, total in enumerate(self._sums()):
            cells = min(room - used, round(room * total / whole) or (1 if total else 0))
            used += cells
            pieces.append(
                (
                    glyphs.shades[number if not self.listing.look.palette.tones else 0] * cells,
                    self.style(SHADES[number]),
                )
            )
        return [*pieces, (glyphs.shades[4] * (room - used), self.style("guide"))]

    def _legend(self, text: Style, muted: Style) -> tuple[Sequence[Piece], Sequence[Piece]]:
        glyphs = self.listing.look.glyphs
        pieces: list[Piece] = []
        for number, (total, (_, words)) in enumerate(zip(self._sums(), GROUPS, strict=True)):
            sign = glyphs.shades[number if not self.listing.look.palette.tones else 0]
            pieces += [(f"{sign} ", self.style(SHADES[number])), (f"{words} ", muted), (f"{amount(total)}   ", text)]
        if self._view.usable:
            free = max(0, self._view.usable - self._view.tokens)
            pieces += [(f"{glyphs.shades[4]} ", self.style("guide")), ("free ", muted), (amount(free), text)]
            return pieces, [(f"compacts at {amount(self._view.usable)}", muted)] if self.size.width >= 110 else []
        return pieces, []

    def _entries(self) -> list[Entry]:
        items = list(enumerate(self._view.items))
        if self._by_size:
            items.sort(key=lambda one: -one[1].tokens)
        biggest = max((item.tokens for _, item in items), default=1) or 1
        entries: list[Entry] = []
        for number, item in items:
            if item.kind == "request" and not self._by_size and entries:
                entries.append(Entry(lambda _area: []))
            entries.append(self._entry(number, item, biggest))
        return entries

    def _entry(self, number: int, item: ContextItem, biggest: int) -> Entry:
        glyphs = self.listing.look.glyphs
        is_live = item.state in ("live", "kept")
        signs = {"pruned": glyphs.pruned, "reverted": glyphs.undone, "summarised": glyphs.compacted}
        sign = glyphs.user_bar if item.kind == "request" and is_live else signs.get(item.state, " ")
        kind = clock(item.time) if item.kind == "request" and item.time else self._kind(item)
        name = screen_line(" ".join(item.name.split()))
        tokens = amount(item.tokens) if is_live or item.tokens else f"was {amount(item.was)}" if item.was else "0"

        def left(area: str) -> Sequence[Piece]:
            is_here = area == "selection"
            return [
                (f"{sign} ", self.style("accent" if item.kind == "request" else "muted", area)),
                (pad(clip(kind, NAME - 1), NAME), self.style("muted", area)),
                (name, self.style("text" if is_live else "muted", area, bold=is_here)),
            ]

        def right(area: str) -> Sequence[Piece]:
            cells = round((SHARE - 2) * item.tokens / biggest) if item.tokens * 50 > biggest else 0
            bar = glyphs.gauge_used * cells
            is_big = item.tokens * 4 > biggest
            return [
                (pad(item.state, STATE), self.style("muted" if is_live else "text", area)),
                (pad(tokens, TOKENS - 2, is_right=True), self.style("text" if is_big else "muted", area)),
                ("   ", self.style("text", area)),
                (pad(bar, SHARE - 2), self.style("accent" if area == "selection" else "guide", area)),
            ]

        return Entry(left, right, str(number))

    @staticmethod
    def _kind(item: ContextItem) -> str:
        if item.kind == "call" and item.tool:
            return screen_line(item.tool.capitalize())
        return KINDS.get(item.kind, item.kind)
