"""The content of a prompt as parts of the engine's request; pure."""

import mimetypes
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

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


class Prompt(Struct, frozen=True):
    """A prompt: its text, its attachments, and the slash command that the text begins with, with its arguments."""

    text: str
    files: Sequence[FileInput] = ()
    command: str = ""
    arguments: str = ""


def read_prompt(blocks: Sequence[Block]) -> Prompt:
    """Return the prompt of these blocks. A command is only recognized here; whether it exists is not known."""
    texts: list[str] = []
    files: list[FileInput] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                texts.append(block.text)
            case ImageContentBlock():
                files.append(FileInput(mime=block.mime_type, url=f"data:{block.mime_type};base64,{block.data}"))
            case ResourceContentBlock():
                files.append(_link(block.uri, block.name, block.mime_type))
            case EmbeddedResourceContentBlock():
                files.append(_embedded(block))
            case _:
                texts.append("[an audio recording, which cannot be read]")
    text = "\n".join(texts)
    words = text.split(maxsplit=1)
    is_command = bool(words) and text.startswith("/") and "/" not in words[0][1:]
    if not is_command:
        return Prompt(text, files)
    return Prompt(text, files, words[0][1:], words[1].strip() if len(words) > 1 else "")


def _link(uri: str, name: str, mime: str | None) -> FileInput:
    """Return a linked file; one without a scheme is a path."""
    url = uri if urlsplit(uri).scheme in ("file", "http", "https", "data") else f"file://{quote(uri)}"
    return FileInput(mime=_mime(url, mime), filename=name or _name(url), url=url)


def _embedded(block: EmbeddedResourceContentBlock) -> FileInput:
    resource = block.resource
    name, mime = _name(resource.uri), resource.mime_type
    if isinstance(resource, BlobResourceContents):
        kind = _mime(resource.uri, mime)
        return FileInput(mime=kind, filename=name, url=f"data:{kind};base64,{resource.blob}")
    return FileInput(mime=_TEXT, filename=name, url=f"data:{_TEXT};charset=utf-8,{quote(resource.text)}")


def _mime(url: str, given: str | None) -> str:
    """Return the kind that the engine reads a file by: an image or a PDF as such, everything else as text."""
    kind = given or mimetypes.guess_type(_name(url))[0] or _TEXT
    is_media = kind == "application/pdf" or (kind.startswith("image/") and kind != "image/svg+xml")
    return kind if is_media else _TEXT


def _name(uri: str) -> str:
    return unquote(urlsplit(uri).path.rstrip("/").rpartition("/")[2]) or uri
