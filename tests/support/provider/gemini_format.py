"""Gemini's format of the scripted model: an `Answer` as the responses of its stream, without an end marker."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.support.provider.model_script import Answer

FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
SIGNATURE = "c2lnbmVk"
_serial = itertools.count(1)


def gemini_stream(answer: Answer, usage: tuple[int, int, int]) -> Iterator[bytes]:
    """Yield the events; one piece is one response."""
    for response in gemini_responses(answer, usage):
        yield b"data: " + json.dumps(response).encode() + b"\r\n\r\n"


def gemini_responses(answer: Answer, usage: tuple[int, int, int]) -> Iterator[dict[str, Any]]:
    """Yield the responses. The first call is signed if the model thought; else the last text is, in a part of its own."""
    parts: list[dict[str, Any]] = [{"text": piece, "thought": True} for piece in answer.deltas(answer.reasoning)]
    parts += [{"text": piece} for piece in answer.deltas(answer.text)]
    for number, call in enumerate(answer.calls):
        signed = {"thoughtSignature": SIGNATURE} if answer.reasoning and not number else {}
        parts.append({"functionCall": _call(call.tool, call.raw(), call.id), **signed})
    if answer.reasoning and answer.text and not answer.calls:
        parts.append({"text": "", "thoughtSignature": SIGNATURE})
    for part in parts:
        yield _response([part], usage, 0)
    reason = FINISH.get(answer.finish or "stop", answer.finish)
    yield _response([{"text": ""}], usage, usage[1], finishReason=reason)


def _call(name: str, raw: str, identifier: str | None) -> dict[str, Any]:
    try:
        arguments = json.loads(raw)
    except ValueError:
        arguments = raw
    return {"id": identifier if identifier is not None else f"{next(_serial):08x}", "name": name, "args": arguments}


def _response(
    parts: list[dict[str, Any]], usage: tuple[int, int, int], received: int, **fields: object
) -> dict[str, Any]:
    sent, _, cached = usage
    counted: dict[str, Any] = {"promptTokenCount": sent, "totalTokenCount": sent + received}
    counted |= {"candidatesTokenCount": received} if received else {}
    counted |= {"cachedContentTokenCount": cached} if cached else {}
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **fields}
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": "fake-model", "responseId": "r"}
