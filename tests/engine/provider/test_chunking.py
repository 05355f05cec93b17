"""How the bytes of an answer are cut must not show in what is heard."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.provider.reading import Heard, decode, gather
from tests.engine.provider.test_stream_corpus import CASES, chunks_of
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.stream_format import body_chunks

STREAMS = [
    (case["api"], b"".join(chunks_of(case)))
    for case in CASES
    if case["status"] == 200 and not case.get("gen") and not case.get("bytewise")
]


def said(api: str, chunks: list[bytes]) -> tuple[Any, ...]:
    """Return what was heard, without the ids that are made up."""
    heard: Heard = gather(*decode(api, chunks))
    calls = [(call.tool, call.input, call.raw, call.error) for call in heard.calls]
    error = heard.error and (str(heard.error), heard.error.failure)
    return heard.blocks, heard.metadata, calls, heard.finish, error


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(bounds)]


CUT_STREAMS = (st.sampled_from(STREAMS), st.lists(st.integers(0, 1 << 20), max_size=30))


def check_cut(case: tuple[str, bytes], places: list[int]) -> None:
    api, stream = case
    assert said(api, cut(stream, places)) == said(api, [stream])


@given(*CUT_STREAMS)
@settings(max_examples=300)
def test_any_cut_of_the_bytes_is_heard_alike(case: tuple[str, bytes], places: list[int]) -> None:
    check_cut(case, places)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ANSWERS = st.builds(
    Answer,
    text=WORDS,
    reasoning=WORDS,
    calls=st.lists(
        st.builds(Call, st.sampled_from(["read", "write", "other"]), st.dictionaries(WORDS, WORDS, max_size=3)),
        max_size=3,
    ).map(tuple),
    delta_size=st.integers(1, 9),
)


@given(ANSWERS, st.sampled_from(["openai", "anthropic"]), st.lists(st.integers(0, 1 << 20), max_size=20))
@settings(max_examples=200)
def test_what_was_said_is_heard(answer: Answer, api: Any, places: list[int]) -> None:
    stream = b"".join(body_chunks(answer, api=api, body={"stream": True}))
    heard = gather(*decode(api, cut(stream, places)))
    if not (answer.text or answer.reasoning or answer.calls):
        return
    thought, text = heard.joined("reasoning"), heard.joined("text")
    assert (text, thought) == (answer.text, answer.reasoning) or "<think>" in answer.text
    assert [(call.tool, call.input) for call in heard.calls] == [
        (call.tool, json.loads(call.raw())) for call in answer.calls
    ]


@given(st.sampled_from(["openai", "anthropic"]), st.lists(st.binary(max_size=60), max_size=8))
@settings(max_examples=200)
def test_bytes_that_no_model_sends_end_in_an_error_or_an_answer(api: str, chunks: list[bytes]) -> None:
    heard = gather(*decode(api, chunks))
    assert (heard.finish is None) != (heard.error is None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged_events(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """Real streams in which one value of one event has become anything else."""
    api, stream = draw(st.sampled_from(STREAMS))
    events = stream.split(b"\n\n")
    at = draw(st.integers(0, len(events) - 1))
    head, _, data = events[at].rpartition(b"data: ")
    try:
        value = json.loads(data)
    except ValueError:
        return api, [stream]
    place, key = value, None
    while isinstance(place, dict | list) and place:
        holder, key = place, draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place = holder[key]
        if draw(st.booleans()):
            holder[key] = draw(JSON)
            break
    events[at] = head + b"data: " + json.dumps(value).encode()
    return api, [b"\n\n".join(events)]


def check_damaged(case: tuple[str, list[bytes]]) -> None:
    heard = gather(*decode(*case))
    assert (heard.finish is None) != (heard.error is None)


@given(damaged_events())
@settings(max_examples=300)
def test_any_value_where_another_was_meant_ends_in_an_error_or_an_answer(case: tuple[str, list[bytes]]) -> None:
    check_damaged(case)
