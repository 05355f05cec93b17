"""Decodes and scales pictures with Pillow, within limits of pixels and bytes. Runs in a thread."""

import io
from typing import TYPE_CHECKING

from opencode_tui.tui.pictures.header import Header

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
