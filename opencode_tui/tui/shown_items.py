"""The items of a conversation in the order of the screen, and what is new of them since somebody last looked; pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opencode_tui.tui.items import AnyItem, Item


@dataclass(slots=True)
class Changes:
    """What is new since the last time: `moved_from` is the first place whose item may be another one, None when none is."""

    dirty: list[Item] = field(default_factory=list[Item])
    moved_from: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dirty) or self.moved_from is not None


class ShownItems:
    """The items, each of which knows its place."""

    def __init__(self) -> None:
        self.items: list[AnyItem] = []
        self.changed: Callable[[], None] | None = None
        """Called when there is something new to draw, once until it is taken."""

        self._dirty: dict[str, Item] = {}
        self._moved_from: int | None = 0
        self._is_told = False

    @property
    def has_changes(self) -> bool:
        """Tell whether `take` would return any."""
        return bool(self._dirty) or self._moved_from is not None

    def take(self) -> Changes:
        """Return what is new since the last call."""
        changes = Changes(list(self._dirty.values()), self._moved_from)
        self._dirty, self._moved_from, self._is_told = {}, None, False
        return changes

    def forget(self) -> None:
        """Forget which items say something else: all of them are about to be replaced."""
        self._dirty = {}

    def replace(self, items: list[AnyItem]) -> None:
        """Show these in the place of all that were there."""
        self.items = items
        for at, item in enumerate(items):
            item.at = at

    def insert(self, at: int, items: Sequence[AnyItem]) -> None:
        """Put new items into a place; nearly always that is the end."""
        self.items[at:at] = items
        for number in range(at, len(self.items)):
            self.items[number].at = number
        self.move(at)

    def touch(self, item: Item) -> None:
        """Note that an item says something else now."""
        item.revision += 1
        self._dirty[item.id] = item
        self._tell()

    def move(self, at: int) -> None:
        """Note that items came, went or moved from a place on."""
        self._moved_from = at if self._moved_from is None else min(at, self._moved_from)
        self._tell()

    def _tell(self) -> None:
        if not self._is_told and self.changed is not None:
            self._is_told = True
            self.changed()
