"""How the bytes of an answer are cut must not show in what is heard."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.provider.damage import APIS, STREAMS, Damage, Stream, damaged
from tests.engine.provider.reading import Heard, decode, gather
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.stream_format import body_chunks


def said(api: str, chunks: list[bytes]) -> tuple[Any, ...]:
    """Return what was heard, without the ids that are made up."""
    heard: Heard = gather(*decode(api, chunks))
    calls = [(call.tool, call.input, call.raw, call.error) for call in heard.calls]
    error = heard.error and (str(heard.error), heard.error.failure)
    return heard.blocks, heard.metadata, calls, heard.finish, error


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(bounds)]


PLACES = st.lists(st.integers(0, 1 << 20), max_size=30)


def check_cut(case: Stream, places: list[int]) -> None:
    api, stream = case
    assert said(api, cut(stream, places)) == said(api, [stream])


@pytest.mark.slow
@given(st.sampled_from(STREAMS), PLACES)
@settings(max_examples=100)
def test_any_cut_of_the_bytes_is_heard_alike(case: Stream, places: list[int]) -> None:
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


@pytest.mark.slow
@given(ANSWERS, st.sampled_from(APIS), st.lists(st.integers(0, 1 << 20), max_size=20))
@settings(max_examples=100)
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


@given(st.sampled_from(APIS), st.lists(st.binary(max_size=60), max_size=8))
@settings(max_examples=100)
def test_bytes_that_no_model_sends_end_in_an_error_or_an_answer(api: str, chunks: list[bytes]) -> None:
    heard = gather(*decode(api, chunks))
    assert (heard.finish is None) != (heard.error is None)


def check_damaged(case: tuple[Damage, Stream, bytes]) -> None:
    """Fail unless a damaged stream ends in an answer or an error, and only calls that were made are to be run.

    Values that changed, and pieces of chat completions and of Anthropic that arrive twice or never, leave no trace in JSON that is
    valid all the same; the other two formats say each call at once, or again at its end.
    """
    kind, (api, sent), arrived = case
    heard = gather(*decode(api, [arrived]))
    assert (heard.finish is None) != (heard.error is None)
    if kind == "value" or (kind in ("twice", "missing") and api not in ("responses", "gemini")):
        return
    made = [(call.tool, call.input) for call in gather(*decode(api, [sent])).calls if call.error is None]
    run = [(call.tool, call.input) for call in heard.calls if call.error is None and heard.error is None]
    assert [call for call in run if call not in made] == []
    if kind == "twice" and api == "responses" and heard.error is None:
        assert said(api, [arrived])[:4] == said(api, [sent])[:4]
    if kind == "cut off" and heard.error is None and api != "openai-chat":  # of which some end before their text does
        assert heard.blocks == gather(*decode(api, [sent])).blocks


@pytest.mark.slow
@given(damaged(STREAMS))
@settings(max_examples=100)
def test_damage_ends_in_an_error_or_in_what_was_said(case: tuple[Damage, Stream, bytes]) -> None:
    check_damaged(case)
