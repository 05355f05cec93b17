"""Pure: which images and documents of a request can be sent to a model, and how many bytes of them.

A line of text replaces what cannot be sent, so that the model knows of it.
"""

from collections.abc import Sequence

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
from opencode_tui.schema.model import Model

MAX_BLOCK_BYTES = 5 * 1024 * 1024
"""Base64 bytes of one image or document; the smallest limit of the common providers."""

MAX_REQUEST_BYTES = 20 * 1024 * 1024
"""Base64 bytes of all media of one request; the newest are kept."""

TOO_MANY = "too many bytes of media in this conversation"
REFUSED = "the provider rejected the media of this request"

_EXPANDED = ("text/plain", "application/x-directory")


def media_blocks(mime: str, url: str, filename: str | None, model: Model) -> list[TextBlock | MediaBlock]:
    """Return the blocks for an attachment: itself, a line of text in its place, or nothing when text parts already contain it."""
    if mime in _EXPANDED:
        return []
    name = filename or mime
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return [TextBlock(f"[attachment {name}: {url[:200]}]")]
    if not (mime.startswith("image/") or mime == "application/pdf"):
        return [TextBlock(f"[attachment {name} left out: {mime} cannot be sent to the model]")]
    if not model.attachment:
        return [TextBlock(f"[attachment {name} left out: {model.ref} accepts no images or documents]")]
    if len(data) > MAX_BLOCK_BYTES:
        return [TextBlock(f"[attachment {name} left out: larger than {MAX_BLOCK_BYTES // (1024 * 1024)} MB]")]
    return [MediaBlock(mime, data, filename)]


def within_budget(entries: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Return the entries with the oldest media replaced by a line of text until the rest fits the request's budget."""
    budget = MAX_REQUEST_BYTES
    kept: list[ModelMessage] = []
    for entry in reversed(entries):
        match entry:
            case UserEntry():
                blocks: list[TextBlock | MediaBlock] = []
                for block in reversed(entry.content):
                    if isinstance(block, MediaBlock):
                        budget -= len(block.data)
                        blocks.append(block if budget >= 0 else _left_out(block, TOO_MANY))
                    else:
                        blocks.append(block)
                kept.append(UserEntry(tuple(reversed(blocks))))
            case ToolEntry():
                results: list[ResultBlock] = []
                for result in reversed(entry.results):
                    budget -= sum(len(block.data) for block in result.media)
                    results.append(result if budget >= 0 else _without_media(result, TOO_MANY))
                kept.append(ToolEntry(tuple(reversed(results))))
            case AssistantEntry():
                kept.append(entry)
    return tuple(reversed(kept))


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
    return TextBlock(f"[attachment {block.filename or block.mime} left out: {reason}]", part=block.part)


def _without_media(result: ResultBlock, reason: str) -> ResultBlock:
    if not result.media:
        return result
    notes = "\n".join(_left_out(block, reason).text for block in result.media)
    return replace(result, text=f"{result.text}\n{notes}", media=())
