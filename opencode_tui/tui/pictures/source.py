"""What a picture of a message or a call is: its name, and where its bytes are."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, unquote_to_bytes, urlsplit

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""Names of files that are pictures."""

MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class PictureSource:
    """A picture that is read when it becomes visible; `url` is `data:`, or the path of a file of this machine."""

    name: str
    url: str

    @property
    def is_file(self) -> bool:
        """Whether it is read from a file."""
        return not self.url.startswith("data:")


def source_of(name: str, mime: str, url: str) -> PictureSource | None:
    """Return the picture that an attachment is; None for another one."""
    if not mime.startswith("image/"):
        return None
    if url.startswith("data:"):
        return PictureSource(name, url)
    parts = urlsplit(url)
    return PictureSource(name, unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def sources_of(attachments: Iterable[Mapping[str, object]]) -> tuple[PictureSource, ...]:
    """Return the pictures among the attachments of a call."""
    found = (
        source_of(str(one.get("filename") or "picture"), str(one.get("mime") or ""), str(one.get("url") or ""))
        for one in attachments
    )
    return tuple(one for one in found if one is not None)


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
