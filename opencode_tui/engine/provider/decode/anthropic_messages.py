"""Decoder for Anthropic's messages stream: bytes to deltas, by number of the content block."""

import json
from dataclasses import dataclass

from opencode_tui.engine.provider.decode.delta import (
    WireCall,
    WireDelta,
    WireEnd,
    WireError,
    WireFinish,
    WireReasoning,
    WireSearch,
    WireStop,
    WireText,
    WireUsage,
)
from opencode_tui.engine.provider.decode.response import StreamDecoder, as_count, as_index, as_list, as_text, read_json
from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "stop": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}
SEARCH_TOOL = "web_search"
RESULT = "webSearchResult"
"""The key of a search's results in its metadata."""

OPEN = "webSearchOpen"
"""The key that marks a search which a paused turn (`pause_turn`) left without its results."""

ANSWERS = "webSearchAnswers"
"""The key of the ID of the open search whose results are here: they come with the next response."""

_USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_SEARCHES, _FOR_HOUR = "web_search_requests", "ephemeral_1h_input_tokens"


@dataclass(slots=True)
class _Block:
    """An open content block: its type, and the content of its start event."""

    kind: str
    start_input: object = None
    signature: str = ""
    search_id: str = ""


class AnthropicMessagesDecoder(StreamDecoder):
    """Decodes the bytes of one response to deltas. Of the tools that run on the provider's side only searches are read."""

    ends_with_done = True

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._searches: dict[str, list[str]] = {}
        """The JSON of the inputs of the provider's own searches, in pieces, by their IDs."""
        self._answered: set[str] = set()
        self._id = ""
        self._begun: JsonObject = {}
        """The message of the start event, whose content counts where no block follows."""
        self._has_content = False

    def end(self) -> list[WireDelta]:
        """Return the deltas that the end of the body completes, with the ends of open blocks."""
        deltas = super().end()
        self._stop_all(deltas)
        return deltas

    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one event, by its `type`."""
        match event.get("type"):
            case "content_block_delta":
                self._read_delta(as_index(event.get("index")) or 0, as_object(event.get("delta")), deltas)
            case "content_block_start":
                self._start(as_index(event.get("index")) or 0, as_object(event.get("content_block")), deltas)
            case "content_block_stop":
                self._stop(as_index(event.get("index")) or 0, deltas)
            case "message_start":
                self._begin(as_object(event.get("message")), deltas)
            case "message_delta":
                self._add_begun(deltas)
                self._stop_all(deltas)
                self._note_usage(event.get("usage"), deltas)
                self._finish(as_object(event.get("delta")), deltas)
            case "message_stop":
                self._add_begun(deltas)
                self._stop_all(deltas)
                deltas.append(WireEnd())
            case "error":
                deltas.append(WireError(event))
            case _:
                if event.get("error"):
                    deltas.append(WireError(event))

    def _begin(self, message: JsonObject, deltas: list[WireDelta]) -> None:
        """Begin a message. Another one inside of it, of a gateway that asked again, is an error: no call may run twice."""
        identifier = as_text(message.get("id"))
        if self._has_content and identifier != self._id:
            deltas.append(
                WireError({"error": {"message": "another answer began inside of this one", "type": "api_error"}})
            )
            return
        self._id, self._begun = identifier, message
        self._note_usage(message.get("usage"), deltas)

    def _add_begun(self, deltas: list[WireDelta]) -> None:
        """Add the content of the start event and its reason to stop, unless blocks came: the API may send all of it there."""
        if not self._has_content:
            for index, block in enumerate(as_list(self._begun.get("content"))):
                self._start(index, as_object(block), deltas)
            self._stop_all(deltas)
            self._finish(self._begun, deltas)

    def _start(self, index: int, content: JsonObject, deltas: list[WireDelta]) -> None:
        self._has_content = True
        if index in self._blocks:
            self._stop(index, deltas)
        kind = as_text(content.get("type"))
        block = self._blocks[index] = _Block(kind)
        match kind:
            case "text":
                if text := as_text(content.get("text")):
                    deltas.append(WireText(text, index))
            case "thinking":
                block.signature = as_text(content.get("signature"))
                metadata = {"signature": block.signature} if block.signature else None
                if (text := as_text(content.get("thinking"))) or metadata:
                    deltas.append(WireReasoning(text, index, metadata))
            case "redacted_thinking":
                deltas.append(WireReasoning("", index, {"redactedData": as_text(content.get("data"))}))
            case "tool_use":
                block.start_input = content.get("input") or None
                identifier, name = as_text(content.get("id")) or None, as_text(content.get("name")) or None
                deltas.append(WireCall(index, identifier, name, ""))
            case "server_tool_use" if content.get("name") == SEARCH_TOOL:
                block.search_id = as_text(content.get("id"))
                given = as_object(content.get("input"))
                self._searches[block.search_id] = [json.dumps(given)] if given else []
            case "web_search_tool_result":
                self._search(content, deltas)
            case _:
                pass

    def _search(self, content: JsonObject, deltas: list[WireDelta]) -> None:
        """Add a search of the provider, whose results arrive at once."""
        identifier, found = as_text(content.get("tool_use_id")), content.get("content")
        if not identifier or identifier in self._answered:
            return
        self._answered.add(identifier)
        is_earlier = identifier not in self._searches
        given = self._given(identifier)
        pages = [
            {"title": as_text(page.get("title")), "url": as_text(page.get("url"))}
            for page in map(as_object, as_list(found))
            if page.get("type") == "web_search_result"
        ]
        deltas.append(
            WireSearch(
                identifier,
                given,
                pages,
                as_text(as_object(found).get("error_code")),
                {RESULT: found, **({ANSWERS: identifier} if is_earlier else {})},
            )
        )

    def _given(self, identifier: str) -> JsonObject:
        """Return the input of a search that has ended; empty when it was not in this response."""
        try:
            return as_object(read_json("".join(self._searches.pop(identifier, [])).encode()))
        except ValueError:
            return {}

    def _read_delta(self, index: int, delta: JsonObject, deltas: list[WireDelta]) -> None:
        self._has_content = True
        block = self._blocks.get(index)
        match delta.get("type"):
            case "text_delta":
                if block is None:
                    self._blocks[index] = _Block("text")
                deltas.append(WireText(as_text(delta.get("text")), index))
            case "thinking_delta":
                deltas.append(WireReasoning(as_text(delta.get("thinking")), index))
            case "signature_delta":
                block = block or self._blocks.setdefault(index, _Block("thinking"))
                block.signature += as_text(delta.get("signature"))
                deltas.append(WireReasoning("", index, {"signature": block.signature}))
            case "input_json_delta":
                piece = delta.get("partial_json")
                if block is not None and block.search_id in self._searches:
                    self._searches[block.search_id].append(as_text(piece))
                if piece and (block is None or block.kind == "tool_use"):
                    if block is not None:
                        block.start_input = None
                    deltas.append(WireCall(index, arguments=piece))
            case _:
                pass

    def _stop(self, index: int, deltas: list[WireDelta]) -> None:
        block = self._blocks.pop(index, None)
        if block is not None and block.start_input is not None:
            deltas.append(WireCall(index, arguments=block.start_input))
        deltas.append(WireStop(index))

    def _stop_all(self, deltas: list[WireDelta]) -> None:
        for index in list(self._blocks):
            self._stop(index, deltas)

    def _finish(self, message: JsonObject, deltas: list[WireDelta]) -> None:
        if reason := message.get("stop_reason"):
            if reason == "pause_turn":
                # The next request ends with these searches, and its response begins with their results.
                deltas += [WireSearch(name, self._given(name), [], "", {OPEN: True}) for name in list(self._searches)]
            # Source: PyPI anthropic 2.12.0, types/refusal_stop_details.py and types/beta/beta_refusal_stop_details.py.
            details = as_object(message.get("stop_details"))
            category, explanation = as_text(details.get("category")), as_text(details.get("explanation"))
            said = explanation if not category else f"{explanation or 'category'} ({category})"
            recommended = as_text(details.get("recommended_model"))
            deltas.append(WireFinish(FINISH_REASONS.get(str(reason), "unknown"), said, recommended))

    def _note_usage(self, usage: object, deltas: list[WireDelta]) -> None:
        """Store the reported usage; a later number replaces an earlier one unless it is missing or empty."""
        reported = as_object(usage)
        searches = as_object(reported.get("server_tool_use")).get(_SEARCHES)
        for_hour = as_object(reported.get("cache_creation")).get(_FOR_HOUR)
        found = {name: reported.get(name) for name in _USAGE_FIELDS} | {_SEARCHES: searches, _FOR_HOUR: for_hour}
        for name, value in found.items():
            if count := as_count(value):
                self._usage[name] = count
        if reported:
            deltas.append(WireUsage(self._total()))

    def _total(self) -> Usage:
        sent, received, read, written = (self._usage.get(name, 0) for name in _USAGE_FIELDS)
        total = sent + received + read + written
        return Usage(
            input=sent,
            output=received,
            cache_read=read,
            cache_write=written,
            total=total or None,
            cache_write_hour=self._usage.get(_FOR_HOUR, 0),
            searches=self._usage.get(_SEARCHES, 0),
        )

    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of a complete message of a server that does not stream."""
        if body.get("error") or body.get("type") != "message":
            deltas.append(WireError(body))
            return
        for index, content in enumerate(as_list(body.get("content"))):
            self._start(index, as_object(content), deltas)
        self._stop_all(deltas)
        self._note_usage(body.get("usage"), deltas)
        self._finish(body, deltas)
