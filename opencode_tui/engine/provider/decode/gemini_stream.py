"""Decoder for Gemini's stream (`streamGenerateContent?alt=sse`): bytes to deltas.

Every event is a `GenerateContentResponse`; there is no end marker, the body ends. Only the first candidate is read. A body that is
a JSON list of responses (a server that ignores `alt=sse`) is decoded at its end. Source: `google/genai/types.py` of the package
`google-genai` 3.4.0, compared with `@ai-sdk/google` 3.0.141.

    candidates[0].content.parts[]                 read as
    {"text"}                                      text
    {"text", "thought": true}                     reasoning
    {"functionCall": {"id"?, "name", "args"}}     a complete call
    {"thoughtSignature"} beside one of these      metadata of it; beside an empty text, of the text or the reasoning before it
    {"toolCall"}, {"toolResponse"}                a search of the provider, with both parts as they came
    {"inlineData"}, {"executableCode"}, …         nothing

    candidates[0].groundingMetadata               the pages of its searches; a search, if no part showed one

    candidates[0].finishReason                    see `FINISH_REASONS`; those in `BROKEN` are errors that can be retried
    promptFeedback.blockReason                    an error: the prompt was refused, there is no candidate
    usageMetadata                                 cumulative; candidates exclude thoughts, the prompt includes cached tokens
    error                                         an error
"""

import json

from msgspec.structs import replace

from opencode_tui.engine.provider.decode.delta import (
    Searches,
    WireCall,
    WireDelta,
    WireError,
    WireFinish,
    WireReasoning,
    WireSearch,
    WireText,
    WireUsage,
)
from opencode_tui.engine.provider.decode.response import StreamDecoder, as_count, as_list, as_text, uncached
from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "LANGUAGE": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "ESCALATION": "content-filter",
    "MODEL_ARMOR": "content-filter",
    "PUP_LIMITED_DISABLED": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "TOO_MANY_TOOL_CALLS": "other",
}
BROKEN = {
    "MALFORMED_FUNCTION_CALL": "the model wrote an invalid tool call",
    "UNEXPECTED_TOOL_CALL": "the model called a tool that it was not given",
    "MALFORMED_RESPONSE": "the model wrote an invalid response",
    "MISSING_THOUGHT_SIGNATURE": "a thought signature is missing in the request",
}
"""Reasons of a response without a usable content, with what each means."""

SEARCH = "search"
"""The key of the parts of the provider's own search in the metadata of the call."""

_SEARCH_TYPE = "GOOGLE_SEARCH_WEB"
_NO_REASON = ("", "FINISH_REASON_UNSPECIFIED")
_NO_BLOCK = ("", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")


class GeminiDecoder(StreamDecoder):
    """Decodes the bytes of one response to deltas."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[str] = []
        self._usage = Usage()
        self._search_parts: dict[str, list[JsonObject]] = {}
        self._searches = Searches()
        self._queries: dict[str, None] = {}

    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of a response of a list; an object that is none is an error."""
        self.read_event(body, deltas)
        if not deltas:
            deltas.append(WireError(body))

    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one `GenerateContentResponse`."""
        if event.get("error"):
            deltas.append(WireError(event))
            return
        candidate = as_object(next(iter(as_list(event.get("candidates"))), None))
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            self._read_part(as_object(part), deltas)
        self._read_grounding(candidate, as_text(event.get("responseId")), deltas)
        if usage := as_object(event.get("usageMetadata")):
            self._usage = read_usage(usage)
        if self._usage != Usage() and (usage or self._queries):
            deltas.append(WireUsage(replace(self._usage, searches=len(self._queries))))
        blocked = as_text(as_object(event.get("promptFeedback")).get("blockReason"))
        if blocked not in _NO_BLOCK:
            deltas.append(_refused(blocked, as_object(event.get("promptFeedback"))))
        elif (reason := as_text(candidate.get("finishReason"))) not in _NO_REASON:
            deltas.append(_finish(reason, as_text(candidate.get("finishMessage"))))

    def _read_part(self, part: JsonObject, deltas: list[WireDelta]) -> None:
        signature = as_text(part.get("thoughtSignature"))
        metadata = {"thoughtSignature": signature} if signature else None
        if "toolCall" in part or "toolResponse" in part:
            self._read_search(part, deltas)
        elif "functionCall" in part:
            self._read_call(as_object(part.get("functionCall")), metadata, deltas)
        elif (text := as_text(part.get("text"))) or metadata:
            deltas.append(
                WireReasoning(text, None, metadata) if part.get("thought") is True else WireText(text, None, metadata)
            )

    def _read_search(self, part: JsonObject, deltas: list[WireDelta]) -> None:
        """Add a search when its response is here: the API needs both parts back."""
        own = as_object(part.get("toolCall")) or as_object(part.get("toolResponse"))
        identifier = as_text(own.get("id"))
        if own.get("toolType") != _SEARCH_TYPE or not identifier:
            return
        parts = self._search_parts.setdefault(identifier, [])
        if part in parts:
            return
        parts.append(part)
        if "toolCall" in part:
            return
        called = as_object(as_object(parts[0].get("toolCall")).get("args"))
        queries = [query for query in map(as_text, as_list(called.get("queries"))) if query]
        self._queries.update(dict.fromkeys(queries))
        self._searches.add(WireSearch(identifier, {"query": ", ".join(queries)}, [], "", {SEARCH: parts}), deltas)

    def _read_grounding(self, candidate: JsonObject, identifier: str, deltas: list[WireDelta]) -> None:
        grounding = as_object(candidate.get("groundingMetadata"))
        queries = [query for query in map(as_text, as_list(grounding.get("webSearchQueries"))) if query]
        self._queries.update(dict.fromkeys(queries))
        if queries and not self._searches:
            # The model searched without a part to send back.
            given = {"query": ", ".join(queries)}
            self._searches.add(WireSearch(f"search_{identifier}", given, [], "", {SEARCH: []}), deltas)
        for chunk in map(as_object, as_list(grounding.get("groundingChunks"))):
            web = as_object(chunk.get("web"))
            self._searches.name(as_text(web.get("uri")), as_text(web.get("title")))
        self._searches.add_titles(deltas)

    def _read_call(self, call: JsonObject, metadata: JsonObject | None, deltas: list[WireDelta]) -> None:
        """Add a complete call; one with the ID and all else of an earlier one arrived twice."""
        arguments = call.get("args")
        key = json.dumps([call.get("id"), call.get("name"), arguments])
        if call.get("id") and key in self._calls:
            return
        self._calls.append(key)
        identifier, name = as_text(call.get("id")) or None, as_text(call.get("name")) or None
        deltas.append(WireCall(len(self._calls), identifier, name, "{}" if arguments is None else arguments, metadata))


def read_usage(usage: JsonObject) -> Usage:
    """Return the tokens of a report; `input` excludes cached tokens, `output` includes reasoning."""
    cached, thoughts = as_count(usage.get("cachedContentTokenCount")), as_count(usage.get("thoughtsTokenCount"))
    sent = as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount"))
    return Usage(
        input=uncached(sent, cached)[0],
        output=as_count(usage.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
        cache_read=cached,
        total=as_count(usage.get("totalTokenCount")) or None,
    )


def _finish(reason: str, message: str) -> WireDelta:
    if meaning := BROKEN.get(reason):
        # An error in a stream is tried again, unless its code says that it is about the request.
        code = "bad_request" if reason == "MISSING_THOUGHT_SIGNATURE" else reason.lower()
        return WireError({"error": {"message": f"{meaning} ({message or reason})", "code": code}})
    found = FINISH_REASONS.get(reason, "unknown")
    return WireFinish(found, "" if found in ("stop", "length") else message or reason)


def _refused(reason: str, feedback: JsonObject) -> WireError:
    detail = as_text(feedback.get("blockReasonMessage"))
    message = f"the prompt was blocked ({reason}{': ' if detail else ''}{detail}); change it and try again"
    return WireError({"error": {"message": message, "code": "content_filter"}})
