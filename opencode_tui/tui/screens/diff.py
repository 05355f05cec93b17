"""The diff view: the files that this session changed, one column or side by side; the list of files at the right."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.strip import Strip

from opencode_tui.schema.diff import FileDiff
from opencode_tui.tui.cells import clip_front
from opencode_tui.tui.diff_cells import CodeRow, change_starts, code_rows, one_column, two_columns, unified
from opencode_tui.tui.lasting import Lasting
from opencode_tui.tui.row import Piece
from opencode_tui.tui.rows import Rows
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.screens.page import PageFoot, PageHead, PageKey, Preview
from opencode_tui.tui.status.header import change_counts

SPLIT = 110
"""Cells of the diff's own width from which two columns are the first choice."""


class DiffBody(Rows, can_focus=True):
    """One file's change, scrolled by rows."""

    def __init__(self) -> None:
        super().__init__()
        self.code: Sequence[CodeRow] = ()
        self.note = ""
        self.is_split = False
        self.top = 0

    def show(self, code: Sequence[CodeRow], note: str) -> None:
        """Take another file's rows, or a note in their place."""
        self.code, self.note, self.top = code, note, 0
        self.redraw()

    def scroll(self, rows: int) -> None:
        """Move; it stops at its ends."""
        count = len(self._all(self.size.width))
        self.top = min(max(0, self.top + rows), max(0, count - self.size.height))
        self.redraw()

    def to_change(self, step: int) -> None:
        """Go to the next change, or the one before."""
        starts = change_starts(self.code, is_split=self.is_split)
        found = [at for at in starts if at > self.top + 2] if step > 0 else [at for at in starts if at < self.top + 2]
        if found:
            self.top = max(0, (found[0] if step > 0 else found[-1]) - 2)
            self.scroll(0)

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self.scroll(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll."""
        self.scroll(-3)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The rows in sight."""
        return self._all(width)[self.top : self.top + height]

    def _all(self, width: int) -> list[Strip]:
        palette = self.look.palette
        fill = palette.area("background")
        room = width - 5
        draw = two_columns if self.is_split else one_column
        strips = draw(self.code, self.look, room, "background")
        if self.note:
            strips = [Strip.blank(0), *[_text(self.note, room, palette.style("muted"))]]
        edge, end = Strip.blank(3, fill), Strip.blank(2, fill)
        return [Strip.join([edge, one.adjust_cell_length(room, fill), end]) for one in strips]


class DiffScreen(Lasting, Screen[None], inherit_bindings=False):
    """Goes through the files; reads each only when it is looked at."""

    DEFAULT_CSS = """
    DiffScreen { layout: horizontal; background: $background; }
    DiffScreen #diff-left { width: 1fr; height: 100%; }
    DiffScreen DiffBody { height: 1fr; }
    DiffScreen PageFoot { height: 3; }
    DiffScreen Preview { width: 40; height: 100%; display: none; }
    DiffScreen.-wide Preview { display: block; }
    """

    def __init__(self, diffs: Sequence[FileDiff], *, is_stacked: bool = False) -> None:
        super().__init__()
        self._diffs = diffs
        self._is_stacked = is_stacked
        self._read: dict[int, tuple[Sequence[CodeRow], str]] = {}
        self._at = 0
        self.head = PageHead()
        self.body = DiffBody()
        self.foot = PageFoot()
        self.files = Preview()

    def compose(self) -> ComposeResult:
        """The change at the left, the files at the right."""
        with Horizontal():
            with Vertical(id="diff-left"):
                yield self.head
                yield self.body
                yield self.foot
            yield self.files

    def on_mount(self) -> None:
        """Show the first file."""
        self.body.focus()
        self.files.show(self._file_list)
        self._open(0)

    def on_resize(self, event: events.Resize) -> None:
        """Show the files where there is room, two columns where those have room."""
        self.set_class(event.size.width >= 120, "-wide")
        has_room = event.size.width - (40 if event.size.width >= 120 else 0) >= SPLIT
        self.body.is_split = has_room and not self._is_stacked
        self._show()

    def _open(self, at: int) -> None:
        self._at = at % len(self._diffs)
        self._show()
        if self._at not in self._read:
            self.run_worker(self._load(self._at), exclusive=True, exit_on_error=False)

    async def _load(self, at: int) -> None:
        self._read[at] = await asyncio.to_thread(_read, self._diffs[at])
        if at == self._at:
            self._show()

    def _show(self) -> None:
        diff = self._diffs[self._at]
        code, note = self._read.get(self._at, ((), ""))
        self.body.show(code, note)
        palette = self.body.look.palette
        left: list[Piece] = [(screen_line(diff.file), palette.style("text", bold=True))]
        left.append((f"  file {self._at + 1} of {len(self._diffs)}", palette.style("muted")))
        self.head.show([(left, change_counts(self.body.look, diff.additions, diff.deletions, "background"))])
        self.files.redraw()
        self.foot.show(
            [
                PageKey("n", "next change", lambda: None),
                PageKey("p", "previous", lambda: None),
                PageKey("tab", "next file", lambda: None),
                PageKey("u", "one column" if self.body.is_split else "side by side", lambda: None),
                PageKey("escape", "back", lambda: None),
            ]
        )

    def _file_list(self, room: int) -> list[list[Piece]]:
        look = self.body.look
        palette = look.palette
        added, removed = sum(one.additions for one in self._diffs), sum(one.deletions for one in self._diffs)
        bold = palette.style("text", "panel", bold=True)
        lines: list[list[Piece]] = [[("Changes   ", bold), *change_counts(look, added, removed, "panel")], []]
        for at, diff in enumerate(self._diffs):
            area = "selection" if at == self._at else "panel"
            letter = {"added": "A", "deleted": "D"}.get(diff.status or "", "M")
            counts = change_counts(look, diff.additions, diff.deletions, area)
            used = sum(len(text) for text, _ in counts)
            path = clip_front(screen_line(diff.file), room - used - 4, look.glyphs.ellipsis)
            fill = " " * max(1, room - 2 - len(path) - used)
            text = palette.style("text", area, bold=at == self._at)
            lines.append(
                [(f"{letter} ", palette.style("muted", area)), (path, text), (fill, palette.area(area)), *counts]
            )
        return lines

    def _acts(self) -> Mapping[str, Callable[[], object]]:
        page = max(1, self.body.size.height - 2)
        return {
            "n": lambda: self.body.to_change(1),
            "p": lambda: self.body.to_change(-1),
            "tab": lambda: self._open(self._at + 1),
            "shift+tab": lambda: self._open(self._at - 1),
            "u": self._toggle,
            "up": lambda: self.body.scroll(-1),
            "k": lambda: self.body.scroll(-1),
            "down": lambda: self.body.scroll(1),
            "j": lambda: self.body.scroll(1),
            "pageup": lambda: self.body.scroll(-page),
            "pagedown": lambda: self.body.scroll(page),
            "space": lambda: self.body.scroll(page),
            "home": lambda: self.body.scroll(-(10**9)),
            "end": lambda: self.body.scroll(10**9),
            "escape": lambda: self.dismiss(None),
            "q": lambda: self.dismiss(None),
            "ctrl+c": lambda: self.dismiss(None),
        }

    def _toggle(self) -> None:
        self.body.is_split = not self.body.is_split
        top = self.body.top
        self._show()
        self.body.scroll(top)

    def on_key(self, event: events.Key) -> None:
        """Move, or go back."""
        event.stop()
        act = self._acts().get(event.key)
        if act is not None:
            act()


def _read(diff: FileDiff) -> tuple[Sequence[CodeRow], str]:
    text = unified(diff)
    if not text:
        return (), "No lines to show: the file is not text, or too large."
    return code_rows(text, diff.file), ""


def _text(words: str, room: int, style: Style) -> Strip:
    return Strip([Segment(words[:room], style)])
