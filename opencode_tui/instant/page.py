"""The page of the first frame: cells in a file that the last start wrote, or a plain form with the prompt alone."""

import os
import sys

from opencode_tui import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Pen = tuple[str, str, str]
    """The attributes, the foreground and the background as parameters of SGR."""
    Cell = tuple[str, Pen]
    """A character, empty in the second cell of a wide one, and its pen."""

SWITCH, OFF = "OPENCODE_TUI_FIRST_FRAME", ("0", "false")
"""The variable that switches the first frame off, and its values that do; the settings are not read yet."""

FORMAT = "opencode-tui page 1"

_ENVIRONMENT = (
    *("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "STY", "TMUX", "LC_ALL", "LC_CTYPE", "LANG", "PYTHONIOENCODING"),
    *("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
    *("OPENCODE_CONFIG_CONTENT", "OPENCODE_TUI_STILL", "OPENCODE_DISABLE_PROJECT_CONFIG"),
)
"""Variables that the look of the page depends on."""

_FIELD, _RUN = "\x1e", "\x1f"
_MAX_BYTES = 1_000_000
_COMPACT_ROWS, _COMPACT_COLUMNS = 26, 80
_VAST, _WIDE, _MIDDLE = (180, 52), (140, 40), (120, 36)
"""Columns from which there is a sidebar, and its cells."""
_BAR = 3
_LEAST_ROW = 4
"""The row of the prompt in the lowest windows, where the header keeps its rows and the status line goes."""

HINT = "Ask anything"
"""What the empty prompt shows first."""


class Run:
    """Cells of one style in a row."""

    __slots__ = ("column", "pen", "text")

    def __init__(self, column: int, pen: "Pen", text: str) -> None:
        self.column = column
        self.pen = pen
        self.text = text


class Page:
    """The rows of the screen, and where and how the typed text is drawn in them."""

    def __init__(
        self,
        size: "tuple[int, int]",
        rows: "list[list[Run]]",
        *,
        prompt: "tuple[int, int, int]",
        pens: "tuple[Pen, Pen]",
        is_echoing: bool,
        is_dark: bool | None,
        erases: bool = False,
    ) -> None:
        self.size = size
        """Columns and rows."""
        self.rows = rows
        self.prompt = prompt
        """Column, row and cells of the prompt's line."""
        self.pens = pens
        """The pens of typed text and of the cursor."""
        self.is_echoing = is_echoing
        """Whether keys have their usual meaning, so that they can be shown."""
        self.is_dark = is_dark
        """Whether the terminal's background was dark; None in the plain form, which no start has written."""
        self.erases = erases
        """Whether the terminal erases cells in the current background."""

    def draw(self) -> str:
        """Return what writes the page on an empty screen."""
        pieces: list[str] = []
        before: Pen | None = None
        for y, row in enumerate(self.rows, 1):
            for run in row:
                pieces.append(f"\x1b[{y};{run.column + 1}H")
                if run.pen != before:
                    pieces.append(sgr(run.pen))
                    before = run.pen
                is_erased = self.erases and run is row[-1] and not run.pen[0] and run.text.isspace()
                pieces.append("\x1b[K" if is_erased else run.text)
        return "".join(pieces)

    def hint_cells(self) -> "list[Cell]":
        """Return the cells of the prompt's line as long as it is empty."""
        x, y, width = self.prompt
        cells = [(" ", ("", "", ""))] * (x + width)
        for run in self.rows[y] if y < len(self.rows) else ():
            cells[run.column : run.column + len(run.text)] = [(letter, run.pen) for letter in run.text]
        return cells[x : x + width]


def is_on(environ: "Mapping[str, str]") -> bool:
    """Return whether the first frame is not switched off."""
    return environ.get(SWITCH) not in OFF


def sgr(pen: "Pen") -> str:
    """Return the sequence that selects a pen, whatever was selected before."""
    return f"\x1b[{';'.join(('0', *filter(None, pen)))}m"


def page_folder(environ: "Mapping[str, str]") -> str:
    """Return the folder of the pages, in the cache folder of the program; it may not exist."""
    cache = environ.get("XDG_CACHE_HOME", "")
    return os.path.join(
        cache if os.path.isabs(cache) else os.path.expanduser("~/.cache"), "opencode-tui", "first-frame"
    )


def _key(environ: "Mapping[str, str]", folder: str, size: "tuple[int, int]") -> str:
    """Return all that a page is for, in one line."""
    values = [environ.get(name) for name in _ENVIRONMENT]
    return ascii((__version__, sys.version_info[:3], folder, size, values))


def page_path(environ: "Mapping[str, str]", folder: str, size: "tuple[int, int]") -> str:
    """Return the path of the page of a working folder in a terminal of this size."""
    number = 0xCBF29CE484222325  # FNV-1a: a name, no protection; the whole key is in the file
    for byte in _key(environ, folder, size).encode():
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return os.path.join(page_folder(environ), f"{number:016x}")


def describe(path: str) -> str:
    """Return what a file or folder is like now; it changes when the file does."""
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


def format_page(page: Page, environ: "Mapping[str, str]", folder: str, sources: "Iterable[str]") -> str:
    """Return the content of a page's file; a change of one of the files in `sources` invalidates it."""
    lines = [
        FORMAT,
        _key(environ, folder, page.size),
        _FIELD.join(f"{path}{_RUN}{describe(path)}" for path in sources),
        " ".join(map(str, (*page.prompt, int(page.is_echoing), int(page.is_dark is not False), int(page.erases)))),
        _RUN.join(":".join(pen) for pen in page.pens),
        *(_FIELD.join(f"{run.column}{_RUN}{':'.join(run.pen)}{_RUN}{run.text}" for run in row) for row in page.rows),
        "end",
    ]
    return "\n".join(lines)


def read_page(environ: "Mapping[str, str]", folder: str, size: "tuple[int, int]") -> Page | None:
    """Return the page of the last start; None when there is none, or it is damaged or older than what it depends on."""
    try:
        file = os.open(page_path(environ, folder, size), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            about = os.fstat(file)
            if about.st_uid != os.getuid() or about.st_mode & 0o077 or about.st_size > _MAX_BYTES:
                return None
            text = os.read(file, _MAX_BYTES).decode()
        finally:
            os.close(file)
        return _parse(text.split("\n"), _key(environ, folder, size), size)
    except (OSError, ValueError):
        return None


def _parse(lines: "list[str]", key: str, size: "tuple[int, int]") -> Page | None:
    """Return the page of a file's lines, None when it is not for this start. Raises ValueError for damaged ones."""
    if len(lines) != size[1] + 6 or (lines[0], lines[1], lines[-1]) != (FORMAT, key, "end"):
        return None
    for source in filter(None, lines[2].split(_FIELD)):
        path, state = source.split(_RUN)
        if describe(path) != state:
            return None
    x, y, width, is_echoing, is_dark, erases = map(int, lines[3].split(" "))
    if not (0 < x < x + width <= size[0] and 0 <= y < size[1]):
        raise ValueError("the prompt is not on the screen")
    pen, cursor = map(_pen, lines[4].split(_RUN))
    rows = [[_run(one, size[0]) for one in line.split(_FIELD) if one] for line in lines[5:-1]]
    return Page(
        size,
        rows,
        prompt=(x, y, width),
        pens=(pen, cursor),
        is_echoing=bool(is_echoing),
        is_dark=bool(is_dark),
        erases=bool(erases),
    )


def _run(words: str, columns: int) -> Run:
    column, pen, text = words.split(_RUN)
    if not (0 <= int(column) < columns and text.isprintable() and len(text) <= 4 * columns):
        raise ValueError("cells that cannot be shown")
    return Run(int(column), _pen(pen), text)


def _pen(words: str) -> "Pen":
    """Return a pen; only numbers reach the terminal."""
    attributes, foreground, background = words.split(":")
    for part in (attributes, foreground, background):
        if part and not (part.isascii() and part.replace(";", "").isdigit()):
            raise ValueError("no parameters of SGR")
    return attributes, foreground, background


def plain_page(size: "tuple[int, int]") -> Page:
    """Return the prompt alone, in the terminal's own colors, where the start page has it."""
    columns, rows = size
    is_compact = rows < _COMPACT_ROWS or columns < _COMPACT_COLUMNS
    sidebar = next((cells for least, cells in (_VAST, _WIDE, _MIDDLE) if columns >= least), 0)
    width = max(1, columns - sidebar - _BAR - 2)
    y = max(_LEAST_ROW, rows - (3 if is_compact else 4))
    none, cursor = ("", "", ""), ("7", "", "")
    line = [Run(_BAR, cursor, " "), Run(_BAR + 1, none, HINT[: width - 1])]
    drawn = [line if at == y else [] for at in range(rows)]
    return Page(size, drawn, prompt=(_BAR, y, width), pens=(none, cursor), is_echoing=width > len(HINT), is_dark=None)
