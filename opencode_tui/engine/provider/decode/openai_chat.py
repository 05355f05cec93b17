"""Decoder for OpenAI's chat completions stream and compatible servers: bytes to deltas.

Reads only choice 0. A body without events (a complete response, an error object, a web page) is decoded at its end.
"""

from decimal import Decimal
from typing import Any

from opencode_tui.engine.provider.decode.delta import (
    WireCall,
    WireDelta,
    WireError,
    WireFinish,
    WireReasoning,
    WireText,
    WireUsage,
)
from opencode_tui.engine.provider.decode.response import StreamDecoder, as_count, as_index, as_list, as_text, uncached
from opencode_tui.engine.provider.llm import FinishReason, Usage
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

# Besides OpenAI's: api-docs.deepseek.com/api/create-chat-completion, docs.z.ai/api-reference/llm/chat-completion, vLLM and SGLang.
FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content-filter",
    "safety": "content-filter",
    "sensitive": "content-filter",
    "error": "error",
    "abort": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}
THOUGHT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")


_MOST_PAID = 1e6
"""USD; what costs more is a provider's error."""


class OpenAiChatDecoder(StreamDecoder):
    """Decodes the bytes of one response to deltas."""

    ends_with_done = True

    def __init__(self) -> None:
        super().__init__()
        self._thought_details: list[JsonObject] = []
        self._is_heard = False
        """Whether anything of the answer has been read: some servers repeat all of it in the last event (Perplexity)."""

    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of a `chat.completion`; anything else is an error."""
        self.read_event(body, deltas)
        if not deltas:
            deltas.append(WireError(body))
        elif self._is_heard and not any(isinstance(delta, WireFinish | WireError) for delta in deltas):
            deltas.append(WireFinish("other"))  # whole, though the reason is missing (Snowflake)

    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one `chat.completion.chunk` (or complete `chat.completion`)."""
        choice = _first_choice(event)
        if event.get("error") or event.get("object") == "error":
            if usage := as_object(event.get("usage")):
                deltas.append(WireUsage(read_usage(usage)))
            deltas.append(WireError(event))
            return
        if choice:
            before = len(deltas)
            self._read_delta(as_object(choice.get("delta")), deltas)
            if len(deltas) == before and not self._is_heard:
                self._read_delta(as_object(choice.get("message")), deltas)
            self._is_heard = self._is_heard or len(deltas) > before
            if self._thought_details and any(isinstance(one, WireText | WireCall) for one in deltas[before:]):
                self._thought_details = []  # a thought that follows is another block, with details of its own
            if reason := choice.get("finish_reason"):
                deltas.append(WireFinish(FINISH_REASONS.get(str(reason).lower(), "unknown"), _filters(choice)))
        if usage := event.get("usage") or _hidden_usage(event, choice):
            deltas.append(WireUsage(read_usage(as_object(usage))))

    def _read_delta(self, delta: JsonObject, deltas: list[WireDelta]) -> None:
        self._read_thoughts(delta, deltas)
        content = delta.get("content")
        if content.__class__ is str:
            if content:
                deltas.append(WireText(content))
        elif content:
            _read_content_list(as_list(content), deltas)
        if refusal := as_text(delta.get("refusal")):
            deltas.append(WireText(refusal))
        for call in as_list(delta.get("tool_calls")):
            _read_call(as_object(call), deltas)
        function = as_object(delta.get("function_call"))
        if function.get("name") or function.get("arguments"):  # Snowflake sends an empty one with every answer
            deltas.append(WireCall(name=as_text(function.get("name")), arguments=function.get("arguments")))

    def _read_thoughts(self, delta: JsonObject, deltas: list[WireDelta]) -> None:
        details = delta.get("reasoning_details")
        for field in THOUGHT_FIELDS:
            text = delta.get(field)
            if isinstance(text, str) and text:
                deltas.append(WireReasoning(text, None, self._metadata(field, details)))
                details = None
                break
        if details:
            entries = map(as_object, as_list(details))
            shown = "".join(as_text(entry.get("text")) or as_text(entry.get("summary")) for entry in entries)
            deltas.append(WireReasoning(shown, None, self._metadata("reasoning", details)))
        for block in map(as_object, as_list(delta.get("thinking_blocks"))):
            _read_thinking_block(block, deltas)

    def _metadata(self, field: str, details: object) -> JsonObject:
        """Return the metadata that the provider needs back: the field's name, and its list of details if it sends one."""
        if not details:
            return {"field": field}
        for entry in map(as_object, as_list(details)):
            last = self._thought_details[-1] if self._thought_details else None
            if last is not None and _continues(last, entry):
                last["text"] += as_text(entry.get("text"))
                last.update({key: value for key, value in entry.items() if key != "text" and value is not None})
            elif entry:
                self._thought_details.append(dict(entry))
        return {"field": field, "details": self._thought_details}


def _read_thinking_block(block: JsonObject, deltas: list[WireDelta]) -> None:
    """Decode the signature and the encrypted data of Anthropic's reasoning as litellm passes them on."""
    if signature := as_text(block.get("signature")):
        deltas.append(WireReasoning("", None, {"signature": signature}))
    if block.get("type") == "redacted_thinking" and (data := as_text(block.get("data"))):
        deltas.append(WireReasoning("", None, {"redactedData": data}))


def _continues(last: JsonObject, entry: JsonObject) -> bool:
    is_text = last.get("type") == entry.get("type") == "reasoning.text"
    return is_text and last.get("index") == entry.get("index") and isinstance(last.get("text"), str)


def _first_choice(chunk: JsonObject) -> JsonObject:
    for choice in map(as_object, as_list(chunk.get("choices"))):
        if choice and not choice.get("index"):
            return choice
    return {}


def _filters(choice: JsonObject) -> str:
    """Return what Azure's filter found in an answer: `hate (severity high)`. Source: the reference of Azure OpenAI's REST API."""
    found = [
        f"{name} (severity {severity})" if (severity := as_text(as_object(result).get("severity"))) else name
        for name, result in as_object(choice.get("content_filter_results")).items()
        if as_object(result).get("filtered") is True
    ]
    return ", ".join(found)


def _hidden_usage(chunk: JsonObject, choice: JsonObject) -> Any:
    """Return the usage from the choice (Moonshot) or under `x_groq` (Groq)."""
    return choice.get("usage") or as_object(chunk.get("x_groq")).get("usage")


def _read_content_list(content: list[Any], deltas: list[WireDelta]) -> None:
    """Decode content that consists of typed pieces (Mistral)."""
    for piece in content:
        if isinstance(piece, str):
            deltas.append(WireText(piece))
            continue
        part = as_object(piece)
        if part.get("type") == "thinking":
            thought = "".join(as_text(as_object(entry).get("text")) for entry in as_list(part.get("thinking")))
            deltas.append(WireReasoning(thought or as_text(part.get("thinking"))))
        elif text := as_text(part.get("text")):
            deltas.append(WireText(text))


def _read_call(call: JsonObject, deltas: list[WireDelta]) -> None:
    """Append a piece of a call; an entry that says nothing is none, and must not start a call without a name."""
    function = as_object(call.get("function"))
    identifier, name, arguments = call.get("id"), as_text(function.get("name")), function.get("arguments")
    extra = call.get("extra_content")
    if identifier or name or extra or arguments not in (None, ""):
        deltas.append(
            WireCall(
                position=as_index(call.get("index")),
                id=str(identifier) if identifier else None,
                name=name or None,
                arguments=arguments,
                metadata={"extra_content": extra} if extra else None,
            )
        )


def read_usage(usage: JsonObject) -> Usage:
    """Return the tokens of an OpenAI-style report; `input` excludes cached tokens."""
    prompt_details = as_object(usage.get("prompt_tokens_details"))
    cached = as_count(prompt_details.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens"))
    written = as_count(prompt_details.get("cache_write_tokens")) or as_count(usage.get("cache_creation_input_tokens"))
    prompt, output = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    reasoning = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    total = as_count(usage.get("total_tokens"))
    if reasoning > output or (reasoning and total == prompt + output + reasoning):
        output += reasoning  # some exclude reasoning from the output (xAI, Gemini's compatible endpoint)
    sent, written = uncached(prompt, cached, written)
    return Usage(
        input=sent,
        output=output,
        reasoning=reasoning,
        cache_read=cached,
        cache_write=written,
        total=total or None,
        paid=_paid(usage),
    )


def _paid(usage: JsonObject) -> Decimal | None:
    """Return what OpenRouter says that a call cost, in USD; with a key of the user's own also what its provider asks.

    Source: https://openrouter.ai/docs/use-cases/usage-accounting
    """
    cost = usage.get("cost")
    own = as_object(usage.get("cost_details")).get("upstream_inference_cost") if usage.get("is_byok") is True else None
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < _MOST_PAID:
        return None
    more = own if isinstance(own, int | float) and not isinstance(own, bool) and 0 <= own < _MOST_PAID else 0
    return Decimal(repr(cost)) + Decimal(repr(more))
