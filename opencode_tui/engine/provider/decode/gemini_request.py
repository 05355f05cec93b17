"""Encoder for requests to Gemini (`models/{model}:streamGenerateContent`).

The conversation is a list of contents with the roles `user` and `model`, in turn. Source: `google/genai/types.py` of the package
`google-genai` 3.4.0; the order of parts and the signatures: `@ai-sdk/google` 3.0.141 and Google's guide "Thought signatures".

    ours            part
    text            {"text"}, with the `thoughtSignature` that came with it
    media           {"inlineData": {"mimeType", "data"}}
    reasoning       {"text", "thought": true, "thoughtSignature"}; without a signature it is not sent
    tool call       {"functionCall": {"id", "name", "args"}, "thoughtSignature"?}
    search          the parts {"toolCall"}, {"toolResponse"} of the provider's own search as they came; without a result
    result          {"functionResponse": {"id", "name", "response": {"output"} or {"error"}, "parts"?}}; all of them first

Gemini 3 rejects a turn whose first call has no signature, as after a change of the model: it gets the value that the guide names
for that case. The conversation is the last field of the body, so that a request repeats the bytes of the one before it.
"""

import json
from collections.abc import Mapping
from typing import Any, assert_never
from urllib.parse import quote

from opencode_tui.engine.provider.decode.gemini_schema import UnsupportedSchemaError, to_gemini_schema
from opencode_tui.engine.provider.decode.gemini_stream import SEARCH, GeminiDecoder
from opencode_tui.engine.provider.decode.request_option import given_options, without_nulls
from opencode_tui.engine.provider.decode.response import as_list
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.llm import (
    WEB_SEARCH,
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
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

METADATA_KEY = "google"
NO_SIGNATURE = "skip_thought_signature_validator"
"""The signature of a call that another model made."""

_CHOICES = {"required": "ANY", "none": "NONE"}
_TOP_LEVEL = frozenset({"safetySettings", "cachedContent", "labels", "serviceTier", "toolConfig"})
"""Options that are fields of the body; all others belong to its `generationConfig`."""

_NOT_SENT = frozenset(
    {
        *(
            "contents",
            "systemInstruction",
            "tools",
            "generationConfig",
            "thinking",
            "effort",
            "reasoningEffort",
            "reasoningSummary",
        ),
        *("textVerbosity", "promptCacheKey", "parallelToolCalls", "include", "store", "user"),
    }
)
"""Options that are ours, or of other formats: the API rejects names that it does not know."""

_MAX_NAME = 64
_MEDIA = ("image/", "audio/", "video/", "application/pdf")


def path(request: LlmRequest) -> str:
    """Return the path of a request: it names the model."""
    model = _name(request.model)
    quoted = quote(model if "/" in model else f"models/{model}", safe="/-._~:@")
    return f"/{quoted}:streamGenerateContent?alt=sse"


def encode(request: LlmRequest) -> bytes:
    """Return the body as strict JSON."""
    return json.dumps(build(request), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def build(request: LlmRequest) -> JsonObject:
    """Return the body of a request."""
    body: JsonObject = {"generationConfig": _generation(request)}
    system = [{"text": segment} for segment in request.system if segment.strip()]
    is_gemma = _name(request.model).rpartition("/")[2].startswith("gemma-")
    if system and not is_gemma:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        searches = request.searches and any(tool.name == WEB_SEARCH for tool in request.tools)
        declared = [_declaration(tool) for tool in request.tools if not (searches and tool.name == WEB_SEARCH)]
        body["tools"] = [
            *([{"functionDeclarations": declared}] if declared else []),
            *([{"googleSearch": {}}] if searches else []),
        ]
        mode = _CHOICES.get(request.tool_choice)
        config: JsonObject = {"functionCallingConfig": {"mode": mode}} if mode and declared else {}
        if searches:
            # Without it the API rejects its own tools together with functions. Source: Google's guide "Tool combination".
            config["includeServerSideToolInvocations"] = True
        if config:
            body["toolConfig"] = config
    given = {name: value for name, value in given_options(request).items() if name in _TOP_LEVEL}
    if "toolConfig" in body and given.get("toolConfig") is not None:
        given["toolConfig"] = {**body["toolConfig"], **as_object(given["toolConfig"])}
    body = without_nulls(body | given)
    contents = build_contents(request)
    if system and is_gemma and contents:
        contents[0]["parts"][:0] = system  # Gemma has no system prompt
    return {**body, "contents": contents}


def build_contents(request: LlmRequest) -> list[JsonObject]:
    """Return the conversation, oldest first."""
    is_new = _is_new(request.model)
    contents: list[JsonObject] = []
    searches = provider_searches(request, METADATA_KEY, SEARCH)
    for entry in request.messages:
        match entry:
            case UserEntry(blocks):
                _add(
                    "user",
                    [_given(block) for block in blocks if isinstance(block, MediaBlock) or block.text.strip()],
                    contents,
                )
            case AssistantEntry():
                _add("model", _assistant(entry, searches, is_new=is_new), contents)
            case ToolEntry(results):
                answered = tuple(result for result in results if result.id not in searches)
                _add("user", _results(answered, is_new=is_new), contents)
            case _:
                assert_never(entry)
    return contents


def _add(role: str, parts: list[JsonObject], contents: list[JsonObject]) -> None:
    if parts and contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    elif parts:
        contents.append({"role": role, "parts": parts})


def _name(model: Model) -> str:
    return model.api_id or model.model_id


def _is_new(model: Model) -> bool:
    """Return whether a model has the rules of Gemini 3; those of names that no one knows yet have."""
    name = _name(model)
    return "gemini" in name and not is_of_group(name, "before gemini 3")


def _generation(request: LlmRequest) -> JsonObject:
    found: JsonObject = {"maxOutputTokens": request.max_output}
    if request.temperature is not None and request.model.temperature:
        found["temperature"] = request.temperature
    if request.top_p is not None:
        found["topP"] = request.top_p
    options = given_options(request)
    named = {name: value for name, value in options.items() if name not in _TOP_LEVEL and name not in _NOT_SENT}
    return without_nulls({**found, **named, **as_object(options.get("generationConfig"))})


def _function(tool: str) -> str:
    """Return the name of a tool for the API, whose names start with a letter; `call_assembly.py` finds the tool again."""
    return tool if tool[:1].isalpha() or tool.startswith("_") else f"_{tool}"[:_MAX_NAME]


def _declaration(tool: ToolSpec) -> JsonObject:
    found: JsonObject = {"name": _function(tool.name), "description": tool.description}
    try:
        parameters = to_gemini_schema(tool.parameters)
    except UnsupportedSchemaError:
        return {**found, "parametersJsonSchema": tool.parameters}
    return found if parameters is None else {**found, "parameters": parameters}


def _given(block: TextBlock | MediaBlock) -> JsonObject:
    if isinstance(block, TextBlock):
        return {"text": block.text}
    if block.mime.startswith(_MEDIA):
        return {"inlineData": {"mimeType": block.mime, "data": block.data}}
    return {"text": f"[attachment {block.filename or ''} of type {block.mime} cannot be shown]"}


def _assistant(entry: AssistantEntry, searches: Mapping[str, Any], *, is_new: bool) -> list[JsonObject]:
    parts: list[JsonObject] = []
    needs_signature = is_new
    for block in entry.content:
        signature = as_object((block.metadata or {}).get(METADATA_KEY)).get("thoughtSignature")
        signed = {"thoughtSignature": signature} if signature else {}
        match block:
            case TextBlock(text):
                if text.strip():
                    parts.append({"text": text, **signed})
            case ThinkingBlock(text):
                if text and signed:
                    parts.append({"text": text, "thought": True, **signed})
            case CallBlock() if block.id in searches:
                parts += as_list(searches[block.id])
            case CallBlock():
                if needs_signature and not signed:
                    signed = {"thoughtSignature": NO_SIGNATURE}
                needs_signature = False
                called = {"id": block.id, "name": _function(block.tool), "args": block.input}
                parts.append({"functionCall": called, **signed})
            case _:
                assert_never(block)
    return parts


def _results(results: tuple[ResultBlock, ...], *, is_new: bool) -> list[JsonObject]:
    """Return all results, then the media of models that accept none inside of a result."""
    parts: list[JsonObject] = []
    media: list[JsonObject] = []
    for result in results:
        answered: JsonObject = {
            "id": result.id,
            "name": _function(result.tool),
            "response": {"error" if result.is_error else "output": result.text},
        }
        shown = [_given(block) for block in result.media]
        if is_new and shown and all("inlineData" in part for part in shown):
            answered["parts"] = shown
        elif shown:
            media += [{"text": f"Attached by {result.tool}:"}, *shown]
        parts.append({"functionResponse": answered})
    return [*parts, *media]


def _credentials(key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": key} if key else {}


FORMAT = ProviderFormat(
    metadata_key=METADATA_KEY,
    path=path,
    encode=encode,
    decoder=GeminiDecoder,
    credentials=_credentials,
    list_path="/models?pageSize=1000",
)
