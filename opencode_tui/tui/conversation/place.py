"""Places in the conversation: told by entry, leaf and line, so that a corrected height above moves nothing that is seen."""

from dataclasses import dataclass

from opencode_tui.tui.conversation.entry import Entry
from opencode_tui.tui.conversation.page import Line

_LINE_BITS, _ENTRY_BITS = 20, 44


@dataclass(slots=True)
class Spot:
    """A line: of an entry its leaf, of the leaf its line; the gap above an entry belongs to its first leaf."""

    entry: Entry
    leaf: int = 0
    line: int = 0


@dataclass(slots=True)
class Placed:
    """A line in sight and where it comes from."""

    line: Line
    entry: Entry
    leaf: int
    number: int

    @property
    def key(self) -> int:
        """A number that grows from line to line and stays the same when heights above are corrected."""
        return (self.entry.at << _ENTRY_BITS) | (self.leaf << _LINE_BITS) | self.number


def entry_of_key(key: int) -> int:
    """Return the index of the entry that a line's key stands for."""
    return key >> _ENTRY_BITS
