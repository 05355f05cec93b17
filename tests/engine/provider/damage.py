"""Streams of all four formats, and what can happen to them on their way: a strategy for each kind of damage."""

import json
from typing import Any, Literal

from hypothesis import strategies as st

from tests.engine.provider.test_stream_corpus import CASES, chunks_of
from tests.support.provider.model_script import Answer, Api, Call
from tests.support.provider.stream_format import body_chunks

Damage = Literal["cut off", "garbage", "twice", "missing", "error", "value"]
Stream = tuple[str, bytes]
APIS: tuple[Api, ...] = ("openai", "responses", "anthropic", "gemini")

_CALLS = (Call("read", {"path": "a.py"}, "c1"), Call("write", {"path": "ü/b", "content": 'x\n"y" \\ {'}, "c2"))
ANSWERS = (
    Answer(text="Hello, it is I."),
    Answer(text="Zwölf 中文 😀 x", delta_size=1),
    Answer(text="ha ha ha ha ", delta_size=3),
    Answer(reasoning="First I look. Then I see.", text="Done."),
    Answer(reasoning="I need both.", text="I look.", calls=_CALLS, usage=(100, 20, 30)),
    Answer(calls=_CALLS[:1]),
    Answer(calls=(Call("read", {}, "c1"), Call("read", {}, "c2"))),
    Answer(text="half", calls=(Call("read", '{"path": "a', "c1"),), finish="length"),
    Answer(text="I may not", finish="content_filter"),
    Answer(text="<think>hm</think>\nSo.", delta_size=5),
    Answer(text="x" * 3_000, delta_size=500),
)
BY_API: dict[str, list[Stream]] = {
    api: [(api, b"".join(body_chunks(one, api=api, body={"stream": True, "include": []}))) for one in ANSWERS]
    for api in APIS
}
for _case in CASES:
    _body = b"".join(chunks_of(_case))
    if _case["status"] == 200 and not _case.get("gen") and not _case.get("bytewise") and _body:
        BY_API["anthropic" if _case["api"] == "anthropic" else "openai"].append((_case["api"], _body))
STREAMS = [stream for streams in BY_API.values() for stream in streams]

_GARBAGE = (
    b"garbage",
    b"data: {oops",
    b"data: [1, 2",
    b"data:",
    b"data: null",
    b"data: 7",
    b'data: "text"',
    b"data: []",
    b"data: {}",
    b": comment",
    b"event: unknown",
    b"retry: 10",
    b"id",
    b"\x00\xff\xfe",
    b"data: \xff",
)
_ERRORS = (
    b'data: {"error": {"message": "overloaded", "code": 503, "status": "UNAVAILABLE"}}',
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
    b'event: error\ndata: {"type": "error", "code": "server_error", "message": "oops", "error": {"message": "oops"}}',
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn, streams: list[Stream]) -> tuple[Damage, Stream, bytes]:
    """Return a kind of damage, the stream as it was sent, and as it arrives."""
    sent = draw(st.sampled_from(streams))
    stream = sent[1]
    kind: Damage = draw(st.sampled_from(["cut off", "garbage", "twice", "missing", "error", "value"]))
    if kind == "cut off":
        return kind, sent, stream[: draw(st.integers(0, len(stream) - 1))]
    ending = b"\r\n\r\n" if b"\r\n\r\n" in stream else b"\n\n"
    events = stream.split(ending)[:-1]
    at = draw(st.integers(0, len(events)))
    match kind:
        case "garbage":
            events.insert(at, draw(st.sampled_from(_GARBAGE)))
        case "error":
            events.insert(at, draw(st.sampled_from(_ERRORS)))
        case "twice":
            last = min(len(events), at + draw(st.integers(1, 3)))
            events[last:last] = events[at:last]
        case "missing":
            del events[at : at + draw(st.integers(1, 3))]
        case "value" if at < len(events):
            events[at] = _with_other_value(events[at], draw)
        case _:
            pass
    return kind, sent, b"".join(event + ending for event in events)


def _with_other_value(event: bytes, draw: st.DrawFn) -> bytes:
    head, _, data = event.rpartition(b"data: ")
    try:
        value: Any = json.loads(data)
    except ValueError:
        return event
    place: Any = value
    while isinstance(place, dict | list) and place:
        holder, key = place, draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place = holder[key]
        if draw(st.booleans()):
            holder[key] = draw(JSON)
            break
    return head + b"data: " + json.dumps(value).encode()
