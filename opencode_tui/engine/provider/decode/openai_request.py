"""Encoder for requests to OpenAI's chat completions API."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, assert_never

from opencode_tui.engine.provider.decode.openai_chat import THOUGHT_FIELDS, OpenAiChatDecoder
from opencode_tui.engine.provider.decode.request_option import wire_options, without_nulls
from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

METADATA_KEY = "openai"
_OPTION_NAMES = {"effort": "reasoning_effort", "text_verbosity": "verbosity"}
"""Options that this format names otherwise."""

_NOT_SENT = frozenset({"reasoning_summary", "include", "strict_json_schema", "system_message_mode"})
"""Options of the Responses format, which this one rejects."""

_MARKED_MESSAGES = 2
"""Anthropic accepts four marks, and the system prompt has two."""

_MISTRAL_ID = 9
_ANSWERED = "OK."
"""What the model is said to have answered between a result and the user's next message."""

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode(request: LlmRequest) -> bytes:
    """Return the body as strict JSON."""
    return json.dumps(build(request), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def build(request: LlmRequest) -> JsonObject:
    """Return the body of a streaming request."""
    model = request.model
    rejected = model.parameters.rejects or ()
    body: JsonObject = {
        "model": model.api_id or model.model_id,
        "messages": build_messages(request),
        "stream": True,
        **({} if "stream_options" in rejected else {"stream_options": {"include_usage": True}}),
        # OpenAI's newer models reject `max_tokens`; most compatible servers support only that.
        model.parameters.max_tokens or "max_tokens": request.max_output,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    options = {_OPTION_NAMES.get(name, name): value for name, value in wire_options(request).items()}
    return without_nulls({**body, **{name: value for name, value in options.items() if name not in _NOT_SENT}})


def build_messages(request: LlmRequest) -> list[JsonObject]:
    """Return the system prompt and the conversation."""
    marks_cache = request.model.parameters.cache == "marks"
    messages = _system(request, marks_cache)
    for entry in request.messages:
        messages += _entry(entry, marks_cache, request.model.parameters.thoughts)
    if rejected := request.model.parameters.rejects:
        for message in messages:
            for name in rejected:
                message.pop(name, None)
            if parts := as_list(message["content"]):
                message["content"] = [_accepted(as_object(part), rejected) for part in parts]
    if marks_cache:
        _mark_end(messages)
    return _for_mistral(messages) if request.model.parameters.order == "mistral" else messages


def _accepted(part: JsonObject, rejected: Sequence[str]) -> JsonObject:
    """Return a part of a message, or a text in place of one whose type the provider rejects."""
    kind = part["type"]
    if kind not in rejected:
        return part
    name = as_text(as_object(part[kind]).get("filename"))
    return {"type": "text", "text": f"[attachment {name or kind} cannot be shown]"}


def _mark_end(messages: list[JsonObject]) -> None:
    """Mark the last two messages of the user or of tools, unless the request marks some itself."""
    ours = [message for message in messages if message["role"] in ("user", "tool")]
    if any("cache_control" in part for message in ours for part in as_list(message["content"])):
        return
    for message in ours[-_MARKED_MESSAGES:]:
        parts = as_list(message["content"]) or [{"type": "text", "text": message["content"]}]
        message["content"] = [*parts[:-1], {**as_object(parts[-1]), "cache_control": {"type": "ephemeral"}}]


def _system(request: LlmRequest, marks_cache: bool) -> list[JsonObject]:
    segments = [segment for segment in request.system if segment.strip()]
    role = request.model.parameters.role or "system"
    if not segments:
        return []
    if marks_cache:
        return [{"role": role, "content": [_text_part(TextBlock(segment, cache=True), True) for segment in segments]}]
    # One message: the chat templates of many open models reject a second one.
    return [{"role": role, "content": "\n\n".join(segments)}]


def _entry(entry: ModelMessage, marks_cache: bool, no_thought: str | None) -> list[JsonObject]:
    match entry:
        case UserEntry(content):
            return [{"role": "user", "content": _user_content(content, marks_cache)}]
        case AssistantEntry():
            return _assistant(entry, no_thought)
        case ToolEntry():
            return _tool_results(entry)
        case _:
            assert_never(entry)


def _user_content(content: tuple[TextBlock | MediaBlock, ...], marks_cache: bool) -> str | list[JsonObject]:
    texts = [block.text for block in content if isinstance(block, TextBlock)]
    if len(texts) == len(content) and not (
        marks_cache and any(block.cache for block in content if isinstance(block, TextBlock))
    ):
        return "\n\n".join(texts)
    return [_text_part(block, marks_cache) if isinstance(block, TextBlock) else _media_part(block) for block in content]


def _text_part(block: TextBlock, marks_cache: bool) -> JsonObject:
    part: JsonObject = {"type": "text", "text": block.text}
    if block.cache and marks_cache:
        part["cache_control"] = {"type": "ephemeral"}
    return part


def _media_part(block: MediaBlock) -> JsonObject:
    if block.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{block.mime};base64,{block.data}"}}
    if block.mime in _AUDIO_FORMATS:
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": _AUDIO_FORMATS[block.mime]}}
    name = block.filename or "attachment"
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{block.mime};base64,{block.data}"}}


def _assistant(entry: AssistantEntry, no_thought: str | None) -> list[JsonObject]:
    """Return the message of an answer. `no_thought` is what an answer without a thought has in its place, None if there is none.

    Models for which it is a text need the thought of each answer, also of one without calls, that another model gave.
    """
    text = "".join(block.text for block in entry.content if isinstance(block, TextBlock))
    calls = [_call(block) for block in entry.content if isinstance(block, CallBlock)]
    if not text and not calls:
        return []
    message: JsonObject = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    if calls or no_thought is not None:
        thoughts = _thoughts(entry)
        if no_thought is not None and not any(thoughts.get(field) for field in THOUGHT_FIELDS):
            thoughts["reasoning_content"] = no_thought
        message.update(thoughts)
    return [message]


def _call(block: CallBlock) -> JsonObject:
    arguments = json.dumps(block.input, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    call: JsonObject = {"id": block.id, "type": "function", "function": {"name": block.tool, "arguments": arguments}}
    own: dict[str, Any] = (block.metadata or {}).get(METADATA_KEY) or {}
    if extra := own.get("extra_content"):
        call["extra_content"] = extra
    return call


def _thoughts(entry: AssistantEntry) -> JsonObject:
    """Return the reasoning in the field in which the provider sent it; models that reason between calls need it."""
    found: JsonObject = {}
    for block in entry.content:
        if not isinstance(block, ThinkingBlock):
            continue
        own: dict[str, Any] = (block.metadata or {}).get(METADATA_KEY) or {}
        if field := own.get("field"):
            found[field] = found.get(field, "") + block.text
        if details := own.get("details"):
            found["reasoning_details"] = [*found.get("reasoning_details", []), *details]
        if signed := _signed_block(block.text, own):
            found["thinking_blocks"] = [*found.get("thinking_blocks", []), signed]
    return found


def _signed_block(text: str, own: dict[str, Any]) -> JsonObject | None:
    """Return Anthropic's reasoning in litellm's format."""
    if redacted := own.get("redactedData"):
        return {"type": "redacted_thinking", "data": redacted}
    if signature := own.get("signature"):
        return {"type": "thinking", "thinking": text, "signature": signature}
    return None


def _for_mistral(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the messages as Mistral accepts them: IDs of nine letters and digits, and no user directly after a result."""
    found: list[JsonObject] = []
    for message in messages:
        if message["role"] == "user" and found and found[-1]["role"] == "tool":
            found.append({"role": "assistant", "content": _ANSWERED})
        found.append(message)
        for call in message.get("tool_calls", ()):
            call["id"] = _short_id(call["id"])
        if "tool_call_id" in message:
            message["tool_call_id"] = _short_id(message["tool_call_id"])
    return found


def _short_id(identifier: str) -> str:
    if len(identifier) == _MISTRAL_ID and identifier.isascii() and identifier.isalnum():
        return identifier
    return sha256(identifier.encode("utf-8", "replace")).hexdigest()[:_MISTRAL_ID]


def _tool_results(entry: ToolEntry) -> list[JsonObject]:
    messages: list[JsonObject] = [
        {"role": "tool", "tool_call_id": result.id, "content": result.text} for result in entry.results
    ]
    shown = [(result.tool, media) for result in entry.results for media in result.media]
    if shown:
        names = ", ".join(dict.fromkeys(tool for tool, _ in shown))
        intro = f"<system-reminder>\nWhat follows was attached by the tools called above: {names}\n</system-reminder>"
        parts = [{"type": "text", "text": intro}, *(_media_part(media) for _, media in shown)]
        messages.append({"role": "user", "content": parts})
    return messages


FORMAT = ProviderFormat(
    metadata_key=METADATA_KEY, path=lambda _: "/chat/completions", encode=encode, decoder=OpenAiChatDecoder
)
