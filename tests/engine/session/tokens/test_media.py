"""The tokens of pictures and documents, by the providers' rules."""

import base64
import struct

import pytest

from opencode_tui.engine.provider.llm import MediaBlock
from opencode_tui.engine.session.tokens.media import PDF_PAGE, UNKNOWN_PICTURE, media_tokens, picture_size
from opencode_tui.schema.model import Model

OPENAI = Model(provider_id="openai", model_id="gpt", adapter="openai")
CLAUDE = Model(provider_id="anthropic", model_id="claude", adapter="anthropic")


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + struct.pack(">II", width, height) + b"\x08\x06\x00\x00\x00"


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe0\x00\x10JFIF" + b"\x00" * 10
    return b"\xff\xd8" + preview + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" * 8


def block(data: bytes, mime: str = "image/png") -> MediaBlock:
    return MediaBlock(mime, base64.b64encode(data).decode())


@pytest.mark.parametrize(
    ("width", "height", "openai", "claude"),
    [
        (1024, 1024, 765, 1399),
        (2048, 4096, 1105, 1600),
        (200, 100, 255, 27),
        (512, 512, 255, 350),
        (4000, 100, 765, 82),
    ],
)
def test_a_picture_counts_by_the_rule_of_its_provider(width: int, height: int, openai: int, claude: int) -> None:
    picture = block(png(width, height))
    assert (media_tokens(picture, OPENAI), media_tokens(picture, CLAUDE)) == (openai, claude)


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        jpeg(640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"RIFF\x00\x00\x00\x00WEBPVP8X" + b"\x00" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
        b"RIFF\x00\x00\x00\x00WEBPVP8 " + b"\x00" * 10 + struct.pack("<HH", 640, 480),
        b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + (639 | 479 << 14).to_bytes(4, "little") + b"\x00" * 5,
    ],
)
def test_the_size_is_read_from_the_header_of_each_format(data: bytes) -> None:
    assert picture_size(data) == (640, 480)


@pytest.mark.parametrize("data", [b"", b"nothing", png(0, 5), b"\xff\xd8\xff", jpeg(5, 5)[:20]])
def test_a_picture_without_a_readable_size_counts_as_a_large_one(data: bytes) -> None:
    assert media_tokens(block(data), OPENAI) == UNKNOWN_PICTURE


def test_data_that_is_no_base64_counts_as_a_large_picture() -> None:
    assert media_tokens(MediaBlock("image/png", "ÿÿÿÿ"), OPENAI) == UNKNOWN_PICTURE


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        (b"%PDF-1.4 /Type /Page x /Type/Page /Type /Pages", 2),
        (b"%PDF-1.5 /Type /Pages /Count 12 stream", 12),
        (b"%PDF-1.7 compressed", 1),
    ],
)
def test_a_document_counts_by_its_pages(content: bytes, pages: int) -> None:
    assert media_tokens(block(content, "application/pdf"), CLAUDE) == pages * PDF_PAGE
