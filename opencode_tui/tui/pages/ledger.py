"""The ledger page: what a compaction keeps word for word, with keys that add, change, remove and restore entries."""

from collections.abc import Callable, Mapping, Sequence

from textual.strip import Strip

from opencode_tui.schema.api.context import LedgerChange, LedgerView
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.ledger import MOST_TEXT, LedgerEntry
from opencode_tui.text.cells import clip_front, pad, wrap
from opencode_tui.text.ledger import KINDS, omitted_words, state_of, summary_of
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction, edits, opens
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

_KIND, _STATE = 14, 9
"""Cells of the columns beside the texts."""

_MARGIN = 6
"""Cells of the row above the keys beside the text that is written."""

_PREVIEW = "panel"


class LedgerScreen(PageScreen):
    """The entries; closes with the id of the message that is to be shown in the chat, or None."""

    DEFAULT_CSS = """
    LedgerScreen PageFoot { height: 4; }
    """
    scopes = ("page:ledger", "page")

    def __init__(self, control: SessionController, view: LedgerView) -> None:
        super().__init__()
        self._client = control.client.context
        self._view = view
        self._typed: str | None = None
        """The text that is written; None while there is none."""
        self._changed = ""
        """The entry that it is for; empty for a new one."""

    def fill(self) -> None:
        """Show the entries."""
        self._draw()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected entry, or those of the text that is written."""
        if self._typed is not None:
            return [
                KeyAction("ledger_save", "save", self._save),
                KeyAction("ledger_cancel", "cancel", self._cancel),
            ]
        entry, chosen = self._entry(), self.listing.chosen
        actions: list[KeyAction] = []
        if entry is not None:
            actions.append(KeyAction("ledger_edit", "edit", lambda: self._write(entry.text, entry.id)))
            actions.append(KeyAction("ledger_remove", "remove", lambda: self._change(LedgerChange(id=entry.id))))
        if chosen and (entry is None or entry.origin == "edited"):
            change = LedgerChange(id=chosen, is_restored=True)
            actions.append(KeyAction("ledger_restore", "restore", lambda: self._change(change)))
        if entry is not None and (message_id := entry.message_id):
            actions.append(opens("show in chat", lambda: self.dismiss(message_id)))
        return [*actions, KeyAction("ledger_add", "add an entry", lambda: self._write("", ""))]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions of the page, or those of the text that is written."""
        if self._typed is None:
            return super().key_actions()
        return {**{one.id: one.act for one in self.page_actions()}, **edits(self._typed, self._edit)}

    def type_text(self, text: str) -> None:
        """Add text to the one that is written."""
        if self._typed is not None:
            self._edit(self._typed + clean(text))

    def show_keys(self) -> None:
        """Draw the row of keys again, and above it the text that is written."""
        if self._typed is None:
            super().show_keys()
            return
        self.foot.show(self.page_actions())
        caret = self.listing.look.glyphs.caret
        room = max(10, self.foot.size.width - _MARGIN)
        self.foot.show_message(f"{clip_front(screen_line(self._typed), room)}{caret}", "text")

    def on_page_list_moved(self) -> None:
        """Update the keys and the preview for the selected row."""
        self.show_keys()
        self._show_preview()

    def on_page_list_opened(self) -> None:
        """Show the message of the clicked entry in the chat."""
        entry = self._entry()
        if self._typed is None and entry is not None and entry.message_id:
            self.dismiss(entry.message_id)

    def _entry(self) -> LedgerEntry | None:
        return next((one for one in self._view.entries if one.id == self.listing.chosen), None)

    def _write(self, text: str, entry_id: str) -> None:
        self._typed, self._changed = text, entry_id
        self.scopes = ("list:ledger", "list")
        self._draw()

    def _edit(self, typed: str) -> None:
        self._typed = typed[:MOST_TEXT]
        self.show_keys()

    def _save(self) -> None:
        text, entry_id = (self._typed or "").strip(), self._changed
        self._cancel()
        if text:
            self._change(LedgerChange(id=entry_id or None, text=text))

    def _cancel(self) -> None:
        self._typed, self._changed = None, ""
        self.scopes = ("page:ledger", "page")
        self._draw()

    def _change(self, change: LedgerChange) -> None:
        self.run_worker(self._apply(change), exclusive=True, exit_on_error=False)

    async def _apply(self, change: LedgerChange) -> None:
        try:
            self._view = await self._client.change_ledger(self._view.session_id, change)
            self._draw()
        except OpencodeError as error:
            self.foot.show_message(screen_line(str(error)), "error")

    def _draw(self) -> None:
        muted = self.style("muted")
        lines: list[tuple[Sequence[Piece], Sequence[Piece]]] = [
            ([("What a compaction keeps", self.style("text", bold=True))], [(summary_of(self._view), muted)])
        ]
        if left := omitted_words(self._view):
            lines.append(([(left, muted)], []))
        self.head.show(lines)
        rows: list[ListRow] = []
        kind = ""
        for one in self._view.entries:
            if rows and one.kind != kind:
                rows.append(ListRow(lambda _area: []))
            kind = one.kind
            rows.append(self._row(one.id, KINDS[one.kind], self._state(one), one.text))
        if self._view.removed:
            rows.append(ListRow(lambda _area: []))
        rows += [self._row(one.id, KINDS[one.kind], "removed", "") for one in self._view.removed]
        self.listing.show(rows)
        self.show_keys()
        self._show_preview()

    def _state(self, entry: LedgerEntry) -> str:
        return state_of(entry, is_compacted=self._view.is_compacted)

    def _row(self, entry_id: str, kind: str, state: str, text: str) -> ListRow:
        words = screen_line(" ".join(text.split()))

        def left(area: str) -> Sequence[Piece]:
            return [
                (f"  {pad(kind, _KIND)}", self.style("muted", area)),
                (pad(state, _STATE), self.style("muted" if state in ("sent", "next") else "accent", area)),
                (words, self.style("text", area, bold=area == "selection")),
            ]

        return ListRow(left, None, entry_id)

    def _show_preview(self) -> None:
        entry = self._entry()
        self.preview.show(lambda room: self._preview_lines(entry, room) if entry is not None else ())

    def _preview_lines(self, entry: LedgerEntry, room: int) -> Sequence[Sequence[Piece] | Strip]:
        text, muted = self.style("text", _PREVIEW), self.style("muted", _PREVIEW)
        lines: list[Sequence[Piece] | Strip] = [[(KINDS[entry.kind], self.style("text", _PREVIEW, bold=True))], []]
        for line in entry.text.splitlines():
            lines += [[(piece, text)] for piece in wrap(screen_line(line), room)]
        if entry.kind == "check":
            return lines
        facts = {"edited": "You changed this entry.", "added": "You added this entry."}.get(entry.origin)
        if facts is None and self._view.is_compacted and not entry.is_sent:
            facts = "In the requests from the next compaction on."
        return [*lines, [], [(facts, muted)]] if facts else lines
