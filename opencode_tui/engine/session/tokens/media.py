"""Pure: the tokens of pictures and documents, by the rules that providers publish.

Pictures. Anthropic (docs, "Vision"): width × height / 750 after scaling to an edge of 1568 at most, about 1,600 at most. OpenAI
(docs, "Images and vision", high detail): scaled to fit 2048 × 2048, then to a short edge of 768, 85 and 170 for each tile of
512 × 512. Others are counted like OpenAI's. Documents. Anthropic (docs, "PDF support"): each page its text, 1,500 to 3,000, and its
picture. The model's ratio corrects the difference to the real count.
"""

import re
from base64 import b64decode
from math import ceil

from opencode_tui.engine.provider.llm import MediaBlock
from opencode_tui.schema.model import Model
from opencode_tui.schema.provider_formats import row_of

PDF_PAGE = 3_000
"""Tokens of a page with text."""

UNKNOWN_PICTURE = 1_600
"""Tokens of a picture of unknown size: about the maximum."""

_HEAD = 65_536
"""Base64 characters that contain the size of a picture; JPEG files may have a preview before it."""
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,4})")
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG markers that precede the size."""


def media_tokens(block: MediaBlock, model: Model) -> int:
    """Return the tokens of a picture or document."""
    if block.mime == "application/pdf":
        return PDF_PAGE * _pages(_decoded(block.data))
    size = picture_size(_decoded(block.data[:_HEAD]))
    if size is None:
        return UNKNOWN_PICTURE
    return _by_area(*size) if _counts_area(model) else _by_tiles(*size)


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, WebP or JPEG; None when they cannot be read."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        found = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    elif data.startswith(b"GIF8") and len(data) >= 10:
        found = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP" and len(data) >= 30:
        found = _webp(data)
    elif data.startswith(b"\xff\xd8"):
        found = _jpeg(data)
    else:
        return None
    return found if found and all(found) else None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _pages(data: bytes) -> int:
    """Return the pages of a document: its page objects, else the count in its page tree, else one."""
    seen = len(_PAGE.findall(data))
    counts = [int(found) for found in _COUNT.findall(data)]
    return max(1, seen, *counts)


def _by_area(width: int, height: int) -> int:
    scale = min(1.0, 1568 / max(width, height))
    return min(UNKNOWN_PICTURE, ceil(width * scale * height * scale / 750))


def _by_tiles(width: int, height: int) -> int:
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _counts_area(model: Model) -> bool:
    row = row_of(model.adapter)
    return bool(row and row.pictures == "area") or "claude" in f"{model.api_id} {model.model_id}".lower()


def _decoded(data: str) -> bytes:
    """Return decoded base64 data, as far as it is valid."""
    try:
        return b64decode(data[: len(data) // 4 * 4])
    except ValueError:
        return b""
