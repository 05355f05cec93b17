"""The undo panel: which messages go, what becomes of each file and why, then the keys."""

from collections.abc import Callable, Sequence
from pathlib import Path

from opencode_tui.schema.session.undo import RevertPreview
from opencode_tui.text.cells import clip_front, pad, width
from opencode_tui.text.quantity import plural
from opencode_tui.text.undo import UndoneFile, undone_files
from opencode_tui.tui.dialogs.panel import Line, Panel, PanelKey
from opencode_tui.tui.widgets.row import Piece, measure

LABEL = 10
"""Cells of `Messages  ` and `Files     `."""


class UndoPanel(Panel):
    """`span` says which stretch goes; without a scope it is about redo. `show` opens what the stretch changed."""

    def __init__(
        self,
        preview: RevertPreview,
        *,
        root: Path,
        span: str,
        act: Callable[[], object],
        back: Callable[[], object],
        show: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._preview = preview
        self._files = undone_files(preview, root)
        self._span = span
        is_undo = preview.scope is not None
        self._keys = (
            PanelKey("y", "undo" if is_undo else "redo", act),
            *((PanelKey("d", "show the diff", show),) if show is not None and self._files else ()),
            PanelKey("escape", "keep everything" if is_undo else "stay as it is", back),
        )

    @property
    def keys_of_panel(self) -> Sequence[PanelKey]:
        """Do it, or keep everything."""
        return self._keys

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """The question; at the right the stretch."""
        palette = self.look.palette
        words = "Undo everything after this point?" if self._preview.scope else "Bring back what was undone?"
        right = [(self.look.words(self._span), palette.style("muted", "surface"))] if self._span else []
        return [(words, palette.style("text", "surface", bold=True))], right

    def body(self, width: int) -> Sequence[Line]:
        """Messages, then files."""
        lines = self._messages()
        if self._files:
            lines += [*([[]] if lines else []), *self._file_lines(width)]
        elif not lines:
            lines = [[("No file changes.", self.look.palette.style("muted", "surface"))]]
        return lines

    def _messages(self) -> list[Line]:
        scope = self._preview.scope
        if scope is None:
            return []
        palette = self.look.palette
        muted = palette.style("muted", "surface")
        told = f"{scope.requests} of yours and {plural(scope.answers, 'answer')} go. "
        if scope.part_id and not scope.messages:
            told = f"{plural(len(scope.parts), 'part')} of this answer {'goes' if len(scope.parts) == 1 else 'go'}. "
        back = "Redo brings them back until you send something new."
        return [[("Messages  ", muted), (told, palette.style("text", "surface")), (back, muted)]]

    def _file_lines(self, room: int) -> list[Line]:
        most = room - LABEL - 40
        names = [clip_front(one.path, max(16, most), self.look.glyphs.ellipsis) for one in self._files]
        widest = max(width(name) for name in names)
        pairs = zip(self._files, names, strict=True)
        return [self._file(one, pad(name, widest), number == 0, room) for number, (one, name) in enumerate(pairs)]

    def _file(self, file: UndoneFile, name: str, is_first: bool, room: int) -> Line:
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
            (f": {file.note}" if file.note else "", muted),
        ]
        return [*left, *self._counts(file, room - measure(left))]

    def _counts(self, file: UndoneFile, room: int) -> list[Piece]:
        """Two columns at the right: additions end four cells before deletions do."""
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
