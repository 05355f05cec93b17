"""The context view: every item that the next request would carry, what it takes, and what can be freed."""

from collections.abc import Callable, Coroutine, Sequence

from opencode_tui.schema.compaction import CompactSession
from opencode_tui.schema.context import ContextItem, ContextView
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import amount
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.context_head import MARGIN, ContextHead
from opencode_tui.tui.context_rows import ContextRow, context_rows, kind_words, name_words, token_words
from opencode_tui.tui.control import Control
from opencode_tui.tui.row import Piece
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen

NAME, STATE, TOKENS, SHARE = 14, 12, 12, 18
"""Cells of the columns beside the item's own name."""


class ContextScreen(PageScreen):
    """Prune, restore, compact from here; each says first what it frees. Enter shows an item in the chat, through `jump`."""

    has_preview = False

    def __init__(self, control: Control, view: ContextView, jump: Callable[[str], object]) -> None:
        super().__init__()
        self._control = control
        self._view = view
        self._jump = jump
        self._by_size = False
        self._opened: set[str] = set()
        self._rows: dict[str, ContextRow] = {}

    def fill(self) -> None:
        """Draw bar, legend and items."""
        self.head.show(self._head(), is_table=True)
        self.listing.show(self._entries())

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen item comes first."""
        row = self._row
        item = row.item if row is not None and not row.is_fold else None
        keys: list[PageKey] = []
        if item is not None and item.frees:
            keys.append(PageKey("p", f"prune, frees {amount(item.frees)}", lambda: self._begin(self._prune(item))))
        elif self._view.prunable:
            told = f"prune old output, frees {amount(self._view.prunable)}"
            keys.append(PageKey("p", told, lambda: self._begin(self._prune(None))))
        if item is not None and item.state == "pruned":
            keys.append(PageKey("r", "restore", lambda: self._begin(self._restore(item))))
        keys.append(PageKey("c", "compact", lambda: self._begin(self._compact())))
        if row is not None and row.is_fold:
            keys.append(PageKey("enter", "fold" if row.id in self._opened else "open", self.on_page_list_opened))
        elif item is not None and self._place(item):
            keys.append(PageKey("enter", "show in the chat", self.on_page_list_opened))
        keys.append(PageKey("s", "sort by place" if self._by_size else "sort by size", self._sort))
        return keys

    def on_page_list_opened(self) -> None:
        """Open or fold what one summary stands for; show any other item in the chat."""
        row = self._row
        if row is None:
            return
        if row.is_fold:
            self._opened.symmetric_difference_update({row.id})
            self.listing.show(self._entries())
        elif place := self._place(row.item):
            self.dismiss(None)
            self._jump(place)

    @staticmethod
    def _place(item: ContextItem) -> str:
        """The id under which the chat shows it; empty for what does not stand there."""
        if item.state == "reverted" or item.kind in ("added", "summary", "marker"):
            return ""
        return (item.message_id if item.kind in ("request", "file") else item.part_id) or ""

    @property
    def _row(self) -> ContextRow | None:
        return self._rows.get(self.listing.chosen)

    def _sort(self) -> None:
        """Sort anew; by size the largest is chosen, as that is what one looks for."""
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
        muted = self.style("muted")
        head = ContextHead(self.listing.look, self._view)
        gap: tuple[Sequence[Piece], Sequence[Piece]] = ([], [])
        columns = [
            (pad("state", STATE), muted),
            (pad("tokens", TOKENS - 2, is_right=True), muted),
            (pad("   share", SHARE + 1), muted),
        ]
        bar = head.bar(max(10, self.size.width - MARGIN))
        lines: list[tuple[Sequence[Piece], Sequence[Piece]]]
        lines = [head.title(), gap, (bar, []), gap, head.legend(self.size.width), gap]
        return [*lines, ([("item", muted)], columns)]

    def _entries(self) -> list[Entry]:
        rows = context_rows(self._view.items, self._opened)
        self._rows = {row.id: row for row in rows}
        if self._by_size:
            rows.sort(key=lambda one: -one.tokens)
        biggest = max((row.tokens for row in rows), default=1) or 1
        entries: list[Entry] = []
        was_fold = False
        for row in rows:
            if (row.begins_turn or was_fold) and not self._by_size and entries:
                entries.append(Entry(lambda _area: []))
            entries.append(self._entry(row, biggest))
            was_fold = row.is_fold and row.id not in self._opened
        return entries

    def _sign(self, row: ContextRow) -> str:
        glyphs, item = self.listing.look.glyphs, row.item
        if row.is_fold:
            return glyphs.unfolded if row.id in self._opened else glyphs.folded
        if row.is_sent:
            return glyphs.user_bar if item.kind == "request" else glyphs.compacted if item.kind == "summary" else " "
        return {"pruned": glyphs.pruned, "reverted": glyphs.undone}.get(item.state, " ")

    def _entry(self, row: ContextRow, biggest: int) -> Entry:
        glyphs = self.listing.look.glyphs
        is_live = row.is_sent
        is_loud = is_live and row.item.kind in ("request", "summary")
        sign, kind, name, tokens = self._sign(row), kind_words(row), name_words(row), token_words(row)

        def left(area: str) -> Sequence[Piece]:
            is_here = area == "selection"
            return [
                (f"{sign} ", self.style("accent" if is_loud else "muted", area)),
                (pad(clip(kind, NAME - 1), NAME), self.style("muted", area)),
                (name, self.style("text" if is_live else "muted", area, bold=is_here)),
            ]

        def right(area: str) -> Sequence[Piece]:
            cells = round((SHARE - 2) * row.tokens / biggest) if row.tokens * 50 > biggest else 0
            bar = glyphs.gauge_used * cells
            is_big = row.tokens * 4 > biggest
            return [
                (pad(row.item.state, STATE), self.style("muted" if is_live else "text", area)),
                (pad(tokens, TOKENS - 2, is_right=True), self.style("text" if is_big else "muted", area)),
                ("   ", self.style("text", area)),
                (pad(bar, SHARE - 2), self.style("accent" if area == "selection" else "guide", area)),
            ]

        return Entry(left, right, row.id)
