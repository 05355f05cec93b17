"""The items in the order of the screen, and their changes since the last `pop_changes`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opencode_tui.tui.state.items import AnyItem, Item


@dataclass(slots=True)
class Changes:
    """Changes since the last call: `moved_from` is the first index whose item may differ, None if no item moved."""

    dirty: list[Item] = field(default_factory=list[Item])
    moved_from: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dirty) or self.moved_from is not None


class ShownItems:
    """The items, with their indexes."""

    def __init__(self) -> None:
        self.items: list[AnyItem] = []
        self.changed: Callable[[], None] | None = None
        """Called on the first change after each `pop_changes`."""

        self._dirty: dict[str, Item] = {}
        self._moved_from: int | None = 0
        self._is_notified = False

    @property
    def has_changes(self) -> bool:
        """Return whether `pop_changes` would return any."""
        return bool(self._dirty) or self._moved_from is not None

    def pop_changes(self) -> Changes:
        """Return the changes since the last call."""
        changes = Changes(list(self._dirty.values()), self._moved_from)
        self._dirty, self._moved_from, self._is_notified = {}, None, False
        return changes

    def clear_changes(self) -> None:
        """Discard the recorded changes before all items are replaced."""
        self._dirty = {}

    def replace(self, items: list[AnyItem]) -> None:
        """Replace all items."""
        self.items = items
        for at, item in enumerate(items):
            item.at = at

    def insert(self, at: int, items: Sequence[AnyItem]) -> None:
        """Insert new items at an index, nearly always the end."""
        self.items[at:at] = items
        for number in range(at, len(self.items)):
            self.items[number].at = number
        self.move(at)

    def touch(self, item: Item) -> None:
        """Record that an item has changed."""
        item.revision += 1
        self._dirty[item.id] = item
        self._notify()

    def move(self, at: int) -> None:
        """Record that items were added, removed or moved from an index on."""
        self._moved_from = at if self._moved_from is None else min(at, self._moved_from)
        self._notify()

    def _notify(self) -> None:
        if not self._is_notified and self.changed is not None:
            self._is_notified = True
            self.changed()
