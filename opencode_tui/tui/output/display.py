"""An app that writes only changed cells to its terminal, and the compositor that draws only changed lines."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.color import ColorSystem
from rich.console import RenderableType
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip

from opencode_tui.tui.output.painter import Canvas, Frame, Pen, Row, pen_of
from opencode_tui.tui.output.pictures import Shown
from opencode_tui.tui.output.printed import Printed
from opencode_tui.tui.output.terminal_output import FRAME, TerminalOutput
from opencode_tui.tui.screen_guards import ShowsFailures

T = TypeVar("T")


class TerminalApp(ShowsFailures, App[T]):
    """Writes frames through the driver's `TerminalOutput`, where it has one."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._capture_stdout = Printed(self._print, stderr=False)  # pyright: ignore[reportAttributeAccessIssue] - used as a file
        self._capture_stderr = Printed(self._print, stderr=True)  # pyright: ignore[reportAttributeAccessIssue]
        self._canvas = Canvas()

    @property
    def shown_rows(self) -> Sequence[Row]:
        """The cells of the screen as they were drawn last; none without a terminal."""
        return self._canvas.rows

    def pen(self, style: Style) -> Pen:
        """Return how a style is written to this terminal."""
        return pen_of(style, self._colors)

    @property
    def _colors(self) -> ColorSystem:
        return self.console._color_system or ColorSystem.TRUECOLOR  # pyright: ignore[reportPrivateUsage] - as Textual's strips do

    def begin_with(self, rows: Sequence[Row]) -> None:
        """Show frames from now on; `rows` is what the terminal shows, empty if that is not known."""
        output = self._output
        is_known = len(rows) == self.size.height and len(rows[0].text) == self.size.width
        if output is not None and output.release(rows if is_known else None) and self._driver is not None:
            self._driver.write(FRAME)

    def own_filters(self) -> Sequence[LineFilter]:
        """Return the filters of the app itself, for what is drawn over an open overlay's background."""
        return super().get_line_filters()

    def on_resize(self, event: events.Resize) -> None:
        """Write the whole screen again: a terminal may have cut or moved it. The size of the event becomes that of now.

        Textual reads the size when a signal comes and posts it a moment later; a signal in between is posted before it.
        """
        size: Size | None = getattr(self._driver, "size_now", lambda: None)()
        if size is not None:
            event.size = event.virtual_size = event.container_size = size
        output = self._output
        if output is not None:
            output.is_unknown = True
            if event.size == self._canvas.size:
                self._show(output, is_urgent=False)

    @property
    def shown_pictures(self) -> Shown:
        """The pictures that the terminal shows; none are shown without a terminal."""
        output = self._output
        return output.pictures if output is not None else Shown()

    @property
    def _output(self) -> TerminalOutput | None:
        output = getattr(self._driver, "output", None)
        return output if isinstance(output, TerminalOutput) else None

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Show an update of the compositor; anything else is written as it is."""
        output = self._output
        if output is None or renderable is None or not isinstance(renderable, LayoutUpdate | ChopsUpdate):
            if output is not None and renderable is not None:
                output.is_unknown = True
            super()._display(screen, renderable)
            return
        if self._running and not self._closed and not self._batch_count:
            canvas, line = self._canvas, self._cursor[1]
            canvas.resize(*self.screen.outer_size)
            before = canvas.rows[line : line + 1]
            canvas.draw(renderable, self._colors)
            self._show(output, is_urgent=canvas.rows[line : line + 1] != before)
        self.post_display_hook()

    def echo(self, character: str, cursor: tuple[int, int], first: int) -> None:
        """Show a character before the widget gets it that draws it at the cursor, in a text that begins at column `first`.

        The frame that the widget causes then finds nothing to change. Nothing is shown where the cells do not say how.
        """
        output, (x, y) = self._output, cursor
        if output is not None and not self._batch_count and self._canvas.echo(character, x, y, first):
            self._show(output, is_urgent=True, cursor=(x + 1, y))

    @property
    def _cursor(self) -> tuple[int, int]:
        """The column and row of the cursor: Textual's own value is outdated after a layout."""
        position = getattr(self.focused, "cursor_screen_offset", self.cursor_position)
        return self.screen.outer_size.clamp_offset(position)

    def _show(self, output: TerminalOutput, *, is_urgent: bool, cursor: tuple[int, int] | None = None) -> None:
        frame = Frame([*self._canvas.rows], cursor or self._cursor, self._sync_available, is_urgent)
        if output.show(frame) and self._driver is not None:
            self._driver.write(FRAME)


class LineCompositor(Compositor):
    """Draws the rows that are seen, and of an update those that changed; Textual's draws all rows of all widgets."""

    _changed: frozenset[Region] | None = None
    """The regions of a partial update while it is drawn."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return the update of the regions that changed, None if none did."""
        self._changed = frozenset(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = None

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if self._changed is None:
            yield from self._seen_renders(self.size.region if crop is None else crop)
            return
        for changed in self._changed:
            lines = Region(0, changed.y, self.size.width, changed.height)
            for widget, (region, clip) in self.visible_widgets.items():
                seen = region.intersection(clip).intersection(lines)
                if seen and seen.overlaps(changed):
                    yield region, seen, widget.render_lines(seen.translate(-region.offset))
                    if seen.contains_region(changed):
                        break

    def _seen_renders(self, crop: Region) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """Draw the rows of each widget that the widgets in front of it do not cover completely."""
        covered = [0] * self.size.height
        """A bit for each column of each row."""
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip).intersection(crop)
            own = _columns(seen.x, seen.width)
            for first, height in _runs([y for y in seen.line_range if own & ~covered[y]]):
                rows = Region(seen.x, first, seen.width, height)
                strips = widget.render_lines(rows.translate(-region.offset))
                yield region, rows, strips
                for y, strip in zip(rows.line_range, strips, strict=False):  # fewer and shorter ones leave cells free
                    covered[y] |= _columns(seen.x, min(seen.width, strip.cell_length))


class LineScreen(Screen[T]):
    """A screen that is drawn by a `LineCompositor`."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = LineCompositor()


class DismissOnce(LineScreen[T]):
    """A screen that ignores a second `dismiss` while it closes."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close the screen, unless it is closed already."""
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()


def _columns(x: int, width: int) -> int:
    """Return the bits of these columns."""
    return ((1 << width) - 1) << x


def _runs(rows: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield the first row and the length of each run of consecutive rows."""
    first = 0
    for at, row in enumerate(rows):
        if at and row != rows[at - 1] + 1:
            yield rows[first], at - first
            first = at
    if rows:
        yield rows[first], len(rows) - first
