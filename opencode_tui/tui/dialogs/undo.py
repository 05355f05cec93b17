"""The undo panel: the messages that are removed, what happens to each file, and the keys."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.text.cells import clip_front, pad, width, wrap
from opencode_tui.text.quantity import plural
from opencode_tui.text.undo import UndoneFile, beside_commands, unchanged_files, undone_files
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.keys.keyed import KeyAction, cancels, confirms, keymap_of
from opencode_tui.tui.widgets.row import Piece, measure

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import RevertPreview, UndoOnly, UndoScope

LABEL = 10
"""Cells of `Messages  ` and `Files     `."""


class UndoPanel(Panel):
    """`span` describes the removed messages; a preview without a scope is of a redo. `show` opens the diff.

    `limited` undoes the conversation or the files only; the choice is shown where there are files to undo.
    """

    scopes = ("panel:undo", "panel")
    is_asked_for = True

    def __init__(
        self,
        preview: "RevertPreview",
        *,
        root: Path,
        now: int,
        span: str,
        act: Callable[[], object],
        back: Callable[[], object],
        show: Callable[[], object] | None = None,
        limited: Callable[["UndoOnly"], object] | None = None,
    ) -> None:
        super().__init__()
        self._preview = preview
        self._files = undone_files(preview, root, now=now)
        self._span = span
        is_undo = preview.scope is not None
        self._limited = limited if preview.restored or preview.deleted else None
        verb = "undo both" if self._limited else "undo" if is_undo else "redo"
        self._answers = (
            confirms(f"{verb}{' messages' if preview.unavailable else ''}", act),
            *self._choices(),
            *((KeyAction("undo_diff", "show the diff", show),) if show is not None and self._files else ()),
            cancels("cancel", back),
        )

    @property
    def answers(self) -> Sequence[KeyAction]:
        """Return the answers: undo or redo, what to limit it to, the diff, cancel."""
        return self._answers

    def _choices(self) -> Sequence[KeyAction]:
        limited = self._limited
        if limited is None:
            return ()
        return (
            KeyAction("undo_conversation", "conversation only", lambda: limited("conversation")),
            KeyAction("undo_files", "files only", lambda: limited("files")),
        )

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the question, and at the right the span."""
        palette = self.look.palette
        words = "Undo from here?" if self._preview.scope else "Redo?"
        right = [(self.look.words(self._span), palette.style("muted", "surface"))] if self._span else []
        return [(words, palette.style("text", "surface", bold=True))], right

    def body(self, width: int) -> Sequence[Line]:
        """Return the line about messages, then the files."""
        lines = self._messages(width)
        lines += self._warning(unchanged_files(self._preview), width)
        if self._files:
            lines += [*([[]] if lines else []), *self._file_lines(width)]
            if beside := self._warning(beside_commands(self._preview), width):
                lines += [[], *beside]
            if self._limited is not None:
                lines += [[], *self._alternatives(width)]
        elif not lines:
            lines = [[("No file changes.", self.look.palette.style("muted", "surface"))]]
        return lines

    def _alternatives(self, width: int) -> list[Line]:
        """Return the line, or two, about undoing the messages or the files alone, with the keys for it."""
        muted, text = (self.look.palette.style(name, "surface") for name in ("muted", "text"))
        effects = {"undo_conversation": "undo messages, keep files", "undo_files": "undo files, keep messages"}
        keymap = keymap_of(self)
        pairs = [((f"{keymap.first(action)}  ", text), (f"{words}   ", muted)) for action, words in effects.items()]
        first: Line = [("Or".ljust(LABEL), muted), *pairs[0]]
        second: Line = [(" " * LABEL, muted), *pairs[1]]
        return [[*first, *pairs[1]]] if measure([*first, *pairs[1]]) - 3 <= width else [first, second]

    def _messages(self, width: int) -> list[Line]:
        scope = self._preview.scope
        if scope is None:
            return []
        palette = self.look.palette
        muted = palette.style("muted", "surface")
        redo = "Redo is available until you send a new message."
        line: list[Piece] = [
            ("Messages".ljust(LABEL), muted),
            (f"{_removal(scope)} ", palette.style("text", "surface")),
        ]
        if measure([*line, (redo, muted)]) <= width:
            return [[*line, (redo, muted)]]
        return [line, *([(" " * LABEL, muted), (words, muted)] for words in wrap(redo, width - LABEL))]

    def _warning(self, text: str, room: int) -> list[Line]:
        """Return the rows of a warning; none for an empty one."""
        warning = self.look.palette.style("warning", "surface", bold=True)
        signs = [f"{self.look.glyphs.asks} ", "  "]
        return [
            [(signs[number > 0], warning), (row, self.look.palette.style("text", "surface"))]
            for number, row in enumerate(wrap(text[:1].upper() + text[1:], room - 2) if text else [])
        ]

    def _file_lines(self, room: int) -> list[Line]:
        most = room - LABEL - 40
        names = [clip_front(one.path, max(16, most), self.look.glyphs.ellipsis) for one in self._files]
        widest = max(width(name) for name in names)
        pairs = zip(self._files, names, strict=True)
        rows = (self._file(one, pad(name, widest), number == 0, room) for number, (one, name) in enumerate(pairs))
        return [line for lines in rows for line in lines]

    def _file(self, file: UndoneFile, name: str, is_first: bool, room: int) -> list[Line]:
        """Return the row of a file; what is said about it is below where it does not fit."""
        palette, glyphs = self.look.palette, self.look.glyphs
        muted, text = palette.style("muted", "surface"), palette.style("text", "surface")
        is_kept = file.is_left
        fate = palette.style("warning" if is_kept else "text", "surface", bold=is_kept)
        head = "Files".ljust(LABEL - 2) if is_first else " " * (LABEL - 2)
        left: list[Piece] = [
            (head, muted),
            (f"{glyphs.asks if is_kept else ' '} ", palette.style("warning", "surface", bold=True)),
            (f"{file.status} ", muted),
            (f"{name}    ", text),
            (file.fate, fate),
        ]
        note = f": {file.note}" if file.note else ""
        if measure(left) + width(note) <= room:
            left.append((note, muted))
            note = ""
        below = wrap(file.note, room - LABEL - 2) if note else []
        first: Line = [*left, *self._counts(file, room - measure(left))]
        return [first, *([(" " * (LABEL + 2), muted), (words, muted)] for words in below)]

    def _counts(self, file: UndoneFile, room: int) -> list[Piece]:
        """Return two columns at the right: additions end four cells before deletions do."""
        palette, glyphs = self.look.palette, self.look.glyphs
        added = f"{glyphs.plus}{file.additions}" if file.additions else ""
        removed = f"{glyphs.minus}{file.deletions}" if file.deletions else ""
        gap = max(4, len(removed) + 1) - len(removed)
        blank = room - len(added) - gap - len(removed)
        if blank < 1:
            return []
        fill = palette.area("surface")
        return [
            (" " * blank, fill),
            (added, palette.style("diff_add", "surface")),
            (" " * gap, fill),
            (removed, palette.style("diff_del", "surface")),
        ]


def _removal(scope: "UndoScope") -> str:
    """Return what an undo removes from the conversation: `Removes 1 prompt and its response.`"""
    if scope.part_id and not scope.messages:
        return f"Removes {plural(len(scope.parts), 'part')} of this response."
    if not scope.requests:
        return f"Removes {plural(len(scope.messages), 'message')}."
    responses = " and its response" if scope.requests == 1 else " and their responses"
    return f"Removes {plural(scope.requests, 'prompt')}{responses if scope.answers else ''}."
