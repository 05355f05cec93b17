"""OpenAI's Responses format of the scripted model: an `Answer` as the numbered events of its stream."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.support.provider.model_script import Answer

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def responses_stream(answer: Answer, body: dict[str, Any], usage: tuple[int, int, int]) -> Iterator[bytes]:
    """Yield the events; one piece is one event."""
    numbers = itertools.count()

    def event(kind: str, **fields: object) -> bytes:
        data = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()

    head = {"id": "resp_1", "object": "response", "model": body.get("model"), "created_at": 1, "error": None}
    yield event("response.created", response={**head, "status": "in_progress", "output": []})
    yield event("response.in_progress", response={**head, "status": "in_progress", "output": []})
    output = []
    for index, item in enumerate(response_items(answer, encrypts="include" in body)):
        output.append(item)
        opened = {**item, "status": "in_progress"}
        opened |= {name: [] for name in ("content", "summary") if name in item}
        opened |= {"arguments": ""} if "arguments" in item else {}
        yield event("response.output_item.added", output_index=index, item=opened)
        for kind, fields in _item_events(answer, item):
            yield event(kind, output_index=index, item_id=item["id"], **fields)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(*_end(answer), response={**head, **_ended(answer), "output": output, "usage": _usage(usage)})


def response_items(answer: Answer, *, encrypts: bool = True) -> list[dict[str, Any]]:
    """Return the output items of an answer."""
    items: list[dict[str, Any]] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{next(_serial)}", "summary": summary, "status": "completed"})
        if encrypts:
            items[0]["encrypted_content"] = "ZW5jcnlwdGVk"
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]
        items.append(
            {
                "type": "message",
                "id": f"msg_{next(_serial)}",
                "role": "assistant",
                "content": content,
                "status": "completed",
            }
        )
    for number, call in enumerate(answer.calls):
        named = {"call_id": _call_id(answer, number), "name": call.tool, "arguments": call.raw()}
        items.append({"type": "function_call", "id": f"fc_{next(_serial)}", **named, "status": "completed"})
    return items


def response_whole(answer: Answer, body: dict[str, Any], usage: tuple[int, int, int]) -> dict[str, Any]:
    """Return the answer as one object."""
    head = {"id": "resp_1", "object": "response", "model": body.get("model"), "created_at": 1, "error": None}
    return {**head, **_ended(answer), "output": response_items(answer), "usage": _usage(usage)}


_serial = itertools.count(1)


def _call_id(answer: Answer, number: int) -> str:
    given = answer.calls[number].id
    return given if given is not None else f"call_{next(_serial):06}"


def _item_events(answer: Answer, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match item["type"]:
        case "reasoning":
            part, at = item["summary"][0], {"summary_index": 0}
            yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
            for piece in answer.deltas(answer.reasoning):
                yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
            yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
            yield "response.reasoning_summary_part.done", {**at, "part": part}
        case "message":
            part, at = item["content"][0], {"content_index": 0}
            yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
            for piece in answer.deltas(answer.text):
                yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
            yield "response.content_part.done", {**at, "part": part}
        case _:
            raw, cut = item["arguments"], len(item["arguments"]) // 2
            for piece in filter(None, (raw[:cut], raw[cut:])):
                yield "response.function_call_arguments.delta", {"delta": piece}
            yield "response.function_call_arguments.done", {"arguments": raw, "name": item["name"]}


def _end(answer: Answer) -> tuple[str]:
    return (f"response.{_ended(answer)['status']}",)


def _ended(answer: Answer) -> dict[str, Any]:
    if answer.finish == "error":
        failed = {"code": "server_error", "message": "The server had an error while it answered."}
        return {"status": "failed", "error": failed, "incomplete_details": None}
    if reason := _INCOMPLETE.get(answer.finish or "", answer.finish and answer.finish not in ("stop", "tool_calls")):
        return {
            "status": "incomplete",
            "incomplete_details": {"reason": reason if reason is not True else answer.finish},
        }
    return {"status": "completed", "incomplete_details": None}


def _usage(usage: tuple[int, int, int]) -> dict[str, Any]:
    sent, received, cached = usage
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": received,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + received,
    }
