"""A folder's snapshots, loaded and made when they are first needed: a turn that changes nothing does without them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

SWITCHED_OFF = "`snapshot` is false in your settings, so undo is off; `opencode-tui config show` tells where"


class SnapshotSource:
    """Gives the one service of a folder's instance."""

    def __init__(self, make: "Callable[[], Snapshots]") -> None:
        self._make = make
        self._made: Snapshots | None = None

    def get(self) -> "Snapshots":
        """Return the service; its `unavailable` tells when there is no undo here."""
        if self._made is None:
            self._made = self._make()
        return self._made
