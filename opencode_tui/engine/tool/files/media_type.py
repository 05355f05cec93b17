"""Which kind of image or document some bytes are. Providers reject one whose name says another kind than its content."""

import base64

from opencode_tui.engine.tool.files.text_format import is_binary

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
)
_FIRST = 24
"""Characters of base64 that contain the first bytes of every kind."""


def media_type(sample: bytes) -> str | None:
    """Return the type of an image or PDF by its first bytes, or None for anything else."""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp"
    if sample[:2] == b"BM" and not is_binary(sample):
        return None
    return next((mime for magic, mime in _MAGIC if sample.startswith(magic)), None)


def as_it_is(mime: str, url: str) -> tuple[str, str]:
    """Return the type and the data URL of a file as its content says, unchanged where the content does not say it."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return mime, url
    try:
        found = media_type(base64.b64decode(data[:_FIRST]))
    except ValueError:
        found = None
    return (mime, url) if found in (None, mime) else (str(found), f"data:{found};base64,{data}")
