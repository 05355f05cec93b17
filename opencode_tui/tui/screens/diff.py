"""The diff view: the files that this session changed, one column or side by side; the list of files at the right."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from opencode_tui.schema.diff import FileDiff
from opencode_tui.text.cells import clip_front, pad
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.change_columns import change_columns
from opencode_tui.tui.closing import ClosingOnce
from opencode_tui.tui.diff_cells import code_rows, half_of, unified
from opencode_tui.tui.lasting import Lasting
from opencode_tui.tui.row import Piece, measure
from opencode_tui.tui.screens.diff_body import BEFORE, BEHIND, NOTHING, DiffBody, FileChange, change_of
from opencode_tui.tui.screens.page import PageFoot, PageHead, PageKey, Preview
from opencode_tui.tui.status.header import change_counts

SPLIT = 110
"""Cells of the diff's own width from which two columns are the first choice."""

WIDE, FILES = 120, 40
"""Cells of the screen from which the list of files is shown, and of that list."""

NARROW = 90
"""Cells of the change below which one column is all that can be read, and keys have fewer words."""

LOW = 20
"""Rows of the screen below which the columns are not named."""

SESSION = ("before the session", "now")
TURN = ("before the turn", "behind it")
"""What the two columns show."""


class DiffScreen(Lasting, ClosingOnce[None], inherit_bindings=False):
    """Goes through the files; reads each only when it is looked at."""

    DEFAULT_CSS = """
    DiffScreen { layout: horizontal; background: $background; }
    DiffScreen #diff-left { width: 1fr; height: 100%; }
    DiffScreen DiffBody { height: 1fr; }
    DiffScreen PageFoot { height: 3; }
    DiffScreen Preview { width: 40; height: 100%; display: none; }
    DiffScreen.-wide Preview { display: block; }
    """

    def __init__(
        self, diffs: Sequence[FileDiff], *, is_stacked: bool = False, sides: tuple[str, str] = SESSION
    ) -> None:
        super().__init__()
        self._diffs = diffs
        self._is_stacked = is_stacked
        self._sides = sides
        self._read: dict[int, FileChange] = {}
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
        self.set_class(event.size.width >= WIDE, "-wide")
        self._arrange(is_split=self._room() >= SPLIT and not self._is_stacked)

    def _room(self) -> int:
        """Cells of the change, its margins included."""
        width = self.size.width
        return width - (FILES if width >= WIDE else 0)

    def _arrange(self, *, is_split: bool | None = None, is_wrapped: bool | None = None) -> None:
        body = self.body
        body.show_as(
            is_split=body.is_split if is_split is None else is_split,
            is_wrapped=body.is_wrapped if is_wrapped is None else is_wrapped,
        )
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
        self.body.show(self._read.get(self._at, NOTHING))
        self.head.show(self._heads())
        self.files.redraw()
        self.foot.show(self._keys())

    def _heads(self) -> list[tuple[Sequence[Piece], Sequence[Piece]]]:
        diff, palette = self._diffs[self._at], self.body.look.palette
        title = [(screen_line(diff.file), palette.style("text", bold=True))]
        title.append((f"  file {self._at + 1} of {len(self._diffs)}", palette.style("muted")))
        counts = change_counts(self.body.look, diff.additions, diff.deletions, "background")
        if not self.body.is_split or self.size.height < LOW:
            return [(title, counts)]
        before, after = self._sides
        half = half_of(self._room() - BEFORE - BEHIND) + 2
        return [(title, counts), ((), ()), ([(pad(before, half) + after, palette.style("muted"))], ())]

    def _keys(self) -> list[PageKey]:
        """The keys; with little room those that matter there, in fewer words."""
        is_split, is_wrapped, is_narrow = self.body.is_split, self.body.is_wrapped, self._room() < NARROW
        shown = [
            ("n", "next" if is_narrow else "next change"),
            ("p", "previous"),
            *([("tab", "next file")] if len(self._diffs) > 1 else []),
            *([] if is_narrow else [("u", "unified" if is_split else "side by side")]),
            ("w", ("cut" if is_narrow else "cut lines") if is_wrapped else "wrap"),
            ("escape", "back"),
        ]
        acts = self._acts()
        return [PageKey(key, words, acts[key]) for key, words in shown]

    def _file_list(self, room: int) -> list[list[Piece]]:
        look = self.body.look
        added, removed = sum(one.additions for one in self._diffs), sum(one.deletions for one in self._diffs)
        title = [("Changes", look.palette.style("text", "panel", bold=True))]
        head = _to_edge(title, change_counts(look, added, removed, "panel"), room, look.palette.area("panel"))
        return [head, [], *(self._file(at, room) for at in self._files_in_sight())]

    def _file(self, at: int, room: int) -> list[Piece]:
        diff, look = self._diffs[at], self.body.look
        area = "selection" if at == self._at else "panel"
        letter = {"added": "A", "deleted": "D"}.get(diff.status or "", "M")
        counts = change_columns(look, diff.additions, diff.deletions, area)
        path = clip_front(screen_line(diff.file), room - measure(counts) - 4, look.glyphs.ellipsis)
        left = [
            (f"{letter} ", look.palette.style("muted", area)),
            (path, look.palette.style("text", area, bold=at == self._at)),
        ]
        return _to_edge(left, counts, room, look.palette.area(area))

    def _files_in_sight(self) -> range:
        """The numbers of the files that the list has room for, the shown one among them."""
        rows = max(1, self.files.size.height - 3)
        first = max(0, min(self._at - rows // 2, len(self._diffs) - rows))
        return range(first, min(first + rows, len(self._diffs)))

    def _acts(self) -> Mapping[str, Callable[[], object]]:
        page = max(1, self.body.size.height - 2)
        return {
            "n": lambda: self.body.to_change(1),
            "p": lambda: self.body.to_change(-1),
            "tab": lambda: self._open(self._at + 1),
            "shift+tab": lambda: self._open(self._at - 1),
            "u": lambda: self._arrange(is_split=not self.body.is_split),
            "w": lambda: self._arrange(is_wrapped=not self.body.is_wrapped),
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

    def on_key(self, event: events.Key) -> None:
        """Move, or go back."""
        event.stop()
        act = self._acts().get(event.key)
        if act is not None:
            act()


def _to_edge(left: Sequence[Piece], right: Sequence[Piece], room: int, fill: Style) -> list[Piece]:
    return [*left, (" " * max(1, room - measure(left) - measure(right)), fill), *right]


def _read(diff: FileDiff) -> FileChange:
    text = unified(diff)
    if not text:
        return change_of((), "No lines to show: the file is not text, or too large.")
    return change_of(code_rows(text, diff.file, after=diff.after))
