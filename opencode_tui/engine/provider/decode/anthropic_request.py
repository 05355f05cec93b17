"""Encoder for requests to Anthropic's messages API."""

import json
from collections.abc import Mapping
from typing import Any, assert_never

from msgspec import Struct

from opencode_tui.engine.provider.decode.anthropic_messages import (
    ANSWERS,
    OPEN,
    RESULT,
    SEARCH_TOOL,
    AnthropicMessagesDecoder,
)
from opencode_tui.engine.provider.decode.request_option import wire_options, without_nulls
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.llm import (
    WEB_SEARCH,
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    ToolSpec,
    UserEntry,
    provider_searches,
)
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

METADATA_KEY = "anthropic"
VERSION = "2023-06-01"
_EPHEMERAL = {"type": "ephemeral"}
_MAX_CACHE_MARKS = 4
_MIN_THINKING_TOKENS = 1024
_ANSWER_SHARE = 4
"""Share of `max_tokens` that reasoning leaves for the answer (1/N)."""

_OPTIONS_OF_OPENAI = frozenset(
    {"reasoning_effort", "reasoning_summary", "include", "text_verbosity", "prompt_cache_key", "store"}
)
"""Options that this API rejects as unknown."""

_MAX_SEARCHES = 8
_SEARCH: JsonObject = {"type": "web_search_20250305", "name": SEARCH_TOOL, "max_uses": _MAX_SEARCHES}
"""The provider's own search. Source: PyPI anthropic, types/web_search_tool_20250305_param.py."""

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def encode(request: LlmRequest) -> bytes:
    """Return the body as strict JSON."""
    return json.dumps(build(request), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def build(request: LlmRequest) -> JsonObject:
    """Return the body of a streaming request, with cache marks at the system segments and the end of the conversation."""
    model = request.model
    system = [_marked({"type": "text", "text": text}) for text in request.system if text.strip()]
    body: JsonObject = {
        "model": model.api_id or model.model_id,
        "max_tokens": request.max_output,
        "messages": build_messages(request, _MAX_CACHE_MARKS - len(system)),
        "stream": True,
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool, searches=request.searches) for tool in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = {"type": _CHOICES[request.tool_choice]}
    if request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    return _with_thinking_rules(without_nulls({**body, **_options(request, body)}))


def _options(request: LlmRequest, body: JsonObject) -> JsonObject:
    """Return the options in this API's form: an effort is part of `output_config`, and calls one at a time of `tool_choice`."""
    options = wire_options(request)
    effort = options.pop("effort", None) or options.get("reasoning_effort")
    if effort is not None:
        options["output_config"] = {**as_object(options.get("output_config")), "effort": effort}
    if options.pop("parallel_tool_calls", None) is False and request.tools:
        chosen = as_object(options.get("tool_choice") or body.get("tool_choice")) or {"type": "auto"}
        options["tool_choice"] = {**chosen, "disable_parallel_tool_use": True}
    return {name: value for name, value in options.items() if name not in _OPTIONS_OF_OPENAI}


def build_messages(request: LlmRequest, cache_marks: int) -> list[JsonObject]:
    """Return the conversation as alternating messages, with a limited number of cache marks, the latest first."""
    messages: list[JsonObject] = []
    searches = _Searches.of(request)
    for entry in request.messages:
        role, blocks = _entry(entry, searches)
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    for message in messages:
        if message["role"] == "user":
            message["content"].sort(key=_follows_results)
    _trim_prefill(messages)
    _mark_cache(messages, cache_marks)
    return messages


class _Searches(Struct, frozen=True):
    """The provider's own searches in a request by their call IDs: results, and what a paused turn left open.

    `open` are the searches without results, `kept` those of them that the request ends with or answers later, `answers` the
    ID of the open search that a result is for.
    """

    results: Mapping[str, Any]
    open: Mapping[str, Any]
    answers: Mapping[str, Any]
    kept: frozenset[str]

    @staticmethod
    def of(request: LlmRequest) -> "_Searches":
        """Return the searches of a request."""
        found = provider_searches(request, METADATA_KEY, OPEN)
        answers = provider_searches(request, METADATA_KEY, ANSWERS) if found else {}
        last = next((entry for entry in reversed(request.messages) if not isinstance(entry, ToolEntry)), None)
        final = (
            {block.id for block in last.content if isinstance(block, CallBlock)}
            if isinstance(last, AssistantEntry)
            else ()
        )
        kept = frozenset(name for name in found if name in final or name in answers.values())
        return _Searches(provider_searches(request, METADATA_KEY, RESULT), found, answers, kept)

    def blocks(self, block: CallBlock) -> tuple[JsonObject, ...] | None:
        """Return the blocks of a search; None for any other call."""
        call: JsonObject = {"type": "server_tool_use", "id": block.id, "name": SEARCH_TOOL, "input": block.input}
        if block.id in self.open:
            return (call,) if block.id in self.kept else ()
        if block.id not in self.results:
            return None
        result: JsonObject = {
            "type": "web_search_tool_result",
            "tool_use_id": block.id,
            "content": self.results[block.id],
        }
        if (name := self.answers.get(block.id)) is None:
            return call, result
        return ({**result, "tool_use_id": name},) if name in self.kept else ()


def _follows_results(block: JsonObject) -> bool:
    return block["type"] != "tool_result"


def _tool(tool: ToolSpec, *, searches: bool) -> JsonObject:
    if searches and tool.name == WEB_SEARCH:
        return _SEARCH
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _entry(entry: ModelMessage, searches: _Searches) -> tuple[str, list[JsonObject]]:
    match entry:
        case UserEntry(content):
            blocks = (_text(block) if isinstance(block, TextBlock) else _media(block) for block in content)
            return "user", [block for block in blocks if block]
        case AssistantEntry(content):
            blocks = (block for part in content for block in _assistant_blocks(part, searches))
            return "assistant", [block for block in blocks if block]
        case ToolEntry(results):
            return "user", [
                _result(result)
                for result in results
                if result.id not in searches.results and result.id not in searches.open
            ]
        case _:
            assert_never(entry)


def _text(block: TextBlock) -> JsonObject | None:
    if not block.text.strip():
        return None
    found: JsonObject = {"type": "text", "text": block.text}
    return _marked(found) if block.cache else found


def _media(block: MediaBlock) -> JsonObject:
    if not (block.mime.startswith("image/") or block.mime == "application/pdf"):
        return {"type": "text", "text": f"[attachment {block.filename or ''} of type {block.mime} cannot be shown]"}
    source = {"type": "base64", "media_type": block.mime, "data": block.data}
    found: JsonObject = {"type": "image" if block.mime.startswith("image/") else "document", "source": source}
    if found["type"] == "document" and block.filename:
        found["title"] = block.filename
    return found


def _assistant_blocks(
    block: TextBlock | ThinkingBlock | CallBlock, searches: _Searches
) -> tuple[JsonObject | None, ...]:
    found = searches.blocks(block) if isinstance(block, CallBlock) else None
    return (_assistant_block(block),) if found is None else found


def _assistant_block(block: TextBlock | ThinkingBlock | CallBlock) -> JsonObject | None:
    match block:
        case TextBlock():
            return _text(block)
        case ThinkingBlock(text, metadata):
            own: dict[str, Any] = (metadata or {}).get(METADATA_KEY) or {}
            if redacted := own.get("redactedData"):
                return {"type": "redacted_thinking", "data": redacted}
            # The API rejects unsigned reasoning, which was cut off or is from another provider.
            signature = own.get("signature")
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case CallBlock():
            return {"type": "tool_use", "id": block.id, "name": block.tool, "input": block.input}
        case _:
            assert_never(block)


def _result(result: ResultBlock) -> JsonObject:
    found: JsonObject = {"type": "tool_result", "tool_use_id": result.id}
    text = result.text if result.text.strip() else ""
    if result.media:
        blocks: list[JsonObject] = [{"type": "text", "text": text}] if text else []
        found["content"] = [*blocks, *map(_media, result.media)]
    elif text:
        found["content"] = text
    if result.is_error:
        found["is_error"] = True
    return found


def _marked(block: JsonObject) -> JsonObject:
    return {**block, "cache_control": _EPHEMERAL}


def _mark_cache(messages: list[JsonObject], limit: int) -> None:
    """Set cache marks where the request asks for them, else at the end of the last two messages."""
    asked = [block for message in messages for block in message["content"] if "cache_control" in block]
    for block in asked[: max(0, len(asked) - limit)]:
        del block["cache_control"]
    if not asked:
        for message in messages[-2:]:
            last = message["content"][-1]
            if last["type"] not in ("thinking", "redacted_thinking"):
                last["cache_control"] = _EPHEMERAL


def _trim_prefill(messages: list[JsonObject]) -> None:
    """Strip trailing white space of a final assistant text, which the API rejects."""
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].rstrip()


def _with_thinking_rules(body: JsonObject) -> JsonObject:
    """Return the body adapted for thinking: a budget that leaves an answer, no temperature, no forced tool."""
    settings = as_object(body.get("thinking"))
    if settings.get("type") not in ("enabled", "adaptive"):
        return body
    budget, most = settings.get("budget_tokens"), body.get("max_tokens")
    if isinstance(budget, int) and isinstance(most, int):
        settings = {**settings, "budget_tokens": max(_MIN_THINKING_TOKENS, min(budget, most - most // _ANSWER_SHARE))}
    rest = {key: value for key, value in body.items() if key not in ("temperature", "top_p", "thinking")}
    if rest.get("tool_choice", {}).get("type") == "any":
        del rest["tool_choice"]
    return {**rest, "thinking": settings}


def _credentials(key: str | None) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


FORMAT = ProviderFormat(
    metadata_key=METADATA_KEY,
    path=lambda _: "/messages",
    encode=encode,
    decoder=AnthropicMessagesDecoder,
    credentials=_credentials,
    list_path="/models?limit=1000",
)
