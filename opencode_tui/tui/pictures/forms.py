"""The pictures of the screen in the form that the terminal shows: its own graphics, half blocks, or the name and size alone."""

import asyncio
import io
import logging
import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from opencode_tui.text.quantity import byte_words
from opencode_tui.tui.output.pictures import MOST, KittyStrips, Shown, SixelStrips, Strips, token_row
from opencode_tui.tui.pictures.header import Header, read_header
from opencode_tui.tui.pictures.sixel import encode
from opencode_tui.tui.state.message import PictureSource

MAX_BYTES = 20_000_000


if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 25_000_000
"""Pixels of a picture that is decoded whole: 100 MB for a moment. A JPEG may have four times as many: it is scaled on reading."""

MAX_SIDE = 16_384
MAX_TEXT = 1 << 20
"""Bytes of comments in a PNG."""


class PictureError(Exception):
    """A picture cannot be shown; the text says why, in a few words."""


def too_large(header: Header) -> bool:
    """Return whether a picture has more pixels than are decoded."""
    most = MAX_PIXELS * (4 if header.kind == "JPEG" else 1)
    return header.width * header.height > most or max(header.width, header.height) > MAX_SIDE


def decode(data: bytes, header: Header, box: tuple[int, int]) -> "Image":
    """Return the picture as RGB, no larger than `box` pixels. Raises PictureError.

    A transparent one is put on white if it is dark itself, else on black.
    """
    try:
        from PIL import Image, ImageOps, PngImagePlugin
    except ImportError as error:
        raise PictureError("to see it: pip install 'opencode-tui[images]'") from error
    if not header.width or not header.height:
        raise PictureError("damaged picture")
    if too_large(header):
        raise PictureError("too large to show")
    PngImagePlugin.MAX_TEXT_MEMORY = PngImagePlugin.MAX_TEXT_CHUNK = MAX_TEXT
    Image.MAX_IMAGE_PIXELS = None  # checked above
    try:
        with Image.open(io.BytesIO(data), formats=[header.kind]) as opened:
            if opened.size != (header.width, header.height):
                raise PictureError("damaged picture")
            opened.draft("RGB", box)
            opened.thumbnail(box, reducing_gap=2.0)
            turned = ImageOps.exif_transpose(opened)
            return _flat(turned)
    except PictureError:
        raise
    except Exception as error:  # a decoder raises nearly anything for a damaged file
        raise PictureError("damaged picture") from error


def _flat(image: "Image") -> "Image":
    """Return the picture without transparency."""
    from PIL import Image, ImageStat

    if not image.has_transparency_data:
        return image.convert("RGB")
    layers = image.convert("RGBA")
    ink = ImageStat.Stat(layers.convert("L"), layers.getchannel("A"))
    is_dark = not ink.count[0] or ink.mean[0] < 128
    ground = Image.new("RGBA", layers.size, "white" if is_dark else "black")
    return Image.alpha_composite(ground, layers).convert("RGB")


if TYPE_CHECKING:
    from PIL.Image import Image

_log = logging.getLogger(__name__)

Kind = Literal["kitty", "sixel", "blocks", "none"]

_KEPT = 64
"""Pictures in the cache, in one size each; no more can be on a screen."""

UPPER_HALF = "▀"


class Terminal(NamedTuple):
    """How the terminal shows pictures; `cell` is the size of a cell in pixels, `colors` those of a sixel image."""

    kind: Kind
    cell: tuple[int, int] = (10, 20)
    colors: int = 256


@dataclass(frozen=True, slots=True)
class Form:
    """A picture that was read: its rows of cells, none where it cannot be shown, and what is said of it."""

    facts: str
    rows: Sequence[Sequence[Segment]] = ()
    columns: int = 0


class _Made(NamedTuple):
    form: Form
    strips: Strips | None = None


_Key = tuple[PictureSource, int, int]


class Pictures:
    """Reads pictures, one at a time in a thread, and keeps their forms."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._terminal: Terminal | None = None
        """None until the terminal has answered: until then nothing is read."""
        self._forms: OrderedDict[_Key, tuple[int, Form]] = OrderedDict()
        self._wanted: OrderedDict[_Key, list[Callable[[], object]]] = OrderedDict()
        self._free = list(range(MOST))
        self._work: asyncio.Task[None] | None = None

    def use(self, terminal: Terminal) -> None:
        """Show pictures in this way from now on."""
        if terminal == self._terminal:
            return
        self._terminal, self._shown.is_kitty = terminal, terminal.kind == "kitty"
        for key in list(self._forms):
            self._evict(key)
        self._start()

    def form(self, source: PictureSource, columns: int, rows: int, ready: Callable[[], object]) -> Form | None:
        """Return a picture that takes at most so many cells; None while it is read, after which `ready` is called."""
        key = (source, min(columns, MOST), min(rows, MOST))
        found = self._forms.get(key)
        if found is not None:
            self._forms.move_to_end(key)
            return found[1]
        self._wanted.setdefault(key, []).append(ready)
        self._start()
        return None

    def _start(self) -> None:
        if self._wanted and self._terminal is not None and (self._work is None or self._work.done()):
            self._work = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        while self._wanted and self._terminal is not None:
            key = next(reversed(self._wanted))  # what became visible last
            number, terminal = self._next_number(), self._terminal
            try:
                made = await asyncio.to_thread(make_form, number, key, terminal)
            except Exception:  # noqa: BLE001 - one picture must not keep the others from being shown
                _log.exception("a picture cannot be shown")
                made = _Made(Form("not shown; see the log"))
            calls = self._wanted.pop(key)
            self._forms[key] = number, made.form
            if made.strips is not None:
                self._shown.put(number, made.strips)
            for ready in calls:
                ready()

    def _next_number(self) -> int:
        while len(self._forms) >= _KEPT:
            self._evict(next(iter(self._forms)))
        return self._free.pop()

    def _evict(self, key: _Key) -> None:
        number, _ = self._forms.pop(key)
        self._shown.put(number, None)
        self._free.insert(0, number)


def make_form(number: int, key: _Key, terminal: Terminal) -> _Made:
    """Return a picture as the terminal shows it. Blocks."""
    source, columns, rows = key
    data = read_source(source)
    header = read_header(data)
    if header is None:
        if data:
            return _Made(Form("unknown format"))
        is_gone = source.is_file and not os.path.exists(source.url)
        return _Made(Form("no longer there" if is_gone else "not readable, or larger than 20 MB"))
    facts = f"{header.width}×{header.height}  {byte_words(len(data))}"
    if terminal.kind == "none":
        return _Made(Form(facts))
    width, height = (1, 2) if terminal.kind == "blocks" else terminal.cell
    try:
        image = decode(data, header, (columns * width, rows * height))
    except PictureError as error:
        return _Made(Form(f"{facts}  {error}"))
    if terminal.kind == "blocks":
        return _Made(Form(facts, _blocks(image), image.width))
    across, down = -(-image.width // width), -(-image.height // height)
    cells = [[Segment(token_row(number, row, across))] for row in range(down)]
    form = Form(facts, cells, across)
    if terminal.kind == "sixel":
        return _Made(form, SixelStrips(_sixels(image, height, terminal.colors), across))
    size = (across * width, down * height)
    return _Made(form, KittyStrips(number, _png(image, *size), size, (across, down)))


def _png(image: "Image", width: int, height: int) -> bytes:
    """Return the picture with transparent pixels up to the end of its cells."""
    from PIL import Image

    whole = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    whole.paste(image, (0, 0))
    out = io.BytesIO()
    whole.save(out, "PNG", compress_level=4)
    return out.getvalue()


def _sixels(image: "Image", height: int, colors: int) -> list[str]:
    """Return a sixel image for each row of cells."""
    few = image.quantize(max(2, min(256, colors)))
    flat = few.getpalette("RGB") or []
    palette = [(flat[at], flat[at + 1], flat[at + 2]) for at in range(0, len(flat) - 2, 3)]
    pixels, size = few.tobytes(), image.width
    return [encode(pixels[at : at + size * height], size, palette) for at in range(0, len(pixels), size * height)]


def _blocks(image: "Image") -> list[list[Segment]]:
    """Return half blocks: two pixels per cell."""
    width, height = image.size
    pixels = image.tobytes()

    def color(x: int, y: int) -> Color | None:
        at = 3 * (y * width + x)
        return Color.from_rgb(*pixels[at : at + 3]) if y < height else None

    return [
        [Segment(UPPER_HALF, Style(color=color(x, y), bgcolor=color(x, y + 1))) for x in range(width)]
        for y in range(0, height, 2)
    ]


def read_source(source: PictureSource) -> bytes:
    """Return the bytes of a picture; empty for one that is too large, is gone or is no regular file. Blocks."""
    if not source.is_file:
        import base64  # only for pictures

        head, _, body = source.url.partition(",")
        if len(body) > 2 * MAX_BYTES:
            return b""
        try:
            return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
        except ValueError:
            return b""
    try:
        descriptor = os.open(source.url, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not hold the thread
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
