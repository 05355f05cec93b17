from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.llm import (
    FinishStep,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    Usage,
)
from opencode_tui.engine.session.step.part_machine import Grew, PartMachine, Stored
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.part import PartTime, ReasoningPart, TextPart, ToolPart

END = FinishStep("stop", Usage())


def run(events) -> Any:
    machine = PartMachine(session_id="ses_1", message_id="msg_1", identifier=Identifier(lambda: 5), clock=lambda: 9)
    return machine, [change for event in events for change in machine.apply(event)]


def stored(changes) -> Any:
    return {change.part.id: change.part for change in changes if isinstance(change, Stored)}.values()


def test_text_is_begun_empty_grows_and_is_closed_trimmed():
    _, changes = run([TextStart("0"), TextDelta("0", " Hel"), TextDelta("0", "lo \n"), TextEnd("0"), END])
    assert [change.delta for change in changes if isinstance(change, Grew)] == [" Hel", "lo \n"]
    begun: Any
    closed: Any
    begun, closed = [change.part for change in changes if isinstance(change, Stored)]
    assert begun.text == "" and begun.time == PartTime(start=9)
    assert closed.text == " Hello" and closed.time == PartTime(start=9, end=9)


def test_a_block_without_text_leaves_no_part():
    assert run([TextStart("0"), TextDelta("0", ""), TextEnd("0"), END])[1] == []


def test_reasoning_keeps_what_its_provider_needs():
    events = [ReasoningStart("r"), ReasoningDelta("r", "hm"), ReasoningEnd("r", {"anthropic": {"signature": "s"}})]
    (part,) = stored(run([*events, END])[1])
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.metadata) == ("hm", {"anthropic": {"signature": "s"}})


def test_hidden_reasoning_without_text_is_kept_for_its_metadata():
    events = [ReasoningStart("r"), ReasoningEnd("r", {"anthropic": {"redacted": "x"}}), END]
    (part,) = stored(run(events)[1])
    assert part.metadata == {"anthropic": {"redacted": "x"}}


def test_a_call_is_pending_until_the_stream_has_ended():
    call = ToolCall("c1", "read", {"filePath": "a"})
    events = [ToolInputStart("c1", "read"), ToolInputDelta("c1", '{"file'), ToolInputEnd("c1"), call, END]
    machine, changes = run(events)
    (part,) = stored(changes)
    assert isinstance(part, ToolPart) and part.state.status == "pending"
    assert machine.calls == [(part, call)] and machine.finish == END


def test_open_texts_are_closed_when_the_stream_breaks_off():
    machine, _ = run([TextDelta("0", "half ")])
    change: Any
    (change,) = machine.close_open()
    assert change.part.text == "half" and change.part.time.end == 9
    assert machine.close_open() == []


@pytest.mark.slow
@given(st.text(min_size=1).filter(str.strip), st.lists(st.integers(1, 5)))
def test_any_split_of_the_deltas_gives_the_same_part(text, sizes):
    pieces, rest = [], text
    for size in sizes:
        pieces, rest = [*pieces, rest[:size]], rest[size:]
    deltas = [TextDelta("0", piece) for piece in [*pieces, rest]]
    (part,) = stored(run([TextStart("0"), *deltas, END])[1])
    assert isinstance(part, TextPart)
    assert part.text == text.rstrip()
