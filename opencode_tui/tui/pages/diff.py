"""The changes page: the changed files, unified or side by side, with the list of files at the right."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.strip import Strip

from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.cells import clip_front, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.text.diff_rows import unified
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.cells import CodeRow, change_columns, code_rows, half_of
from opencode_tui.tui.diff.folding import ChangeRow, change_rows, in_order
from opencode_tui.tui.diff.layout import NO_LINE, DiffForm, DiffLayout
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.keys.keyed import KeyAction, KeyedScreen
from opencode_tui.tui.output.display import DismissOnce
from opencode_tui.tui.pages.page import NARROW as TWO_ROWS
from opencode_tui.tui.pages.page import PageFoot, PageHead, Preview
from opencode_tui.tui.screen_guards import ErrorBoundary, failure_words
from opencode_tui.tui.widgets.row import Piece, Rows, change_counts, measure, row

LEFT_MARGIN, RIGHT_MARGIN = 3, 2
"""Empty cells at the sides."""
NEAR = 2
"""Rows shown above a change after a jump to it."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's change in both forms, or a note instead."""

    column: DiffForm
    columns: DiffForm
    note: str = ""


def change_of(rows: Sequence[CodeRow], note: str = "") -> FileChange:
    """Return both forms of a file's rows. Blocks, for long with many rows."""
    return FileChange(DiffForm(rows, is_split=False), DiffForm(rows, is_split=True), note)


NOTHING = change_of(())


class DiffBody(Rows, can_focus=True):
    """Shows rows of code, or a note instead."""

    def __init__(self) -> None:
        super().__init__()
        self.is_split = False
        self.is_wrapped = False
        self.top = 0
        self._change = NOTHING
        self._laid: tuple[object, DiffLayout] | None = None
        self._jumped: int | None = None
        """The row of the change that the last jump went to, until the page is scrolled."""

    def show(self, change: FileChange) -> None:
        """Show a file; the same one keeps its scroll position."""
        if change is not self._change:
            self._change, self.top, self._laid, self._jumped = change, 0, None, None
        self.redraw()

    def show_as(self, *, is_split: bool, is_wrapped: bool) -> None:
        """Show another form; the line at the top stays at the top."""
        self._jumped = None
        self.is_split, self.is_wrapped = is_split, is_wrapped
        self._clamp_scroll()

    def scroll(self, rows: int) -> None:
        """Scroll by rows, up to the ends."""
        self.top = min(max(0, self.top + rows), max(0, self._layout().height - self.size.height))
        self._jumped = None if rows else self._jumped
        self.redraw()

    def to_change(self, step: int) -> None:
        """Go to the next or the previous change."""
        starts = self._layout().change_tops()
        here = self.top + NEAR if self._jumped is None else self._jumped  # the last changes cannot come to the top
        at = bisect_right(starts, here) if step > 0 else bisect_left(starts, here) - 1
        if 0 <= at < len(starts):
            self._jumped = starts[at]
            self.top = max(0, starts[at] - NEAR)
            self.scroll(0)

    @property
    def line(self) -> int:
        """The number of the line of the last jump, else of the first visible change, else at the top; 0 without one."""
        layout = self._layout()
        visible = (row for row in layout.change_tops() if self.top <= row < self.top + self.size.height)
        found = layout.line_at(next(visible, self.top) if self._jumped is None else self._jumped)
        return 0 if self._change.note or found == NO_LINE else found

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self.scroll(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll."""
        self.scroll(-3)

    def on_resize(self) -> None:
        """Keep the line at the top."""
        self._clamp_scroll()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the visible rows."""
        palette = self.look.palette
        fill = palette.area("background")
        room = width - LEFT_MARGIN - RIGHT_MARGIN
        if self._change.note:
            strips = [Strip.blank(0), row(room, [(self._change.note, palette.style("muted"))], fill=fill)]
        else:
            strips = self._layout().strips(self.top, height, self.look)
        edge, end = Strip.blank(LEFT_MARGIN, fill), Strip.blank(RIGHT_MARGIN, fill)
        return [Strip.join([edge, one.adjust_cell_length(room, fill), end]) for one in strips]

    def _clamp_scroll(self) -> None:
        before = self._laid
        layout = self._layout()
        if before is not None and before[1] is not layout and self.top:
            self.top = layout.top_of(before[1].line_at(self.top))
        self.scroll(0)

    def _layout(self) -> DiffLayout:
        width = max(20, self.size.width - LEFT_MARGIN - RIGHT_MARGIN)
        key = (self.is_split, self.is_wrapped, width)
        if self._laid is None or self._laid[0] != key:
            form = self._change.columns if self.is_split else self._change.column
            self._laid = (key, DiffLayout(form, is_wrapped=self.is_wrapped, width=width))
        return self._laid[1]


SPLIT = 110
"""Cells of the diff from which it opens side by side."""

WIDE, FILES = 120, 40
"""Cells of the screen from which the list of files is shown, and the cells of that list."""

NARROW = 90
"""Cells of the diff under which only the unified form is readable, and keys have fewer words."""

LOW = 20
"""Rows of the screen under which the columns have no headings."""

SESSION = ("before session", "now")
TURN = ("before turn", "after")
"""Headings of the two columns."""


class DiffScreen(KeyedScreen, ErrorBoundary, DismissOnce[None], inherit_bindings=False):
    """Shows one file at a time and renders each when it is first shown."""

    DEFAULT_CSS = """
    DiffScreen { layout: horizontal; background: $background; }
    DiffScreen #diff-left { width: 1fr; height: 100%; }
    DiffScreen DiffBody { height: 1fr; }
    DiffScreen PageFoot { height: 3; }
    DiffScreen.-narrow PageFoot { height: 4; }
    DiffScreen Preview { width: 40; height: 100%; display: none; }
    DiffScreen.-wide Preview { display: block; }
    """
    scopes = ("page:diff", "page")

    def __init__(
        self,
        diffs: Sequence[FileDiff],
        places: Callable[[], Awaitable[Places]],
        *,
        is_stacked: bool = False,
        sides: tuple[str, str] = SESSION,
    ) -> None:
        """`places` returns the worktree that the files are in."""
        super().__init__()
        self._diffs = in_order(diffs)
        self._rows = change_rows(self._diffs)
        self._places = places
        self._is_stacked = is_stacked
        self._sides = sides
        self._read: dict[int, FileChange] = {}
        self._at = 0
        self.head = PageHead()
        self.body = DiffBody()
        self.foot = PageFoot()
        self.files = Preview()

    def compose(self) -> ComposeResult:
        """Yield the change at the left and the files at the right."""
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
        """Show the list of files and two columns where they fit."""
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.width < TWO_ROWS, "-narrow")
        self._arrange(is_split=self._room() >= SPLIT and not self._is_stacked)

    def _room(self) -> int:
        """Return the cells of the change, margins included."""
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
            self.run_worker(partial(self._load, self._at), exclusive=True, exit_on_error=False)

    def show_failed_work(self, error: Exception) -> None:
        """Show above the keys why a file is not shown."""
        self.foot.show_message(screen_line(failure_words(error)), "error")

    async def _load(self, at: int) -> None:
        self._read[at] = await asyncio.to_thread(_read, self._diffs[at])
        if at == self._at:
            self._show()

    def _show(self) -> None:
        self.body.show(self._read.get(self._at, NOTHING))
        self.head.show(self._heads())
        self.files.redraw()
        self.foot.show(self._actions())

    def _heads(self) -> list[tuple[Sequence[Piece], Sequence[Piece]]]:
        diff, palette = self._diffs[self._at], self.body.look.palette
        counts = change_counts(self.body.look, diff.additions, diff.deletions, "background")
        where = f"  file {self._at + 1} of {len(self._diffs)}"
        room = self._room() - LEFT_MARGIN - RIGHT_MARGIN - 1 - measure(counts) - cells(where)
        path = clip_front(screen_line(diff.file), room, self.body.look.glyphs.ellipsis)
        title = [(path, palette.style("text", bold=True)), (where, palette.style("muted"))]
        if not self.body.is_split or self.size.height < LOW:
            return [(title, counts)]
        before, after = self._sides
        half = half_of(self._room() - LEFT_MARGIN - RIGHT_MARGIN) + 2
        return [(title, counts), ((), ()), ([(pad(before, half) + after, palette.style("muted"))], ())]

    def _actions(self) -> list[KeyAction]:
        """Return the actions with keys to show; on a narrow screen with fewer words."""
        is_split, is_wrapped, is_narrow = self.body.is_split, self.body.is_wrapped, self._room() < NARROW
        wrap = ("diff_wrap", ("truncate" if is_narrow else "truncate lines") if is_wrapped else "wrap")
        opening = ("diff_open", "open" if is_narrow else "open in your editor")
        shown = [
            ("diff_next", "next" if is_narrow else "next change"),
            ("diff_previous", "previous"),
            *([("diff_next_file", "file" if is_narrow else "next file")] if len(self._diffs) > 1 else []),
            ("diff_columns", "unified" if is_split else "side by side"),
            *((wrap, opening) if is_narrow else (opening, wrap)),  # where there is no room, the last is left out
            ("page_close", "back"),
        ]
        actions = self.key_actions()
        return [KeyAction(action_id, words, actions[action_id]) for action_id, words in shown]

    def _file_list(self, room: int) -> list[list[Piece]]:
        look = self.body.look
        added, removed = sum(one.additions for one in self._diffs), sum(one.deletions for one in self._diffs)
        title = [("Changes", look.palette.style("text", "panel", bold=True))]
        head = _to_edge(title, change_counts(look, added, removed, "panel"), room, look.palette.area("panel"))
        return [head, [], *(self._file(one, room) for one in self._visible_files())]

    def _file(self, one: ChangeRow, room: int) -> list[Piece]:
        look, is_shown = self.body.look, one.has(self._at)
        area = "selection" if is_shown else "panel"
        counts = change_columns(look, one.additions, one.deletions, area)
        path = clip_front(one.path, room - measure(counts) - 4 - len(one.words), look.glyphs.ellipsis)
        left = [
            (f"{one.letter} ", look.palette.style("muted", area)),
            (path, look.palette.style("text", area, bold=is_shown)),
            (one.words, look.palette.style("muted", area)),
        ]
        return _to_edge(left, counts, room, look.palette.area(area))

    def _visible_files(self) -> Sequence[ChangeRow]:
        """Return the visible rows of files and folders, the shown file's among them."""
        rows = max(1, self.files.size.height - 3)
        here = next(at for at, one in enumerate(self._rows) if one.has(self._at))
        first = max(0, min(here - rows // 2, len(self._rows) - rows))
        return self._rows[first : first + rows]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the available actions."""
        page = max(1, self.body.size.height - 2)
        return {
            "diff_next": lambda: self.body.to_change(1),
            "diff_previous": lambda: self.body.to_change(-1),
            "diff_next_file": lambda: self._open(self._at + 1),
            "diff_previous_file": lambda: self._open(self._at - 1),
            "diff_columns": lambda: self._arrange(is_split=not self.body.is_split),
            "diff_open": lambda: self.run_worker(self._edit, exclusive=True, group="editor", exit_on_error=False),
            "diff_wrap": lambda: self._arrange(is_wrapped=not self.body.is_wrapped),
            "page_up": lambda: self.body.scroll(-1),
            "page_down": lambda: self.body.scroll(1),
            "page_previous": lambda: self.body.scroll(-page),
            "page_next": lambda: self.body.scroll(page),
            "page_first": lambda: self.body.scroll(-(10**9)),
            "page_last": lambda: self.body.scroll(10**9),
            "page_close": lambda: self.dismiss(None),
        }

    async def _edit(self) -> None:
        """Open the shown file in the user's editor, at the shown line."""
        name, line = self._diffs[self._at].file, self.body.line
        try:
            path = Path((await self._places()).worktree, name)
            if not await asyncio.to_thread(path.is_file):
                self.foot.show_message(
                    f"{screen_line(name)} does not exist any more, or is on another machine", "warning"
                )
            elif await open_file(self, path, line):
                for widget in self.query("*"):
                    widget.refresh()
        except OpencodeError as error:
            self.foot.show_message(screen_line(" ".join(str(error).split())), "error")

    def receive_key(self, event: events.Key) -> None:
        """Handle a key; the message ends."""
        self.foot.show_message("")
        super().receive_key(event)


def _to_edge(left: Sequence[Piece], right: Sequence[Piece], room: int, fill: Style) -> list[Piece]:
    return [*left, (" " * max(1, room - measure(left) - measure(right)), fill), *right]


def _read(diff: FileDiff) -> FileChange:
    text = unified(diff)
    if not text:
        return change_of((), f"No text to show: {diff.note or 'the file is empty or too large'}.")
    return change_of(code_rows(text, diff.file, after=diff.after))
