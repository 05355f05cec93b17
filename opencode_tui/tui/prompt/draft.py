"""The draft of a prompt: the text with markers, and the attachment of each marker."""

import base64
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_tui.schema.api.request import FileInput


_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """Return the text with line feeds only, tabs kept, without control characters and invisible ones."""
    return _STEERING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment: a pasted text, the bytes of an image, or the address of another file."""

    text: str = ""
    data: bytes = b""
    mime: str = "text/plain"
    name: str = ""
    url: str = ""

    @property
    def is_file(self) -> bool:
        """Whether a file is sent beside the text; a pasted text is a piece of it."""
        return bool(self.data or self.url)


MAX_IMAGE_BYTES = 20_000_000
_IMAGES = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "gif": "gif", "webp": "webp"}


def read_image_file(text: str) -> Attachment | None:
    """Return the image at a path as terminals paste it: quoted, with escaped spaces, or as a URL; None without one. Blocks."""
    text = text.strip()
    if text.startswith("file://"):
        from urllib.parse import unquote  # only for such a paste

        text = unquote(text.removeprefix("file://"))
    elif text[:1] in ("'", '"') and text[-1:] == text[:1]:
        text = text[1:-1]
    path = Path(text).expanduser()
    path = path if path.exists() else Path(text.replace("\\", "")).expanduser()
    kind = _IMAGES.get(path.suffix[1:].lower())
    try:
        if kind is None or not path.is_file() or path.stat().st_size > MAX_IMAGE_BYTES:
            return None
        return Attachment(data=path.read_bytes(), mime=f"image/{kind}", name=path.name)
    except (OSError, RuntimeError):  # a path that cannot be read, or `~name` of nobody
        return None


@dataclass(frozen=True, slots=True)
class Draft:
    """A text and its attachments by marker; attachments without a marker in the text are ignored."""

    text: str = ""
    attachments: Mapping[str, Attachment] = field(default_factory=dict[str, Attachment])

    @property
    def whole(self) -> str:
        """The text with markers replaced by the pasted texts."""
        return self.filled(lambda marker, one: marker if one.is_file else one.text)

    @property
    def words(self) -> str:
        """The whole text without the markers of files, for a place that has no attachments."""
        return self.filled(lambda _, one: "" if one.is_file else one.text)

    def parts(self) -> "list[FileInput]":
        """Return the files to send with the text."""
        from opencode_tui.schema.api.request import FileInput  # the first frame does without

        found: list[FileInput] = []
        for marker, one in self.attachments.items():
            if one.is_file and marker in self.text:
                url = one.url or f"data:{one.mime};base64,{base64.b64encode(one.data).decode('ascii')}"
                found.append(FileInput(mime=one.mime, filename=one.name or marker.strip("[]"), url=url))
        return found

    def filled(self, value: Callable[[str, Attachment], str]) -> str:
        """Return the text with the value of each marker in its place."""
        pieces = split_at(self.text, self.attachments)
        return "".join(value(one, self.attachments[one]) if at % 2 else one for at, one in enumerate(pieces))


def split_at(text: str, markers: Collection[str]) -> list[str]:
    """Return the pieces of a text: each second one is one of the markers."""
    return re.split(f"({'|'.join(map(re.escape, markers))})", text) if markers else [text]


def line_count(text: str) -> int:
    """Return how many lines a text has; a line feed at its end starts no further one."""
    return text.count("\n") + (not text.endswith("\n"))


def marker_of(one: Attachment, number: int) -> str:
    """Return the marker of an attachment, such as `[Image 2]`."""
    if one.is_file:
        return f"[{'Image' if one.mime.startswith('image/') else 'File'} {number}]"
    return paste_marker(one.text, number)


def paste_marker(text: str, number: int) -> str:
    """Return `[Pasted 120 lines]`; a number distinguishes two of the same size."""
    lines = line_count(clean(text))
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    return f"[Pasted {size}]" if number == 1 else f"[Pasted {size} #{number}]"
