"""The prompt as it stands on the screen: a bar, the editor, a tone behind both; with its attachments and its history."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip

from opencode_tui.tui.prompt.draft import Attachment, Draft, paste_marker
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.prompt.history import History, append_history
from opencode_tui.tui.row import strip
from opencode_tui.tui.rows import Rows

if TYPE_CHECKING:
    from opencode_tui.tui.control import Control


class Bar(Rows):
    """The bar at the left edge of what the person says or is asked; as high as what it stands beside."""

    def __init__(self, token: str = "accent") -> None:
        super().__init__()
        self._token = token

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The same sign on every row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        edge, inside = palette.area("background"), palette.style(self._token, "surface")
        return [strip([(" ", edge), (f"{glyphs.user_bar} ", inside)], 3)] * height


class PromptBox(Horizontal):
    """One row high where there is little room, else with an empty row above and below; grows with its text."""

    def __init__(self) -> None:
        super().__init__()
        self.editor = Editor()
        self.history = History()
        self.stash: list[Draft] = []
        self.completing = False
        self._attachments: dict[str, Attachment] = {}
        self._history_file: Path | None = None

    def compose(self) -> ComposeResult:
        """The bar and the editor."""
        yield Bar()
        yield self.editor

    def take(self) -> Draft:
        """What was written, with the pasted texts in it; the prompt is empty afterwards."""
        draft = Draft(self.editor.text, dict(self._attachments))
        self.editor.put("")
        self._attachments.clear()
        return draft

    def put_back(self, draft: Draft) -> None:
        """Write a draft again, before what was written meanwhile."""
        self._attachments.update(draft.attachments)
        rest = self.editor.text
        self.editor.put(f"{draft.text}\n{rest}" if rest.strip() else draft.text)

    def attach(self, attachment: Attachment) -> None:
        """Put a marker at the cursor for something that is too large to be written out."""
        number = 1
        while (marker := self._marker(attachment, number)) in self._attachments:
            number += 1
        self._attachments[marker] = attachment
        self.editor.put_in(marker)

    def on_editor_pasted(self, event: Editor.Pasted) -> None:
        """Keep a large paste as an attachment."""
        event.stop()
        self.attach(Attachment(text=event.text.replace("\r\n", "\n").replace("\r", "\n")))

    def open_attachment(self, marker: str) -> Attachment | None:
        """What a marker stands for; None when there is no such."""
        return self._attachments.get(marker)

    def unfold(self, marker: str) -> None:
        """Write a pasted text out in the place of its marker."""
        one = self._attachments.get(marker)
        if one is not None and not one.data:
            del self._attachments[marker]
            self.editor.put(self.editor.text.replace(marker, one.text, 1))

    def keep_history(self, path: Path) -> None:
        """Write what is sent from now on to a file."""
        self._history_file = path

    async def remember(self, text: str) -> None:
        """Keep a prompt that was sent, across runs too."""
        self.history.add(text)
        if self._history_file is not None:
            await asyncio.to_thread(append_history, self._history_file, text)

    def complete_with(self, control: "Control") -> None:
        """Offer files, agents and commands while one writes."""

    def can_recall(self, action_id: str) -> bool:
        """Whether the key means an earlier or later prompt, not the row above or below."""
        if action_id == "history_previous":
            return self.editor.is_at_top and bool(self.history.entries)
        return self.editor.is_at_bottom and self.history.is_looking

    def recall(self, action_id: str) -> None:
        """Show an earlier or a later prompt."""
        found = self.history.earlier(self.editor.text) if action_id == "history_previous" else self.history.later()
        if found is not None:
            self.editor.put(found)
            if action_id == "history_previous":
                self.editor.move_cursor((0, len(self.editor.document.get_line(0))))

    @staticmethod
    def _marker(attachment: Attachment, number: int) -> str:
        if attachment.data:
            return f"[Image {number}]"
        return paste_marker(attachment.text, number)
