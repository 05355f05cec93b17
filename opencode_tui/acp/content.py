"""The content of a prompt as parts of the engine's request; pure.

A mention of a file or another resource is a link in the text, where the editor has it: the model knows what is meant there, and
where it is. The content of a file is an attachment as well.
"""

import mimetypes
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)
from msgspec import Struct

from opencode_tui.schema.api.request import FileInput

Block = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock

_TEXT = "text/plain"

_LINES = re.compile(r"L?(\d{1,9})(?:(?::|-L?)(\d{1,9}))?")
"""A range of lines in an address, as `L10:20`.

Source: https://github.com/zed-industries/zed, crates/acp_thread/src/mention.rs (2026-11).
"""

_REFERENCE = re.compile(r"(?<![\w`@])@")
"""An `@` that the engine would read as a reference of the user."""

_OPENING, _CLOSING = " \n\t([{", (*" \n\t,.;:!?)]}'\"",)
"""What is before and after a mention without a further blank."""


class Prompt(Struct, frozen=True):
    """A prompt: its text, its attachments, and the slash command that the text begins with, with its arguments."""

    text: str
    files: Sequence[FileInput] = ()
    command: str = ""
    arguments: str = ""


class _Piece(NamedTuple):
    text: str
    is_mention: bool = False


def read_prompt(blocks: Sequence[Block]) -> Prompt:
    """Return the prompt of these blocks. A command is only recognized here; whether it exists is not known."""
    pieces: list[_Piece] = []
    files: list[FileInput] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                pieces.append(_Piece(block.text))
            case ImageContentBlock():
                files.append(FileInput(mime=block.mime_type, url=f"data:{block.mime_type};base64,{block.data}"))
            case ResourceContentBlock():
                pieces.append(_mention(block.uri, block.name))
                files += _linked(block.uri, block.name, block.mime_type)
            case EmbeddedResourceContentBlock():
                pieces.append(_mention(block.resource.uri, ""))
                files.append(_embedded(block))
            case _:
                pieces.append(_Piece("[an audio recording, which cannot be read]"))
    first = next((number for number, piece in enumerate(pieces) if not piece.is_mention), 0)
    if _begins_with_command(pieces[first].text if pieces else ""):
        del pieces[:first]  # what an editor attaches by itself comes before the command
    text = _joined(pieces)
    if not _begins_with_command(text):
        return Prompt(text, files)
    words = text.split(maxsplit=1)
    return Prompt(text, files, words[0][1:], words[1].strip() if len(words) > 1 else "")


def _begins_with_command(text: str) -> bool:
    words = text.split(maxsplit=1)
    return bool(words) and text.startswith("/") and "/" not in words[0][1:]


def _joined(pieces: Sequence[_Piece]) -> str:
    """Return the pieces as one text: a mention is within a line, other texts are lines of their own."""
    text, before = "", _Piece("")
    for piece in pieces:
        if text and not (piece.is_mention or before.is_mention):
            text += "\n"
        elif text and text[-1] not in _OPENING and not piece.text.startswith(_CLOSING):
            text += " "
        text, before = text + piece.text, piece
    return text


def _mention(uri: str, name: str) -> _Piece:
    """Return a link to a resource. An address with the data itself is not written: the attachment has it."""
    label = _REFERENCE.sub("", " ".join((name or _name(uri)).split()))
    address = "" if uri.startswith("data:") else f"({uri.replace('@', '%40')})"
    return _Piece(f"[{label}]{address}", is_mention=True)


class _File(NamedTuple):
    """A file that an address is of: its path, percent-encoded, and its first and last line, 0 for the whole file."""

    path: str
    start: int = 0
    end: int = 0


def _file_of(uri: str) -> _File | None:
    """Return the file that an address or an absolute path is of, None for anything else."""
    address = _split(uri)
    if address.scheme == "file":
        return _File(address.path, *_lines_of(uri))
    if not address.scheme and address.path.startswith("/"):
        return _File(quote(address.path), *_lines_of(uri))
    if address.scheme == "zed":
        [path] = parse_qs(address.query).get("path", [""])[:1]
        return _File(quote(path), *_lines_of(uri)) if path.startswith("/") else None
    return None


def _lines_of(uri: str) -> Iterator[int]:
    """Yield the first and the last line of an address; nothing for one without lines."""
    if (found := _LINES.fullmatch(_split(uri).fragment)) and int(found[1]):
        yield int(found[1])
        yield max(int(found[2] or found[1]), int(found[1]))


def _linked(uri: str, name: str, mime: str | None) -> Iterator[FileInput]:
    """Yield the attachment for a link; nothing for one that the engine cannot read, whose mention is for the model."""
    file, scheme = _file_of(uri), _split(uri).scheme
    if file is not None:
        kind = _mime(file.path, mime)
        lines = f"?start={file.start}&end={file.end}" if file.start and kind == _TEXT else ""
        yield FileInput(mime=kind, filename=name or _name(uri), url=f"file://{file.path}{lines}")
    elif scheme == "data" or (scheme in ("http", "https") and _mime(uri, mime) != _TEXT):
        yield FileInput(mime=_mime(uri, mime), filename=name or _name(uri), url=uri)


def _embedded(block: EmbeddedResourceContentBlock) -> FileInput:
    resource = block.resource
    if isinstance(resource, BlobResourceContents):
        kind = _mime(resource.uri, resource.mime_type)
        return FileInput(mime=kind, filename=_name(resource.uri), url=f"data:{kind};base64,{resource.blob}")
    return FileInput(
        mime=_TEXT, filename=_place(resource.uri), url=f"data:{_TEXT};charset=utf-8,{quote(resource.text)}"
    )


def _place(uri: str) -> str:
    """Return where a text is from: the path of a file, with the lines if it is a part of one."""
    file, lines = _file_of(uri), "-".join(map(str, _lines_of(uri)))
    name = unquote(file.path) if file is not None else _name(uri)
    return f"{name}:{lines}" if lines else name


def _mime(url: str, given: str | None) -> str:
    """Return the kind that the engine reads a file by: an image or a PDF as such, everything else as text."""
    kind = given or mimetypes.guess_type(_name(url))[0] or _TEXT
    is_media = kind == "application/pdf" or (kind.startswith("image/") and kind != "image/svg+xml")
    return kind if is_media else _TEXT


def _name(uri: str) -> str:
    return unquote(_split(uri).path.rstrip("/").rpartition("/")[2]) or uri


def _split(uri: str) -> SplitResult:
    """Return the pieces of an address; of one that is not valid nothing."""
    try:
        return urlsplit(uri)
    except ValueError:
        return urlsplit("")
