"""The layout of one item: pieces with known or estimated heights, drawn when they become visible."""

from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.markdown import Block, Markdown
from opencode_tui.tui.conversation.prose import estimate_block
from opencode_tui.tui.state.items import AnyItem, GrowingItem

SLICE = 8_000
"""Characters of a text that are parsed in one step: about a millisecond."""


class Leaf:
    """A piece that is drawn in one step: a block of a response, or all of another item (`block` is None)."""

    __slots__ = ("block", "height", "lines")

    def __init__(self, block: Block | None, height: int) -> None:
        self.block = block
        self.height = height
        self.lines: list[Line] | None = None


class Flow:
    """A growing text as leaves; parsed text is not parsed again."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.height = 0
        self.rest = 0
        """Estimated lines of the text that is not parsed yet."""

        self.generation = 0
        self._markdown = Markdown()
        self._piece = 0
        self._offset = 0
        self._is_closed = False

    def advance(self, item: GrowingItem, page: RenderContext) -> None:
        """Parse at most one more slice."""
        text = self._next(item)
        if text:
            self._render_pieces(self._markdown.feed(text), page)
        self.rest = self._estimate_rest(item, page)
        if item.is_closed and not self.rest and not self._is_closed:
            self._is_closed = True
            self._render_pieces(self._markdown.close(), page)

    def is_current(self, item: GrowingItem) -> bool:
        """Return whether the parsed text is the start of the item's current text."""
        return self.generation == item.generation and not (self._is_closed and self._piece < len(item.pieces))

    def _next(self, item: GrowingItem) -> str:
        taken: list[str] = []
        size = 0
        while self._piece < len(item.pieces) and size < SLICE:
            piece = item.pieces[self._piece][self._offset : self._offset + SLICE - size]
            taken.append(piece)
            size += len(piece)
            self._offset += len(piece)
            if self._offset >= len(item.pieces[self._piece]):
                self._piece += 1
                self._offset = 0
        return "".join(taken)

    def _estimate_rest(self, item: GrowingItem, page: RenderContext) -> int:
        if self._piece >= len(item.pieces):
            return 0
        size = sum(map(len, item.pieces[self._piece :])) - self._offset
        return 1 + size // page.prose

    def _render_pieces(self, first: int, page: RenderContext) -> None:
        blocks = self._markdown.blocks
        self.height -= sum(leaf.height for leaf in self.leaves[first:])
        del self.leaves[first:]
        for block in blocks[first:]:
            self.leaves.append(Leaf(block, estimate_block(block, page)))
        self.height += sum(leaf.height for leaf in self.leaves[first:])


class Entry:
    """An item's place in the layout: `gap` empty rows, then its leaves. `at` is its index among all."""

    __slots__ = ("at", "flow", "gap", "head", "height", "item")

    def __init__(self, item: AnyItem) -> None:
        self.item = item
        self.at = 0
        self.gap = 0
        self.height = 0
        self.head: Leaf | None = None
        self.flow: Flow | None = None

    @property
    def count(self) -> int:
        """The number of leaves, including the one for text that is not parsed yet."""
        flow = self.flow
        return (self.head is not None) + (0 if flow is None else len(flow.leaves) + bool(flow.rest))

    def leaf(self, number: int) -> Leaf | None:
        """Return a leaf; None represents the text that is not parsed yet."""
        if self.head is not None:
            if number == 0:
                return self.head
            number -= 1
        leaves = self.flow.leaves if self.flow is not None else []
        return leaves[number] if number < len(leaves) else None

    def above(self, number: int) -> int:
        """Return the number of lines above a leaf, including the gap."""
        if number == 0:
            return 0
        above = self.gap + (self.head.height if self.head is not None else 0)
        if self.flow is None:
            return above
        index = number - (self.head is not None)
        leaves = self.flow.leaves
        if index * 2 > len(leaves):
            return above + self.flow.height - sum(leaf.height for leaf in leaves[index:])
        return above + sum(leaf.height for leaf in leaves[:index])

    @property
    def leaves(self) -> list[Leaf]:
        """All leaves."""
        pieces = [self.head] if self.head is not None else []
        return [*pieces, *self.flow.leaves] if self.flow is not None else pieces
