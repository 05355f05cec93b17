"""Where an undo cuts the conversation, and what is shown of the stretch behind the cut; pure."""

from collections.abc import Sequence

from opencode_tui.schema.session import RevertState
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.items import AnyItem, UndoItem
from opencode_tui.tui.message_view import MessageView

UNDO_ID = "undo"
"""The id of the one item that stands for an undo."""


class UndoCut:
    """The undo that is in force, or one that is only shown."""

    def __init__(self) -> None:
        self.revert: RevertState | None = None
        self.preview: RevertState | None = None
        self.files: tuple[str, Sequence[UndoneFile]] = ("", ())
        """The message that the told undo goes back to, and what it did with files."""

        self._item = UndoItem(UNDO_ID, "")

    @property
    def is_active(self) -> bool:
        """Tell whether there is a cut."""
        return (self.preview or self.revert) is not None

    @property
    def shown_at(self) -> int | None:
        """The place of the rule while the undo is only shown: everything behind it would go."""
        return self._item.at if self.preview is not None and self._item.is_preview else None

    def apply(self, order: Sequence[MessageView]) -> list[AnyItem]:
        """Return all messages' items as the cut leaves them."""
        everything: list[AnyItem] = [item for view in order for item in view.items]
        boundary = self.preview or self.revert
        at = next((view.at for view in order if boundary and view.info.id == boundary.message_id), None)
        if boundary is None or at is None:
            return everything
        first = _first_item(order, at, boundary.part_id)
        cut = len(everything) if first is None else everything.index(first)
        if self.preview is not None:
            self._item = UndoItem(UNDO_ID, boundary.message_id, is_preview=True)
            return [*everything[:cut], self._item, *everything[cut:]]
        message_id, files = self.files
        known = files if message_id == boundary.message_id else ()
        self._item = UndoItem(UNDO_ID, boundary.message_id, messages=len(order) - at, files=known)
        return [*everything[:cut], self._item]


def _first_item(order: Sequence[MessageView], at: int, part_id: str | None) -> AnyItem | None:
    """Return the first item that goes; None when nothing behind the boundary is seen."""
    view = order[at]
    first = view.first_from(part_id) if part_id is not None else view.items[0] if view.items else None
    return first or next((item for one in order[at + 1 :] for item in one.items), None)
