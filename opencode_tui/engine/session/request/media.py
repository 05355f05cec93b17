"""Pure: which images and documents of a request can be sent to a model, and how many bytes of them.

A line of text replaces what cannot be sent, so that the model knows of it.
"""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.retry import MediaLimit
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import FilePart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted

MAX_BLOCK_BYTES = 5 * 1024 * 1024
"""Base64 bytes of one image or document; the smallest limit of the common providers."""

MAX_REQUEST_BYTES = 20 * 1024 * 1024
"""Base64 bytes of all media of one request; the newest are kept."""

TOO_MANY = "too many bytes of media in this conversation"
TOO_MANY_IMAGES = "too many images in this conversation for the model's provider"
REFUSED = "the provider rejected the media of this request"
LEFT_OUT = " left out: "
"""What the line in the place of an attachment has between its name and the reason."""

_EXPANDED = ("text/plain", "application/x-directory")


def media_blocks(mime: str, url: str, filename: str | None, model: Model) -> list[TextBlock | MediaBlock]:
    """Return the blocks for an attachment: itself, a line of text in its place, or nothing when text parts already contain it."""
    if mime in _EXPANDED:
        return []
    name = filename or mime
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return [TextBlock(f"[attachment {name}: {url[:200]}]")]
    if not _is_medium(mime, url):
        return [TextBlock(_words(name, f"{mime} cannot be sent to the model"))]
    if not model.attachment:
        return [TextBlock(_words(name, f"{model.ref} accepts no images or documents"))]
    if len(data) > MAX_BLOCK_BYTES:
        return [TextBlock(_words(name, f"larger than {MAX_BLOCK_BYTES // (1024 * 1024)} MB"))]
    return [MediaBlock(mime, data, filename)]


def attached_media(messages: Sequence[MessageWithParts]) -> list[tuple[str, str]]:
    """Return the images and documents of messages and of tool results that requests have: their parts' IDs and names."""
    found: list[tuple[str, str]] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, FilePart) and _is_medium(part.mime, part.url):
            found.append((part.id, part.filename or part.mime))
        elif isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted):
            files = part.state.attachments or [] if part.state.time.compacted is None else []
            found += [
                (part.id, str(file.get("filename") or file.get("mime")))
                for file in files
                if _is_medium(str(file.get("mime", "")), str(file.get("url", "")))
            ]
    return found


def _is_medium(mime: str, url: str) -> bool:
    return url.startswith("data:") and (mime.startswith("image/") or mime == "application/pdf")


class _Budget:
    """What the media of a request may still use, counted from the newest to the oldest."""

    def __init__(self, images: int) -> None:
        self._bytes = MAX_REQUEST_BYTES
        self._images = images

    def accepts(self, *media: MediaBlock) -> str:
        """Count these media; return an empty text if they fit, else why they are left out."""
        self._bytes -= sum(len(block.data) for block in media)
        self._images -= sum(block.mime.startswith("image/") for block in media)
        return TOO_MANY if self._bytes < 0 else TOO_MANY_IMAGES if self._images < 0 else ""


_COUNTS = (
    r"(?i)images? > (?P<sum>\d+)"
    r"|(?:at most|max(?:imum)?(?: of| is)?:?|up to|limit of) (?P<most>\d+) (?:images?|documents?|media|files?)\b"
    r"|images?\b.{0,40}\b(?:max(?:imum)?(?: of| is)?|limit(?: is)?|at most) (?P<late>\d+)(?!\d| ?(?:[km]i?b|bytes|pixels|px))"
)
_SIZE = r"(?i)(?:exceeds?|larger than|maximum(?: size)?(?: of| is)?|at most) (?P<size>\d+(?:\.\d+)?) ?(?P<unit>[km])i?b"
"""Compiled for a failed request only, as `_COUNTS`."""


def find_limit(reason: str, entries: Sequence[ModelMessage], *, is_size_of_request: bool = False) -> MediaLimit | None:
    """Return the limit that a provider's reason names, or half of the media when it names none that these entries exceed.

    None when the reason is about single media, or only one is there. `is_size_of_request`: the whole request has too many bytes.
    """
    media = [block for entry in entries for block in media_of(entry)]
    if found := re.search(_COUNTS, reason):
        most = int(next(number for number in found.groupdict().values() if number))
        return MediaLimit(most=most if most < len(media) else len(media) // 2)
    if found := re.search(_SIZE, reason):
        largest = int(float(found["size"]) * (2**20 if found["unit"].lower() == "m" else 2**10))
        if any(len(block.data) > largest for block in media):
            return MediaLimit(largest=largest)
    if len(media) > 1 and (is_size_of_request or re.search(r"too (?:many|much)", reason, re.IGNORECASE)):
        return MediaLimit(most=len(media) // 2)
    return None


def media_of(entry: ModelMessage) -> tuple[MediaBlock, ...]:
    """Return the media of an entry, in order."""
    match entry:
        case UserEntry():
            return tuple(block for block in entry.content if isinstance(block, MediaBlock))
        case ToolEntry():
            return tuple(block for result in entry.results for block in result.media)
        case AssistantEntry():
            return ()


def within_budget(entries: Sequence[ModelMessage], model: Model) -> tuple[ModelMessage, ...]:
    """Return the entries with the oldest media replaced by a line of text until the rest fits the request's budget.

    The budget is a number of bytes, and the number of images that the model's provider allows.
    """
    images = sum(block.mime.startswith("image/") for entry in entries for block in media_of(entry))
    return _only(entries, _Budget(_to_keep(images, model.parameters.images)).accepts)


def within_limit(entries: Sequence[ModelMessage], limit: MediaLimit) -> tuple[ModelMessage, ...]:
    """Return the entries with the media beyond a provider's limit replaced by a line of text, the oldest first."""
    kept = tuple(entries)
    if (largest := limit.largest) is not None:
        too_large = MediaLimit(largest=largest).reason()

        def accepts_size(*media: MediaBlock) -> str:
            return too_large if any(len(block.data) > largest for block in media) else ""

        kept = _only(kept, accepts_size)
    if limit.most is not None:
        too_many = MediaLimit(most=limit.most).reason()
        left = _to_keep(sum(len(media_of(entry)) for entry in kept), limit.most)

        def accepts_number(*media: MediaBlock) -> str:
            nonlocal left
            left -= len(media)
            return too_many if left < 0 else ""

        kept = _only(kept, accepts_number)
    return kept


def _only(entries: Sequence[ModelMessage], accepts: Callable[..., str]) -> tuple[ModelMessage, ...]:
    """Return the entries with those media that `accepts`, tried from the newest to the oldest, gives no reason against."""
    kept: list[ModelMessage] = []
    for entry in reversed(entries):
        match entry:
            case UserEntry():
                blocks = [_fitting(block, accepts) for block in reversed(entry.content)]
                kept.append(UserEntry(tuple(reversed(blocks))))
            case ToolEntry():
                results: list[ResultBlock] = []
                for result in reversed(entry.results):
                    reason = accepts(*result.media)
                    results.append(_without_media(result, reason) if reason else result)
                kept.append(ToolEntry(tuple(reversed(results))))
            case AssistantEntry():
                kept.append(entry)
    return tuple(reversed(kept))


def _fitting(block: TextBlock | MediaBlock, accepts: Callable[..., str]) -> TextBlock | MediaBlock:
    if isinstance(block, TextBlock):
        return block
    reason = accepts(block)
    return _left_out(block, reason) if reason else block


def _to_keep(count: int, limit: int | None) -> int:
    """Return how many of `count` media a request keeps: at most the limit, and a quarter of it fewer each time it is reached.

    So most steps that add an image change nothing before it, and the provider's cache stays valid.
    """
    if limit is None or count <= limit:
        return count
    batch = max(1, limit // 4)
    return max(0, count - -(-(count - limit) // batch) * batch)


def without_media(entries: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Return the entries with all media replaced by a line of text, because the provider rejects one of them."""
    return tuple(_refused(entry) for entry in entries)


def _refused(entry: ModelMessage) -> ModelMessage:
    match entry:
        case UserEntry():
            return UserEntry(
                tuple(_left_out(block, REFUSED) if isinstance(block, MediaBlock) else block for block in entry.content)
            )
        case ToolEntry():
            return ToolEntry(tuple(_without_media(result, REFUSED) for result in entry.results))
        case AssistantEntry():
            return entry


def _left_out(block: MediaBlock, reason: str) -> TextBlock:
    return TextBlock(_words(block.filename or block.mime, reason), part=block.part)


def _words(name: str, reason: str) -> str:
    return f"[attachment {name}{LEFT_OUT}{reason}]"


def _without_media(result: ResultBlock, reason: str) -> ResultBlock:
    if not result.media:
        return result
    notes = "\n".join(_left_out(block, reason).text for block in result.media)
    return replace(result, text=f"{result.text}\n{notes}", media=())
