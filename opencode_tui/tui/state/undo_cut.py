"""The items after the start of an undo: hidden by an active one, muted under the rule of a preview."""

from collections.abc import Sequence

from opencode_tui.schema.session.session import RevertState
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.state.items import AnyItem, UndoItem
from opencode_tui.tui.state.message import MessageView

UNDO_ID = "undo"
"""The ID of the item that represents an undo."""


class UndoCut:
    """The active or previewed undo."""

    def __init__(self) -> None:
        self.revert: RevertState | None = None
        self.preview: RevertState | None = None
        self.files: tuple[str, Sequence[UndoneFile], str] = ("", (), "")
        """The message that the reported undo goes back to, its effects on files, and why it had none."""

        self._item = UndoItem(UNDO_ID, "")

    @property
    def is_active(self) -> bool:
        """Return whether an undo is active or previewed."""
        return (self.preview or self.revert) is not None

    @property
    def shown_at(self) -> int | None:
        """The index of the rule in a preview: everything after it would be removed."""
        return self._item.at if self.preview is not None and self._item.is_preview else None

    def apply(self, order: Sequence[MessageView]) -> list[AnyItem]:
        """Return the items of all messages under the undo."""
        everything: list[AnyItem] = [item for view in order for item in view.items]
        boundary = self.preview or self.revert
        at = next((view.at for view in order if boundary and view.info.id == boundary.message_id), None)
        if boundary is None:
            return everything
        if at is None:  # an undo of files only: every message stays
            _, files, _ = self.files
            self._item = UndoItem(UNDO_ID, boundary.message_id, files=files)
            return [*everything, self._item] if files else everything
        first = _first_item(order, at, boundary.part_id)
        cut = len(everything) if first is None else everything.index(first)
        if self.preview is not None:
            self._item = UndoItem(UNDO_ID, boundary.message_id, is_preview=True)
            return [*everything[:cut], self._item, *everything[cut:]]
        _, files, undo_off = self.files if self.files[0] == boundary.message_id else ("", (), "")
        self._item = UndoItem(UNDO_ID, boundary.message_id, messages=len(order) - at, files=files, undo_off=undo_off)
        return [*everything[:cut], self._item]


def _first_item(order: Sequence[MessageView], at: int, part_id: str | None) -> AnyItem | None:
    """Return the first removed item; None if nothing after the boundary is visible."""
    view = order[at]
    first = view.first_from(part_id) if part_id is not None else view.items[0] if view.items else None
    return first or next((item for one in order[at + 1 :] for item in one.items), None)
