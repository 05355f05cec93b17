"""Encoder for requests to OpenAI's Responses API: everything is sent with each request, nothing is stored at the provider.

The conversation is a list of items. Source: the types of the package `openai` 2.54.0 (`response_create_params.py`,
`response_input_item_param.py`); what is left out, and why, from `@ai-sdk/openai` 3.0.141.

    ours                      item
    user message              {"type": "message", "role": "user", "content": [input_text | input_image | input_file]}
    text of the model         {"type": "message", "role": "assistant", "content": text, "phase"?}; no ID: it refers to stored items
    reasoning                 {"type": "reasoning", "id", "summary": [summary_text], "encrypted_content"}, directly before its item
    tool call                 {"type": "function_call", "namespace"?, "call_id", "name", "arguments"}
    search of the provider    {"type": "web_search_call", …} as it came; without a result
    result                    {"type": "function_call_output", "call_id", "output": text or [input_text, input_image, …]}

The conversation is the last field of the body, so that a request repeats the bytes of the one before it.
"""

import json
from collections.abc import Mapping
from typing import Any, assert_never

from opencode_tui.engine.provider.decode.request_option import wire_options, without_nulls
from opencode_tui.engine.provider.decode.response import as_list
from opencode_tui.engine.provider.decode.responses_stream import SEARCH, ResponsesDecoder
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
from opencode_tui.engine.provider.model_facts import is_of_group
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Model
from opencode_tui.schema.record import JsonObject

METADATA_KEY = "openai"
ENCRYPTED = "reasoning.encrypted_content"
SOURCES = "web_search_call.action.sources"
_LEAST_OUTPUT = 16
"""The API rejects a smaller limit."""

_NESTED = {
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "text_verbosity": ("text", "verbosity"),
}
"""Options whose names OpenCode flattens."""

_NOT_SENT = frozenset({"input", "strict_json_schema", "system_message_mode"})


def encode(request: LlmRequest) -> bytes:
    """Return the body as strict JSON."""
    return json.dumps(build(request), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def build(request: LlmRequest) -> JsonObject:
    """Return the body of a streaming request."""
    model = request.model
    body: JsonObject = {
        "model": model.api_id or model.model_id,
        "stream": True,
        "store": False,
        "max_output_tokens": max(_LEAST_OUTPUT, request.max_output),
    }
    if system := [segment for segment in request.system if segment.strip()]:
        body["instructions"] = "\n\n".join(system)
    searches = request.searches and any(tool.name == WEB_SEARCH for tool in request.tools)
    if include := [*([ENCRYPTED] if _reasons(model) else []), *([SOURCES] if searches else [])]:
        body["include"] = include
    if request.tools:
        body["tools"] = [_tool(tool, searches=searches) for tool in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p
    return {**_with_options(body, request), "input": build_input(request)}


def _tool(tool: ToolSpec, *, searches: bool) -> JsonObject:
    if searches and tool.name == WEB_SEARCH:
        return {"type": "web_search"}  # Source: PyPI openai 2.54.0, types/responses/web_search_tool_param.py
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _reasons(model: Model) -> bool:
    return model.reasoning or is_of_group(model.api_id or model.model_id, "encrypted reasoning")


def _with_options(body: JsonObject, request: LlmRequest) -> JsonObject:
    """Return the body with the options of model and request: flattened names are put where the format has them."""
    found = dict(body)
    for name, value in wire_options(request).items():
        if name in _NOT_SENT:
            continue
        if name in _NESTED:
            outer, inner = _NESTED[name]
            found[outer] = without_nulls({**as_object(found.get(outer)), inner: value}) or None
        elif value is None:
            found[name] = None
        elif name == "include":
            found[name] = list(dict.fromkeys([*as_list(found.get(name)), *as_list(value)]))
        elif name in ("reasoning", "text"):
            found[name] = {**as_object(found.get(name)), **as_object(value)}
        else:
            found[name] = value
    return without_nulls(found)


def build_input(request: LlmRequest) -> list[JsonObject]:
    """Return the conversation as items, oldest first."""
    searches = provider_searches(request, METADATA_KEY, SEARCH)
    items = [item for entry in request.messages for item in _entry(entry, searches)]
    seen: set[str] = set()
    for item in items:
        # The API rejects an ID that occurs twice, and accepts encrypted reasoning without one.
        if "id" in item and item["id"] in seen:
            del item["id"]
        seen.add(item.get("id", ""))
    return items


def _entry(entry: ModelMessage, searches: Mapping[str, Any]) -> list[JsonObject]:
    match entry:
        case UserEntry(content):
            parts = [_input_part(block) for block in content if isinstance(block, MediaBlock) or block.text.strip()]
            return [{"type": "message", "role": "user", "content": parts}] if parts else []
        case AssistantEntry(content):
            return _assistant(content, searches)
        case ToolEntry(results):
            return [_output(result) for result in results if result.id not in searches]
        case _:
            assert_never(entry)


def _input_part(block: TextBlock | MediaBlock) -> JsonObject:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text}
    url = f"data:{block.mime};base64,{block.data}"
    if block.mime.startswith("image/"):
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if block.mime == "application/pdf":
        return {"type": "input_file", "filename": block.filename or "attachment.pdf", "file_data": url}
    return {
        "type": "input_text",
        "text": f"[attachment {block.filename or ''} of type {block.mime} cannot be shown]",
    }


def _assistant(
    content: tuple[TextBlock | ThinkingBlock | CallBlock, ...], searches: Mapping[str, Any]
) -> list[JsonObject]:
    items: list[JsonObject] = []
    for block in content:
        match block:
            case TextBlock(text) if text.strip():
                items.append(_message(block))
            case TextBlock():
                pass
            case ThinkingBlock():
                _add_reasoning(block, items)
            case CallBlock() if block.id in searches:
                items.append(dict(searches[block.id]))
            case CallBlock():
                items.append(
                    {
                        "type": "function_call",
                        **_namespace(block),
                        "call_id": block.id,
                        "name": block.tool,
                        "arguments": json.dumps(
                            block.input, ensure_ascii=False, allow_nan=False, separators=(",", ":")
                        ),
                    }
                )
            case _:
                assert_never(block)
    # The API rejects reasoning without the item that it led to, and cannot read reasoning that is not encrypted.
    kept = [item for item in items if item["type"] != "reasoning" or item.get("encrypted_content")]
    while kept and kept[-1]["type"] == "reasoning":
        kept.pop()
    return kept


def _namespace(block: CallBlock) -> JsonObject:
    """Return the namespace of tools with which the call came."""
    found = _own(block.metadata).get("namespace")
    return {"namespace": found} if found else {}


def _message(block: TextBlock) -> JsonObject:
    message: JsonObject = {"type": "message", "role": "assistant", "content": block.text}
    if phase := _own(block.metadata).get("phase"):
        message["phase"] = phase
    return message


def _add_reasoning(block: ThinkingBlock, items: list[JsonObject]) -> None:
    """Add a block of reasoning: to the item before it when both belong to one item; each summary of an item is a block."""
    own = _own(block.metadata)
    identifier, encrypted = own.get("itemId"), own.get("reasoningEncryptedContent")
    if not (identifier or encrypted):
        return
    last: JsonObject = items[-1] if items else {}
    if not (identifier and last.get("type") == "reasoning" and last.get("id") == identifier):
        last = {"type": "reasoning", **({"id": identifier} if identifier else {}), "summary": list[JsonObject]()}
        items.append(last)
    if block.text:
        last["summary"].append({"type": "summary_text", "text": block.text})
    if encrypted:
        last["encrypted_content"] = encrypted


def _own(metadata: JsonObject | None) -> JsonObject:
    return as_object((metadata or {}).get(METADATA_KEY))


def _output(result: ResultBlock) -> JsonObject:
    item: JsonObject = {"type": "function_call_output", "call_id": result.id, "output": result.text}
    if result.media:
        text = [TextBlock(result.text)] if result.text.strip() else []
        item["output"] = [_input_part(block) for block in (*text, *result.media)]
    return item


FORMAT = ProviderFormat(metadata_key=METADATA_KEY, path=lambda _: "/responses", encode=encode, decoder=ResponsesDecoder)
