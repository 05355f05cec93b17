"""The only place that turns records into a request's messages, and the only place that repairs history.

After aborts, crashes, provider switches and pruning alike, the result is valid for strict providers: it starts
with the user, roles alternate, every call is answered right after it by a result with its id, ids are unique and plain, no text is
empty, reasoning is sent only to the model that produced it, media stay within a budget of bytes.
Source: docs/internals/loop.md#requests.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.request.media import (
    media_blocks,
    within_budget,
    within_limit,
    without_media,
)
from opencode_tui.engine.session.request.thoughts import without_thoughts
from opencode_tui.engine.session.retry import MediaLimit, refused_media, refused_thoughts
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import (
    CompactionPart,
    FilePart,
    ReasoningPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.stored_error import StoredAbortedError, keeps_answer
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError

PRUNED_OUTPUT = "[Old tool result content cleared]"
"""Replaces a pruned output; the description of the `recall` tool says how to read it."""
INTERRUPTED = "[Tool execution was interrupted]"
SO_FAR = "What did we do so far?"
KEPT_HEAD = "Kept verbatim from the summarized messages:"
"""The first line of what a compaction keeps word for word."""
NO_BEGINNING = "<system-reminder>\nThe beginning of this conversation is not available.\n</system-reminder>"
CONTINUE = "<system-reminder>\nContinue where you left off.\n</system-reminder>"
_UNSAFE_ID = re.compile(r"[^A-Za-z0-9_-]")
_MAX_ID = 40
"""Maximum length of a call id; OpenAI has the smallest limit."""
_MAX_NAME = 64
_UNNAMED_TOOL = "unknown_tool"


def to_model_messages(messages: Sequence[MessageWithParts], model: Model) -> tuple[ModelMessage, ...]:
    """Return the request's messages for this model, oldest first."""
    builder = _Builder(model)
    for message in messages:
        if isinstance(message.info, UserMessage):
            builder.add_user(message)
        else:
            builder.add_assistant(message.info, message)
    return within_budget(builder.finished(), model)


class _Builder:
    """Collects entries, keeping roles alternating and call ids unique."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._entries: list[ModelMessage] = []
        self._ids: set[str] = set()
        self._limit = MediaLimit()

    def finished(self) -> tuple[ModelMessage, ...]:
        entries = [_without_last_thoughts(entry) for entry in within_limit(self._entries, self._limit)]
        if entries and not isinstance(entries[0], UserEntry):
            entries.insert(0, UserEntry((TextBlock(NO_BEGINNING),)))
        if entries and isinstance(entries[-1], AssistantEntry):
            entries.append(UserEntry((TextBlock(CONTINUE),)))
        return tuple(entries)

    def add_user(self, message: MessageWithParts) -> None:
        content: list[TextBlock | MediaBlock] = []
        for part in message.parts:
            match part:
                case TextPart() if not part.ignored:
                    content.extend(_text(part.text, part))
                case FilePart():
                    blocks = media_blocks(part.mime, part.url, part.filename, self._model)
                    content.extend(replace(block, part=part.id) for block in blocks)
                case CompactionPart():
                    content.append(TextBlock(SO_FAR, part=part.id))
                case SubtaskPart():
                    text = f"The user ran this as a subtask of agent {part.agent}: {part.prompt}"
                    content.append(TextBlock(text, part=part.id))
                case _:
                    pass
        if content:
            self._push_user(tuple(content))

    def add_assistant(self, info: AssistantMessage, message: MessageWithParts) -> None:
        same_model = info.provider_id == self._model.provider_id and info.model_id == self._model.model_id
        for limit in map(refused_media, message.parts) if same_model else ():
            if limit == MediaLimit():
                self._entries = list(without_media(self._entries))
            elif limit is not None:
                self._limit = self._limit.tightened(limit)
        if same_model and any(map(refused_thoughts, message.parts)):
            self._entries = list(without_thoughts(self._entries))
        if not keeps_answer(info.error) and not isinstance(info.error, StoredAbortedError):
            return
        content: list[TextBlock | ThinkingBlock | CallBlock] = []
        results: list[ResultBlock] = []
        before: list[TextBlock] = []
        for part in message.parts:
            match part:
                case StepStartPart() if part.reminder:
                    before.append(TextBlock(part.reminder))
                case TextPart() if not part.ignored:
                    content.extend(_text(part.text.rstrip(), part, part.metadata if same_model else None))
                case ReasoningPart() if same_model and part.metadata:
                    content.append(ThinkingBlock(clean(part.text), part.metadata, part=part.id))
                case ToolPart():
                    call_id = self._unique_id(part.call_id)
                    metadata = part.metadata if same_model and not _is_pruned(part) else None
                    content.append(CallBlock(call_id, _plain_name(part.tool), _input(part), metadata, part=part.id))
                    results.append(replace(self._result(part, call_id), part=part.id))
                case _:
                    pass
        if not any(not isinstance(block, ThinkingBlock) for block in content):
            return
        if before:
            self._push_user(tuple(before))
        self._push_assistant(tuple(content), tuple(results))

    def _result(self, part: ToolPart, call_id: str) -> ResultBlock:
        state = part.state
        match state:
            case ToolStateCompleted() if state.time.compacted is not None:
                return ResultBlock(call_id, _plain_name(part.tool), PRUNED_OUTPUT)
            case ToolStateCompleted():
                media = [
                    block
                    for file in state.attachments or []
                    for block in media_blocks(
                        str(file.get("mime", "")), str(file.get("url", "")), file.get("filename"), self._model
                    )
                ]
                kept = tuple(block for block in media if isinstance(block, MediaBlock))
                notes = [block.text for block in media if isinstance(block, TextBlock)]
                text = "\n".join([clean(state.output), *notes]).strip() or "(no output)"
                return ResultBlock(call_id, _plain_name(part.tool), text, media=kept)
            case ToolStateError():
                return ResultBlock(
                    call_id, _plain_name(part.tool), clean(state.error).strip() or INTERRUPTED, is_error=True
                )
            case _:
                return ResultBlock(call_id, _plain_name(part.tool), INTERRUPTED, is_error=True)

    def _unique_id(self, call_id: str) -> str:
        base = _UNSAFE_ID.sub("_", call_id)[:_MAX_ID] or "call"
        candidate, number = base, 2
        while candidate in self._ids:
            suffix = f"_{number}"
            candidate, number = base[: _MAX_ID - len(suffix)] + suffix, number + 1
        self._ids.add(candidate)
        return candidate

    def _push_user(self, content: tuple[TextBlock | MediaBlock, ...]) -> None:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, UserEntry):
            self._entries[-1] = UserEntry(last.content + content)
        else:
            self._entries.append(UserEntry(content))

    def _push_assistant(
        self, content: tuple[TextBlock | ThinkingBlock | CallBlock, ...], results: tuple[ResultBlock, ...]
    ) -> None:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, AssistantEntry):
            self._entries.append(
                UserEntry((TextBlock(CONTINUE),))
            )  # as the request was sent that the second one answers
        self._entries.append(AssistantEntry(content))
        if results:
            self._entries.append(ToolEntry(results))


def clean(text: str) -> str:
    """Return text that can be encoded as UTF-8: lone surrogates become replacement characters."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _without_last_thoughts(entry: ModelMessage) -> ModelMessage:
    """Return an answer that does not end in reasoning, which providers reject."""
    if not isinstance(entry, AssistantEntry):
        return entry
    content = list(entry.content)
    while isinstance(content[-1], ThinkingBlock):
        content.pop()
    return AssistantEntry(tuple(content))


def _is_pruned(part: ToolPart) -> bool:
    return isinstance(part.state, ToolStateCompleted) and part.state.time.compacted is not None


def _plain_name(tool: str) -> str:
    """Return a tool's name in a form that every provider accepts; models sometimes call tools by invalid names."""
    return _UNSAFE_ID.sub("_", tool)[:_MAX_NAME] or _UNNAMED_TOOL


def _text(text: str, part: TextPart, metadata: dict[str, Any] | None = None) -> list[TextBlock]:
    return [TextBlock(clean(text), metadata=metadata, part=part.id)] if text.strip() else []


def _input(part: ToolPart) -> dict[str, object]:
    return dict(part.state.input)
