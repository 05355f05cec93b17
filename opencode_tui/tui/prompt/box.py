"""The prompt: a bar and the editor on a background, with attachments and history."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widgets.text_area import Selection

from opencode_tui.tui.prompt.attachments import Attachments
from opencode_tui.tui.prompt.draft import Attachment, Draft, read_image_file
from opencode_tui.tui.prompt.editor import MARKER, Editor, handled, last_marker, marker_at
from opencode_tui.tui.prompt.history import MAX_LENGTH, History, append_history
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.widgets.row import Rows, strip

if TYPE_CHECKING:
    from opencode_tui.tui.prompt.completing import Completing
    from opencode_tui.tui.prompt.vim_keys import VimKeys, VimMaker

BELOW = 3
"""Rows between the list of completions and the end of the screen, next to the prompt's own."""


class Bar(Rows):
    """The bar at the left edge of the prompt or a question, with the same height."""

    def __init__(self, token: str = "accent") -> None:
        super().__init__()
        self._token = token

    def mark(self, token: str) -> None:
        """Draw the bar in another color."""
        if token != self._token:
            self._token = token
            self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the glyph on every row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        edge, inside = palette.area("background"), palette.style(self._token, "surface")
        return [strip([(" ", edge), (f"{glyphs.user_bar} ", inside)], 3)] * height


class PromptBox(ErrorBoundary, Horizontal):
    """The prompt: one row on small screens, else with an empty row above and below; grows with its text."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = Bar()
        self.editor = Editor()
        self.editor.attach_large = self._attach_text
        self.history = History()
        self.stash: list[Draft] = []
        self.has_examples = False
        """Whether `up` shows examples: the history is empty."""
        self.vim: VimKeys | None = None
        self._shown = Selection()
        """What vim selected last; the mouse may have selected something else."""
        self._completing: Completing | None = None
        self._attachments = Attachments(self._texts)
        self._history_file: Path | None = None

    def compose(self) -> ComposeResult:
        """Yield the bar and the editor."""
        yield self._bar
        yield self.editor

    @property
    def is_shell(self) -> bool:
        """Return whether the text is a command for the shell, which no model reads first."""
        return self.editor.text.startswith("!")

    def _texts(self) -> Sequence[str]:
        """Return the texts in which markers may be."""
        stashed = (draft.text for draft in self.stash)
        return (self.editor.text, self.history.begun, *stashed, *self.history.entries)

    def pop_draft(self) -> Draft:
        """Return the draft with its attachments, and empty the prompt."""
        draft = self._attachments.draft(self.editor.text)
        self.has_examples = False
        self.editor.put("")
        if self.vim is not None:
            self.vim.restart()
        return draft

    def clear(self) -> None:
        """Empty the prompt; `up` restores it first, in this run."""
        self.history.set_aside(self.editor.text)
        self.editor.put("")

    @property
    def unsent(self) -> list[str]:
        """The drafts that are stashed or still in the prompt, as the next run can have them: without files."""
        drafts = (*self.stash, self._attachments.draft(self.editor.text))
        return [draft.words if len(draft.words) <= MAX_LENGTH else draft.text for draft in drafts]

    def keep_unsent(self, draft: str) -> bool:
        """Append an unsent draft to the history file, and return whether it is there, or no file is kept. Blocks."""
        return self._history_file is None or append_history(self._history_file, draft)

    def put_back(self, draft: Draft) -> None:
        """Restore a draft, before text written meanwhile."""
        text, rest = self._attachments.adopt(draft), self.editor.text
        self.editor.put(f"{text}\n{rest}" if rest.strip() else text)

    def attach(self, attachment: Attachment) -> None:
        """Insert a marker at the cursor for an attachment."""
        self.editor.put_in(self._attachments.add(attachment, self.editor.text))

    def paste(self, text: str) -> None:
        """Paste a text at the cursor."""
        self.editor.paste(text)

    async def on_editor_pasted(self, event: Editor.Pasted) -> None:
        """Attach the image whose path was pasted; insert a path of no image."""
        event.stop()
        image = await asyncio.to_thread(read_image_file, event.text)
        if image is None:
            self.editor.put_in(event.text)
        else:
            self.attach(image)

    def _attach_text(self, text: str) -> None:
        self.attach(Attachment(text=text.replace("\r\n", "\n").replace("\r", "\n")))

    def open_attachment(self, marker: str) -> Attachment | None:
        """Return the attachment of a marker; None if it does not exist."""
        return self._attachments.get(marker)

    @property
    def chosen_marker(self) -> str:
        """The marker at the cursor, else the last one of the prompt; empty when nothing is attached."""
        line, column = self.editor.cursor_location
        here = marker_at(self.editor.document.get_line(line), column)
        known = self._attachments.draft(self.editor.text).attachments
        return here if here in known else last_marker(self.editor.text, known)

    def unfold(self, marker: str) -> None:
        """Replace the marker of a pasted text by the text."""
        one = self._attachments.get(marker)
        if one is not None and not one.is_file:
            self.editor.put(self.editor.text.replace(marker, one.text, 1))

    def detach(self, marker: str) -> None:
        """Remove an attachment from the prompt."""
        self.editor.put(self.editor.text.replace(marker, "", 1))

    def keep_history(self, path: Path) -> None:
        """Set the file to which sent prompts are written."""
        self._history_file = path

    async def remember(self, draft: Draft) -> None:
        """Append a sent prompt to the history; also to its file, without the markers of what the next run does not have."""
        text = self._attachments.unfold(draft)
        self.history.add(text if len(text) <= MAX_LENGTH else draft.text)
        if self._history_file is not None:
            await asyncio.to_thread(append_history, self._history_file, draft.words)

    def complete_with(self, completing: "Completing") -> None:
        """Suggest files, agents and commands from now on; the caller mounts the list."""
        self._completing = completing
        self.on_resize()

    async def on_text_area_changed(self) -> None:
        """Show completions for the text before the cursor, and by the bar whether the text is a shell command."""
        self._bar.mark("warning" if self.is_shell else "accent")
        if self._completing is not None:
            work = partial(self._completing.follow, is_typed=self._is_typed)
            self.run_worker(work, group="completion", exclusive=True, exit_on_error=False)

    @property
    def _is_typed(self) -> bool:
        is_recalled = self.editor.text == self.history.shown  # the arrows recall further prompts
        return not is_recalled and self.vim_mode in ("", "vim insert")

    async def wait_for_typed(self, *, is_for_completions: bool) -> None:
        """Wait until what was typed or pasted is in the editor, and its completions are shown if the next key may be for them."""
        await self.editor.written()
        await handled(self)  # a picture whose path was pasted is attached here
        if is_for_completions and self._completing is not None and self._is_typed:
            await self._completing.show_now()

    def on_resize(self) -> None:
        """Keep the list above the prompt at any height; it may be shown before the prompt is laid out."""
        if self._completing is not None:
            self._completing.completions.place(above=self.size.height + BELOW)

    def use_vim(self, *, is_on: bool) -> None:
        """Edit with the keys of vim, in insert mode first, or without them."""
        from opencode_tui.entry_points import load  # not for the first frame

        self.vim = cast("VimMaker", load("vim"))(MARKER) if is_on else None

    @property
    def vim_mode(self) -> str:
        """The mode of vim, as it is shown; empty when it is off."""
        return "" if self.vim is None else f"vim {self.vim.mode}"

    def vim_key(self, key: str, character: str | None) -> bool:
        """Apply a key as vim does; return whether it was used. Other keys keep their actions."""
        vim, editor = self.vim, self.editor
        is_insert = vim is None or vim.mode == "insert"
        if vim is None or (is_insert and key != "escape") or (key == "question_mark" and not editor.text):
            return False
        is_up, is_down = key in ("up", "k"), key in ("down", "j")
        if vim.mode == "normal" and not vim.is_waiting and (is_up or is_down):
            action_id = "history_previous" if is_up else "history_next"
            line = editor.cursor_location[0]
            if self.can_recall(action_id) and line == (0 if is_up else editor.document.line_count - 1):
                self.recall(action_id)
                return True
        if vim.mode.startswith("visual") and editor.selection != self._shown:
            vim.mode = "normal"
        if not vim.mode.startswith("visual"):
            vim.cursor = _index(editor, editor.cursor_location)
        before = vim.text = editor.text
        is_used = vim.press(character if character is not None and character.isprintable() else key)
        if not is_used:
            return False
        if vim.text != before:
            editor.put(vim.text)
        start, end = vim.selected if vim.mode.startswith("visual") else (vim.cursor, vim.cursor)
        if vim.mode == "visual" and vim.cursor > start:
            end -= 1  # the cursor shows that its character is selected
        elif vim.mode.startswith("visual") and vim.cursor == start:
            start, end = end, start
        editor.selection = self._shown = Selection(_location(editor, start), _location(editor, end))
        return True

    def can_recall(self, action_id: str) -> bool:
        """Return whether the key means an earlier or later prompt, not the row above or below."""
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


def _index(editor: Editor, location: tuple[int, int]) -> int:
    """Return the position in the text of a line and column."""
    line, column = location
    return sum(len(one) + 1 for one in editor.document.lines[:line]) + column


def _location(editor: Editor, index: int) -> tuple[int, int]:
    """Return the line and column of a position in the text."""
    before = editor.text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)
