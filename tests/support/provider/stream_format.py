"""The wire formats of the scripted model: an `Answer` as the body chunks that a provider's API would send."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from tests.support.provider.chat_view import as_chat
from tests.support.provider.gemini_format import gemini_stream
from tests.support.provider.model_script import Answer, Api, Call, content_text
from tests.support.provider.responses_format import response_whole, responses_stream

_ANTHROPIC_FINISH = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_serial = itertools.count(1)


def body_chunks(answer: Answer, *, api: Api, body: dict[str, Any]) -> Iterator[bytes]:
    """Yield the answer's body piece by piece; one piece is one delta."""
    if answer.chunks is not None:
        yield from answer.chunks
        return
    if api == "gemini":
        yield from gemini_stream(answer, _usage(answer, body))
        return
    if api == "responses":
        usage = _usage(answer, body)
        whole = json.dumps(response_whole(answer, body, usage)).encode()
        yield from responses_stream(answer, body, usage) if body.get("stream") else [whole]
        return
    if not body.get("stream"):
        yield json.dumps(_openai_whole(answer, body) if api == "openai" else _anthropic_whole(answer, body)).encode()
        return
    yield from _openai_stream(answer, body) if api == "openai" else _anthropic_stream(answer, body)


def _usage(answer: Answer, body: dict[str, Any]) -> tuple[int, int, int]:
    if answer.usage is not None:
        return answer.usage
    body = as_chat(body)
    texts = [body.get("system"), *(message.get("content") for message in body.get("messages", []))]
    sent = sum(len(content_text(text)) for text in texts)
    return max(1, sent // 4), max(1, len(answer.text) // 4), 0


def _finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _halves(text: str) -> list[str]:
    """Return a call's arguments as a provider slices them: without regard for the JSON."""
    cut = len(text) // 2
    return [piece for piece in (text[:cut], text[cut:]) if piece]


def _identifier(call: Call, prefix: str) -> str:
    return call.id if call.id is not None else f"{prefix}_{time.time_ns():x}_{next(_serial)}"


def _openai_usage(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    sent, received, cached = _usage(answer, body)
    return {
        "prompt_tokens": sent,
        "completion_tokens": received,
        "total_tokens": sent + received,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _openai_stream(answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.get("model"),
    }

    def chunk(delta: dict[str, Any] | None, finish: str | None = None, **extra: object) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return b"data: " + json.dumps({**head, **extra, "choices": choices}).encode() + b"\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.deltas(answer.reasoning):
        yield chunk({"reasoning_content": piece})
    for piece in answer.deltas(answer.text):
        yield chunk({"content": piece})
    for index, call in enumerate(answer.calls):
        start = {"index": index, "id": _identifier(call, "call"), "type": "function"}
        yield chunk({"tool_calls": [{**start, "function": {"name": call.tool, "arguments": ""}}]})
        for piece in _halves(call.raw()):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(answer))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield chunk(None, usage=_openai_usage(answer, body))
    yield b"data: [DONE]\n\n"


def _openai_whole(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": _identifier(call, "call"),
                "type": "function",
                "function": {"name": call.tool, "arguments": call.raw()},
            }
            for call in answer.calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(answer)}],
        "usage": _openai_usage(answer, body),
    }


def _anthropic_blocks(answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each content block as its start and its deltas."""
    if answer.reasoning:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in answer.deltas(answer.reasoning)]
        start = {"type": "thinking", "thinking": "", "signature": ""}
        yield start, [*pieces, {"type": "signature_delta", "signature": "c2lnbmVk"}]
    if answer.text:
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": piece} for piece in answer.deltas(answer.text)],
        )
    for call in answer.calls:
        start = {"type": "tool_use", "id": _identifier(call, "toolu"), "name": call.tool, "input": {}}
        yield start, [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_halves(call.raw())]]


def _anthropic_message(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    sent, _, cached = _usage(answer, body)
    return {
        "id": f"msg_{next(_serial)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": sent - cached, "cache_read_input_tokens": cached, "output_tokens": 1},
    }


def _anthropic_stream(answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
    def event(kind: str, **fields: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    yield event("message_start", message=_anthropic_message(answer, body))
    yield event("ping")
    for index, (start, deltas) in enumerate(_anthropic_blocks(answer)):
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    reason = _ANTHROPIC_FINISH.get(_finish(answer), _finish(answer))
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": _usage(answer, body)[1]})
    yield event("message_stop")


def _anthropic_whole(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for call in answer.calls:
        used = json.loads(call.raw())
        content.append({"type": "tool_use", "id": _identifier(call, "toolu"), "name": call.tool, "input": used})
    message = _anthropic_message(answer, body)
    message["usage"]["output_tokens"] = _usage(answer, body)[1]
    return {**message, "content": content, "stop_reason": _ANTHROPIC_FINISH.get(_finish(answer), "end_turn")}
