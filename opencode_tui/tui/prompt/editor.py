"""The editor of the prompt: several lines, keys by action ID, without control characters."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Mapping
from contextlib import suppress

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from opencode_tui.text.cells import width
from opencode_tui.text.safe_text import spell_flags
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.widgets.row import row

MARKER = re.compile(r"\[(?:Pasted|Image|File) [^\]\n]{1,40}\]")
"""The marker of an attachment."""

_REFERENCE = re.compile(r"(?:^|\s)@\S+ $")
"""A reference to a file with the space after it that a completion inserts."""

_IMAGE_PATH = re.compile(r"(?:file://)?[^\n]{1,1000}\.(?:png|jpe?g|gif|webp)['\"]?", re.IGNORECASE)
"""A pasted text that may be the path of an image, as terminals paste a dropped file."""


def is_large(text: str) -> bool:
    """Return whether a paste is too large for the prompt."""
    return len(text) > BIG_PASTE_LENGTH or max(text.count("\n"), text.count("\r")) >= BIG_PASTE_LINES


def marker_at(line: str, column: int) -> str:
    """Return the marker at or next to a column; empty if there is none."""
    return next((one.group() for one in MARKER.finditer(line) if one.start() <= column <= one.end()), "")


def marker_before(line: str, column: int) -> str:
    """Return the marker that ends at a column; empty when none does."""
    return next((one.group() for one in MARKER.finditer(line) if one.end() == column), "")


def marker_after(line: str, column: int) -> str:
    """Return the marker that starts at a column; empty when none does."""
    return next((one.group() for one in MARKER.finditer(line) if one.start() == column), "")


def last_marker(text: str, known: Container[str]) -> str:
    """Return the last known marker in a text; empty when there is none."""
    found = [one.group() for one in MARKER.finditer(text) if one.group() in known]
    return found[-1] if found else ""


HINTS = ("Ask anything", "/ commands", "@ files", "! shell")
BIG_PASTE_LINES = 5
BIG_PASTE_LENGTH = 1_000
"""A paste with more lines or characters becomes an attachment."""

WRITTEN_S = 0.5
"""Maximum seconds that a key waits for the characters before it."""


class Editor(ErrorBoundary, TextArea, inherit_bindings=False):
    """Text of the prompt. The keymap maps keys to actions, which `apply` executes; characters are inserted."""

    class Pasted(Message):
        """What may be the path of an image was pasted; `text` is unsafe."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Opened(Message):
        """An attachment's marker was clicked."""

        def __init__(self, marker: str) -> None:
            super().__init__()
            self.marker = marker

    restored_text = ""
    """The text that an undo put here. A slash typed behind it replaces it: the next command is not a part of that prompt."""

    typed_at: int | None = None
    """When the last key for the editor came, in ms of a monotonic clock; set for the prompt's."""

    is_secret = False
    """Whether characters are drawn as bullets, and pastes are never attachments."""

    hints: tuple[str, ...] = HINTS
    """The hints that the empty editor shows."""

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, tab_behavior="focus", show_line_numbers=False, highlight_cursor_line=False)
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self._acts = self._table()
        self.submit: Callable[[], object] = lambda: None
        """Sends the text. Called at once: in the queue of the editor, characters behind the key would be sent too."""
        self.attach_large: Callable[[str], object] = self.put_in
        """Inserts the marker of a large paste."""
        self.writes_out_pastes = False

    def on_key(self, event: events.Key) -> None:
        """Change the text before a character that does more than appear."""
        if event.character == "#" and _REFERENCE.search(self.before_cursor):
            self.action_delete_left()  # the lines of a file belong to its name: `@parser.py#L3-5`
        elif event.character == "/":
            self._make_way_for_command()

    def on_hide(self, event: events.Hide) -> None:
        """Keep the focus if the editor is shown again meanwhile: a panel may be shown for a moment in its place."""
        if all(one.display for one in self.ancestors_with_self):
            event.prevent_default()

    def on_mount(self) -> None:
        """Draw the cursor and the selection in the colors of the look."""
        self.restyle()

    def restyle(self) -> None:
        """Apply another look."""
        palette = look_of(self).palette
        selected = palette.style("text", "selection")
        theme = TextAreaTheme(name="prompt", cursor_style=Style(reverse=True), selection_style=selected)
        self.register_theme(theme)
        self.theme = "css"
        self.theme = "prompt"

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows of a region; blank ones once the editor is removed: a frame may come before the next layout."""
        if self.parent is None:
            return [Strip.blank(crop.width)] * crop.height
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one row; in an empty editor the hints."""
        if y == 0 and not self.document.text and self.hints:
            return self._hint_row()
        return super().render_line(y)

    def get_line(self, line_index: int) -> Text:
        """Return a line for drawing, exactly as typed; flags are drawn as characters."""
        if self.is_secret:
            return Text(look_of(self).glyphs.bullet * len(self.document.get_line(line_index)), end="", no_wrap=True)
        return Text(spell_flags(self.document.get_line(line_index)), end="", no_wrap=True)

    def show_hints(self, hints: tuple[str, ...]) -> None:
        """Set the hints of the empty editor."""
        if hints != self.hints:
            self.hints = hints
            self.refresh()

    def _hint_row(self) -> Strip:
        palette = look_of(self).palette
        muted = palette.style("muted", "surface")
        cursor = Style(reverse=True) if self._draw_cursor else Style.null()
        width = self.size.width
        shown = list(self.hints)
        while len(shown) > 1 and sum(map(len, shown)) + 4 * (len(shown) - 1) + 2 > width:
            shown.pop()
        return row(
            width, [(" ", palette.area("surface") + cursor), ("    ".join(shown), muted)], fill=palette.area("surface")
        )

    def can(self, action_id: str) -> bool:
        """Return whether the editor handles this action now; without text some keys have other actions."""
        if action_id not in self._acts:
            return False
        if action_id in _ONLY_WITH_TEXT:
            return bool(self.document.text)
        return True

    async def written(self) -> None:
        """Wait until typed characters are in the editor: the meaning of a key may depend on them."""
        await handled(self)

    def apply(self, action_id: str) -> None:
        """Execute an `input_…` action."""
        self._acts[action_id]()

    @property
    def is_at_top(self) -> bool:
        """Return whether the cursor is in the first row."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def is_at_bottom(self) -> bool:
        """Return whether the cursor is in the last row."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.wrapped_document.height - 1

    @property
    def before_cursor(self) -> str:
        """The text of the cursor's line up to it."""
        line, column = self.cursor_location
        return self.document.get_line(line)[:column]

    def echo_cell(self, character: str) -> tuple[int, int] | None:
        """Return the column and row of the screen where a typed character is drawn; None if more than that changes."""
        line, column = self.cursor_location
        x, y = self.cursor_screen_offset
        is_plain = not (self.is_secret or self.read_only or character == "#") and width(character) == 1
        is_at_end = self.selection.is_empty and column == len(self.document.get_line(line))
        area = self.content_region
        return (x, y) if is_plain and is_at_end and area.x < x < area.right - 1 and area.y <= y < area.bottom else None

    def continue_line(self) -> bool:
        """Replace a backslash before the cursor at the end of the text by a new line; return whether there was one."""
        line, column = self.cursor_location
        if not self.before_cursor.endswith("\\") or self.cursor_location != self.document.end:
            return False
        self.replace("\n", (line, column - 1), (line, column))
        self.move_cursor(self.document.end)
        return True

    def put(self, text: str) -> None:
        """Replace the text and move the cursor to the end; can be undone."""
        self.replace(clean(text), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def put_in(self, text: str) -> None:
        """Insert a text at the cursor."""
        result = self.replace(clean(text), *self.selection)
        self.move_cursor(result.end_location)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def _make_way_for_command(self) -> None:
        if self.restored_text and self.text == self.restored_text and self.cursor_location == self.document.end:
            self.put("")

    def paste(self, text: str) -> None:
        """Insert a pasted text; a large one becomes an attachment, unless the settings disable that."""
        if text.startswith("/"):
            self._make_way_for_command()
        if self.writes_out_pastes or self.is_secret:
            self.put_in(text)
            return
        if is_large(text):
            self.attach_large(text)  # at once: characters behind the paste come behind its marker
        elif _IMAGE_PATH.fullmatch(text.strip()):
            self.post_message(self.Pasted(text))
        else:
            self.put_in(text)

    def _table(self) -> Mapping[str, Callable[[], object]]:
        return {
            "input_submit": lambda: self.submit(),
            "input_newline": lambda: self.put_in("\n"),
            "input_clear": lambda: self.put(""),
            "input_move_left": self.action_cursor_left,
            "input_move_right": self.action_cursor_right,
            "input_move_up": self.action_cursor_up,
            "input_move_down": self.action_cursor_down,
            "input_select_left": lambda: self.action_cursor_left(True),
            "input_select_right": lambda: self.action_cursor_right(True),
            "input_select_up": lambda: self.action_cursor_up(True),
            "input_select_down": lambda: self.action_cursor_down(True),
            "input_line_home": self.action_cursor_line_start,
            "input_line_end": self.action_cursor_line_end,
            "input_select_line_home": lambda: self.action_cursor_line_start(True),
            "input_select_line_end": lambda: self.action_cursor_line_end(True),
            "input_visual_line_home": lambda: self.move_cursor(self._row_edges()[0]),
            "input_visual_line_end": lambda: self.move_cursor(self._row_edges()[1]),
            "input_select_visual_line_home": lambda: self.move_cursor(self._row_edges()[0], select=True),
            "input_select_visual_line_end": lambda: self.move_cursor(self._row_edges()[1], select=True),
            "input_buffer_home": lambda: self.move_cursor((0, 0)),
            "input_buffer_end": lambda: self.move_cursor(self.document.end),
            "input_select_buffer_home": lambda: self.move_cursor((0, 0), select=True),
            "input_select_buffer_end": lambda: self.move_cursor(self.document.end, select=True),
            "input_delete_line": self.action_delete_line,
            "input_delete_to_line_end": self.action_delete_to_end_of_line,
            "input_delete_to_line_start": self.action_delete_to_start_of_line,
            "input_backspace": self.backspace,
            "input_delete": self.delete_right,
            "input_undo": self.action_undo,
            "input_redo": self.action_redo,
            "input_word_forward": self.action_cursor_word_right,
            "input_word_backward": self.action_cursor_word_left,
            "input_select_word_forward": lambda: self.action_cursor_word_right(True),
            "input_select_word_backward": lambda: self.action_cursor_word_left(True),
            "input_delete_word_forward": self.action_delete_word_right,
            "input_delete_word_backward": self.action_delete_word_left,
        }

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:
        """Return the start of the line, also of one that is wrapped; Textual's is that of the visual row."""
        line, column = self.cursor_location
        text = self.document.get_line(line)
        indent = len(text) - len(text.lstrip()) if text.strip() else 0
        return (line, indent if smart_home and (column == 0 or column > indent) else 0)

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        """Return the end of the line, also of one that is wrapped."""
        line = self.cursor_location[0]
        return line, len(self.document.get_line(line))

    def _row_edges(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the start and end of the visual row; a long line has several."""
        line, column = self.cursor_location
        starts = [0, *self.wrapped_document.get_offsets(line), len(self.document.get_line(line)) + 1]
        at = max(0, bisect_right(starts, column) - 1)
        return (line, starts[at]), (line, starts[at + 1] - 1)

    def backspace(self) -> None:
        """Delete to the left; an attachment's marker is deleted completely."""
        line, column = self.cursor_location
        marker = marker_before(self.document.get_line(line), column) if self.selection.is_empty else ""
        if marker:
            self.delete((line, column - len(marker)), (line, column))
        else:
            self.action_delete_left()

    def delete_right(self) -> None:
        """Delete to the right; an attachment's marker is deleted completely."""
        line, column = self.cursor_location
        marker = marker_after(self.document.get_line(line), column) if self.selection.is_empty else ""
        if marker:
            self.delete((line, column), (line, column + len(marker)))
        else:
            self.action_delete_right()

    def on_click(self, event: events.Click) -> None:
        """Open the attachment whose marker is clicked."""
        line, column = self.get_target_document_location(event)
        marker = marker_at(self.document.get_line(line), column)
        if marker and self.selection.is_empty:
            self.post_message(self.Opened(marker))


async def handled(widget: MessagePump) -> None:
    """Wait until a widget has handled the messages that it has now, at most `WRITTEN_S`."""
    done = asyncio.Event()
    if widget.call_later(done.set):
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), WRITTEN_S)


_ONLY_WITH_TEXT = frozenset({"input_delete", "input_clear", "input_buffer_home", "input_buffer_end"})
