"""Decoder for the stream of OpenAI's Responses API: bytes to deltas, one block for each output item or summary of reasoning.

Every event is JSON with a `type`; the name in the `event:` line is the same. Source: the event types of the package `openai` 2.54.0
(`openai/types/responses/`), compared with `@ai-sdk/openai` 3.0.141.

    event                                             read as
    response.output_item.added   item, output_index   the start of an item; a call's name and ID
    response.output_text.delta   delta                text; `response.refusal.delta` too
    response.reasoning_summary_text.delta             reasoning, a block for each `summary_index`
    response.reasoning_text.delta                     reasoning of open models, a block for each `content_index`
    response.function_call_arguments.delta            arguments
    response.output_text.done, .refusal.done, .reasoning_…_text.done, .function_call_arguments.done
                                                      the complete value: what is missing is added
    response.output_item.done    item                 the complete item: what is missing is added, the metadata, the end of it
    an item web_search_call                           a search, an opened page or a look into one; its `sources` without titles,
    annotations url_citation of a complete message    the titles of the pages that searches found
    response.completed           response             finish reason `stop`, usage; without earlier items, those in `output`
    response.incomplete          response             `incomplete_details.reason`: see `INCOMPLETE`; usage
    response.failed              response.error       an error
    error                        code, message        an error
    response.created, .in_progress, .queued, .content_part.*, .reasoning_summary_part.*, .output_text.annotation.added,
    items and events of the provider's other tools    nothing

`sequence_number` counts the events of a stream, so that a delta that arrives twice is dropped; servers without it are read as well.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from opencode_tui.engine.provider.decode.delta import (
    MalformedChunk,
    ProtocolError,
    Searches,
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
from opencode_tui.engine.provider.decode.response import StreamDecoder, as_count, as_index, as_list, as_text, uncached
from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content-filter"}
"""Finish reasons of `response.incomplete`; any other is `other`."""

SEARCH = "web_search_call"
"""The type of an item of the provider's own search, and its key in the metadata of the call."""

_TEXTS = {"output_text": "text", "refusal": "refusal"}
_MOST_ITEMS = 4_096


@dataclass(slots=True)
class _Item:
    """An output item. `number` is its block; `heard` are the pieces of each of its texts, `blocks` those of its reasoning."""

    kind: str
    number: int
    id: str = ""
    call_id: str = ""
    is_done: bool = False
    heard: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])
    blocks: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    arguments: list[str] = field(default_factory=list[str])


class ResponsesDecoder(StreamDecoder):
    """Decodes the bytes of one response to deltas."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, _Item] = {}
        self._blocks = 0
        self._last = -1
        self._is_numbered = False
        self._searches = Searches()
        self._paid_searches = 0

    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one event of the table above."""
        kind = as_text(event.get("type"))
        is_repeated = self._is_repeated(event.get("sequence_number"))
        match kind.removeprefix("response."):
            case "output_text.delta" | "refusal.delta":
                if not is_repeated:
                    self._text(event, kind.split(".")[1], as_text(event.get("delta")), deltas)
            case "function_call_arguments.delta":
                if not is_repeated:
                    self._arguments(self._item(event, "function_call"), as_text(event.get("delta")), deltas)
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                if not is_repeated:
                    self._thought(event, as_text(event.get("delta")), deltas)
            case "output_text.done":
                self._text(event, "output_text", as_text(event.get("text")), deltas, is_whole=True)
            case "refusal.done":
                self._text(event, "refusal", as_text(event.get("refusal")), deltas, is_whole=True)
            case "reasoning_summary_text.done" | "reasoning_text.done":
                self._thought(event, as_text(event.get("text")), deltas, is_whole=True)
            case "function_call_arguments.done":
                if arguments := as_text(event.get("arguments")):
                    self._arguments(self._item(event, "function_call"), arguments, deltas, is_whole=True)
            case "output_item.added":
                self._start(_index(event), as_object(event.get("item")), deltas)
            case "output_item.done":
                self._finish_item(_index(event), as_object(event.get("item")), deltas)
            case "completed" | "incomplete" | "failed":
                self._finish(as_object(event.get("response")), kind, deltas)
            case "error":
                deltas.append(WireError(event))
            case _:
                _check_other(event, deltas)

    def _is_repeated(self, number: object) -> bool:
        """Return whether an event of this number was read before; False until a server has shown that it counts."""
        if not isinstance(number, int) or isinstance(number, bool):
            return False
        if number > self._last:
            self._is_numbered = self._is_numbered or self._last >= 0
            self._last = number
            return False
        return self._is_numbered

    def _item(self, event: JsonObject, kind: str) -> _Item:
        """Return the item of an event; a new one when its start is missing."""
        index = _index(event)
        item = self._items.get(index)
        if item is None or item.kind != kind:
            item = self._add(index, _Item(kind, self._number(), as_text(event.get("item_id"))))
        return item

    def _add(self, index: int, item: _Item) -> _Item:
        if self._blocks > _MOST_ITEMS:
            raise ProtocolError(f"it has more than {_MOST_ITEMS} items")
        self._items[index] = item
        return item

    def _number(self) -> int:
        self._blocks += 1
        return self._blocks

    def _start(self, index: int, content: JsonObject, deltas: list[WireDelta]) -> None:
        """Start an item, unless it has started; what is open under its index ends."""
        known = self._items.get(index)
        if known is None or (known.kind, known.id) != (as_text(content.get("type")), as_text(content.get("id"))):
            if known is not None:
                self._close(known, deltas)
            known = self._add(index, _Item(as_text(content.get("type")), self._number(), as_text(content.get("id"))))
        self._name(known, content, deltas)

    def _name(self, item: _Item, content: JsonObject, deltas: list[WireDelta]) -> None:
        """Add the name and the ID of a call once."""
        if item.kind == "function_call" and not item.call_id:
            item.call_id = as_text(content.get("call_id")) or item.id
            own = {"itemId": item.id, "namespace": as_text(content.get("namespace"))}
            metadata = {key: value for key, value in own.items() if value} or None
            name = as_text(content.get("name")) or None
            deltas.append(WireCall(item.number, item.call_id or None, name, None, metadata))

    def _text(
        self, event: JsonObject, kind: str, text: str, deltas: list[WireDelta], *, is_whole: bool = False
    ) -> None:
        item = self._item(event, "message")
        key = (kind, as_index(event.get("content_index")) or 0)
        if piece := _unheard(item, key, text) if is_whole else _counted(item, key, text):
            deltas.append(WireText(piece, item.number))

    def _thought(self, event: JsonObject, text: str, deltas: list[WireDelta], *, is_whole: bool = False) -> None:
        item = self._item(event, "reasoning")
        is_summary = as_text(event.get("type")).startswith("response.reasoning_summary")
        index = as_index(event.get("summary_index" if is_summary else "content_index")) or 0
        self._append_thought(item, ("summary" if is_summary else "content", index), text, deltas, is_whole=is_whole)

    def _append_thought(
        self, item: _Item, key: tuple[str, int], text: str, deltas: list[WireDelta], *, is_whole: bool
    ) -> None:
        piece = _unheard(item, key, text) if is_whole else _counted(item, key, text)
        if not piece:
            return
        metadata: JsonObject | None = None
        if key not in item.blocks:
            # Only the last block of an item gets its encrypted content, so the one before it ends here.
            deltas += [WireStop(number) for number in list(item.blocks.values())[-1:]]
            item.blocks[key] = self._number()
            metadata = {"itemId": item.id}
        deltas.append(WireReasoning(piece, item.blocks[key], metadata))

    def _arguments(self, item: _Item, text: str, deltas: list[WireDelta], *, is_whole: bool = False) -> None:
        heard = "".join(item.arguments) if is_whole else ""
        if is_whole and heard == text:
            return
        if item.is_done or not text.startswith(heard):
            deltas.append(MalformedChunk("the arguments of a call arrived in two versions"))
            return
        if text:
            item.arguments.append(text[len(heard) :])
            deltas.append(WireCall(item.number, arguments=text[len(heard) :]))

    def _finish_item(self, index: int, content: JsonObject, deltas: list[WireDelta]) -> None:
        """Add what is missing of a complete item, then end it."""
        kind = as_text(content.get("type"))
        item = self._items.get(index)
        if item is not None and item.is_done and (item.kind, item.id) == (kind, as_text(content.get("id"))):
            return
        if item is None or item.is_done or item.kind != kind:
            self._start(index, content, deltas)
            item = self._items[index]
        item.id = as_text(content.get("id")) or item.id
        self._name(item, content, deltas)
        match item.kind:
            case "message":
                for key, text in _missing(item, _texts_of(content)):
                    self._add_missing_text(item, key, text, deltas)
                phase = as_text(content.get("phase"))
                metadata = {"itemId": item.id, **({"phase": phase} if phase else {})}
                self._cite(content)
                deltas.append(WireText("", item.number, metadata))
            case "reasoning":
                for key, text in _missing(item, _thoughts_of(content)):
                    self._append_thought(item, key, text, deltas, is_whole=True)
                if encrypted := as_text(content.get("encrypted_content")):
                    last = next(reversed(item.blocks.values()), item.number)
                    metadata = {"itemId": item.id, "reasoningEncryptedContent": encrypted}
                    deltas.append(WireReasoning("", last, metadata))
            case "function_call" if not item.is_done:
                if arguments := as_text(content.get("arguments")):
                    self._arguments(item, arguments, deltas, is_whole=True)
            case "web_search_call" if not item.is_done:
                self._search(item.id or f"ws_{item.number}", content, deltas)
            case _:
                pass
        self._close(item, deltas)

    def _search(self, identifier: str, content: JsonObject, deltas: list[WireDelta]) -> None:
        """Add what the provider did on the web; what it searched for is one text, as in our tool."""
        action = as_object(content.get("action"))
        kind, url = as_text(action.get("type")), as_text(action.get("url"))
        self._paid_searches += kind == "search"
        queries = as_text(action.get("query")) or ", ".join(map(as_text, as_list(action.get("queries"))))
        pattern = as_text(action.get("pattern"))
        query = f"{pattern} in {url}" if pattern else queries or url
        urls = [as_text(as_object(source).get("url")) for source in as_list(action.get("sources"))] or [url]
        pages = [{"title": found, "url": found} for found in dict.fromkeys(urls) if found]
        error = "OpenAI reported no reason" if content.get("status") == "failed" else ""
        self._searches.add(WireSearch(identifier, {"query": query}, pages, error, {SEARCH: content}), deltas)

    def _cite(self, message: JsonObject) -> None:
        for part in map(as_object, as_list(message.get("content"))):
            for cited in map(as_object, as_list(part.get("annotations"))):
                if cited.get("type") == "url_citation":
                    self._searches.name(as_text(cited.get("url")), as_text(cited.get("title")))

    def _add_missing_text(self, item: _Item, key: tuple[str, int], text: str, deltas: list[WireDelta]) -> None:
        if piece := _unheard(item, key, text):
            deltas.append(WireText(piece, item.number))

    def _close(self, item: _Item, deltas: list[WireDelta]) -> None:
        if not item.is_done:
            deltas += [WireStop(number) for number in (item.number, *item.blocks.values())]
        item.is_done = True

    def _finish(self, response: JsonObject, kind: str, deltas: list[WireDelta]) -> None:
        if not self._items:
            for index, content in enumerate(as_list(response.get("output"))):
                self._finish_item(index, as_object(content), deltas)
        self._searches.add_titles(deltas)
        if usage := as_object(response.get("usage")):
            deltas.append(WireUsage(replace(read_usage(usage), searches=self._paid_searches)))
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        if kind.endswith("failed") and not reason:
            error = as_object(response.get("error")) or {"message": "the provider could not complete the response"}
            deltas.append(WireError({"error": error}))
        elif kind.endswith("completed") and not reason:
            deltas += (WireFinish("stop"), WireEnd())
        else:
            known = INCOMPLETE.get(reason)
            deltas += (WireFinish(known) if known else WireFinish("other", reason or "incomplete"), WireEnd())

    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of a complete response of a server that does not stream."""
        if body.get("object") == "response" and not body.get("error"):
            self._finish(body, as_text(body.get("status")) or "completed", deltas)
            return
        _check_other(body, deltas)
        if not deltas:
            deltas.append(WireError(body))


def read_usage(usage: JsonObject) -> Usage:
    """Return the tokens of a report; `input` excludes cached tokens, `output` includes reasoning."""
    details = as_object(usage.get("input_tokens_details"))
    cached, written = as_count(details.get("cached_tokens")), as_count(details.get("cache_write_tokens"))
    sent, written = uncached(as_count(usage.get("input_tokens")), cached, written)
    return Usage(
        input=sent,
        output=as_count(usage.get("output_tokens")),
        reasoning=as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cache_read=cached,
        cache_write=written,
        total=as_count(usage.get("total_tokens")) or None,
    )


def _index(event: JsonObject) -> int:
    return as_index(event.get("output_index")) or 0


def _counted(item: _Item, key: tuple[str, int], text: str) -> str:
    item.heard.setdefault(key, []).append(text)
    return text


def _unheard(item: _Item, key: tuple[str, int], whole: str) -> str:
    """Return what was not heard of a complete text; nothing of one that begins otherwise, because what was said stays."""
    heard = "".join(item.heard.get(key, ()))
    if not whole.startswith(heard):
        return ""
    item.heard[key] = [whole]
    return whole[len(heard) :]


_Texts = list[tuple[tuple[str, int], str]]
"""The texts of an item by kind and number, in order."""


def _texts_of(content: JsonObject) -> _Texts:
    found: _Texts = []
    for at, part in enumerate(map(as_object, as_list(content.get("content")))):
        kind = as_text(part.get("type"))
        if text := as_text(part.get(_TEXTS.get(kind, ""))):
            found.append(((kind, at), text))
    return found


def _thoughts_of(content: JsonObject) -> _Texts:
    return [
        ((name, at), as_text(part.get("text")))
        for name in ("summary", "content")
        for at, part in enumerate(map(as_object, as_list(content.get(name))))
    ]


def _missing(item: _Item, texts: _Texts) -> _Texts:
    """Return the texts of a complete item to compare with what was heard: none when all was heard, under whatever numbers.

    vLLM and servers like it number the pieces of a text otherwise than the texts of the complete item.
    """
    heard = "".join("".join(pieces) for pieces in item.heard.values())
    return [] if heard and heard == "".join(text for _, text in texts) else texts


def _check_other(event: JsonObject, deltas: list[WireDelta]) -> None:
    """Report an error object. Raises ProtocolError for the chunks of chat completions."""
    if event.get("error"):
        deltas.append(WireError(event))
    elif as_text(event.get("object")).startswith("chat.completion"):
        raise ProtocolError('a server of chat completions answered (set options.adapter to "openai" for it)')
