"""The one normalizer: deltas of any adapter to the events of the contract."""

from collections.abc import Sequence

import pytest

from opencode_tui.engine.provider.decode.delta import (
    MalformedChunk,
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
from opencode_tui.engine.provider.decode.openai_chat import OpenAiChatDecoder
from opencode_tui.engine.provider.llm import (
    FinishStep,
    ProviderSearch,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    Usage,
)
from opencode_tui.engine.provider.normalize import Normalizer, closing_events


def hear(*deltas: WireDelta) -> list[StreamEvent]:
    normalizer = Normalizer("anthropic", tools=("read",))
    return [event for delta in deltas for event in normalizer.push([delta])] + normalizer.finish()


def test_a_response_has_the_order_of_the_contract() -> None:
    thought = WireReasoning("hm", 0, {"signature": "S"})
    used = Usage(input=3, output=4)
    deltas = (
        thought,
        WireStop(0),
        WireText("I", 1),
        WireText(" see", 1),
        WireStop(1),
        WireCall(2, "c", "read", "{}"),
        WireUsage(used),
    )
    assert hear(*deltas, WireFinish("tool-calls")) == [
        ReasoningStart("reasoning-0"),
        ReasoningDelta("reasoning-0", "hm"),
        ReasoningEnd("reasoning-0", {"anthropic": {"signature": "S"}}),
        TextStart("text-1"),
        TextDelta("text-1", "I"),
        TextDelta("text-1", " see"),
        TextEnd("text-1"),
        ToolInputStart("c", "read"),
        ToolInputDelta("c", "{}"),
        ToolInputEnd("c"),
        ToolCall("c", "read", {}),
        FinishStep("tool-calls", used),
    ]


def test_text_after_a_call_is_a_block_of_its_own() -> None:
    events = hear(WireText("a"), WireCall(0, "c", "read", "{}"), WireText("b"), WireFinish("stop"))
    kinds = [type(event).__name__ for event in events if type(event).__name__.endswith("Start")]
    assert kinds == ["TextStart", "ToolInputStart", "TextStart"]


def test_a_thought_in_the_text_of_a_block_stays_in_that_block() -> None:
    events = hear(WireText("<think>hm</think>", 3), WireText("a", 3), WireStop(3), WireFinish("stop"))
    assert events == [
        ReasoningStart("reasoning-0"),
        ReasoningDelta("reasoning-0", "hm"),
        TextStart("text-1"),
        TextDelta("text-1", "a"),
        ReasoningEnd("reasoning-0"),
        TextEnd("text-1"),
        FinishStep("stop", Usage()),
    ]


def test_two_halves_of_a_character_become_one() -> None:
    events = hear(WireText("a\ud83d"), WireText("\ude00b"), WireFinish("stop"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "a😀b"


def test_half_a_character_becomes_a_mark() -> None:
    events = hear(WireText("a\ud800"), WireText("b\udc00c"), WireText("\ud83d"), WireFinish("stop"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "a\ufffdb\ufffdc\ufffd"


def test_calls_decide_over_the_finish_reason() -> None:
    call = WireCall(0, "c", "read", "{}")
    reasons = [hear(*deltas)[-1] for deltas in ((call, WireFinish("stop")), (call, WireEnd()))]
    assert [reason.reason for reason in reasons if isinstance(reason, FinishStep)] == ["tool-calls", "tool-calls"]


@pytest.mark.parametrize("deltas", [(), (WireText("Let me look."),), (WireReasoning("look"),), (WireText(""),)])
def test_a_response_that_lacks_the_call_for_which_it_ended_is_no_end(deltas: Sequence[WireDelta]) -> None:
    normalizer = Normalizer("fake")
    normalizer.push([*deltas, WireFinish("tool-calls"), WireEnd()])
    end = closing_events(normalizer, "fake", secrets=(), now_ms=0)[-1]
    assert isinstance(end, FinishStep) and (end.reason, end.lacks_call) == ("unknown", True)


def test_a_call_that_the_limit_cut_before_its_arguments_is_not_to_be_run() -> None:
    events = hear(WireCall(0, "c", "read", ""), WireFinish("length"))
    assert [event.error is None for event in events if isinstance(event, ToolCall)] == [False]


def test_nothing_of_a_damaged_answer_is_to_be_run() -> None:
    events = hear(
        WireCall(0, "c", "read", '{"path": '),
        MalformedChunk("{oops"),
        WireCall(0, None, None, '"a"}'),
        WireFinish("stop"),
    )
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.input, call.raw) for call in calls] == [({}, '{"path": "a"}')]
    assert calls[0].error


def test_an_answer_is_whole_only_with_an_end() -> None:
    states: list[bool] = []
    for deltas in ([WireText("a")], [WireEnd()], [WireText("a"), WireEnd()], [WireFinish("stop")]):
        normalizer = Normalizer("openai")
        normalizer.push(deltas)
        states.append(normalizer.is_whole)
    assert states == [False, False, True, True]


def test_metadata_is_stored_under_the_name_of_the_provider() -> None:
    events = hear(
        WireText("a", 0, {"phase": "p"}),
        WireText("", 9, {"lost": 1}),
        WireCall(1, "c", "read", "{}", {"id": "x"}),
        WireFinish("stop"),
    )
    assert TextEnd("text-0", {"anthropic": {"phase": "p"}}) in events
    assert ToolCall("c", "read", {}, metadata={"anthropic": {"id": "x"}}) in events


def test_what_goes_back_to_the_provider_has_no_number_that_json_does_not_have() -> None:
    infinite = float("inf")
    events = hear(
        WireReasoning("r", None, {"details": [{"score": infinite}]}),
        WireSearch("s", {"query": "q", "n": -infinite}, [], "", {"found": [float("nan")]}),
        WireCall(1, "c", "read", "{}", {"extra_content": {"x": infinite}}),
        WireFinish("stop"),
    )
    assert ReasoningEnd("reasoning-0", {"anthropic": {"details": [{"score": None}]}}) in events
    assert ProviderSearch("s", {"query": "q", "n": None}, [], "", {"anthropic": {"found": [None]}}) in events
    assert ToolCall("c", "read", {}, metadata={"anthropic": {"extra_content": {"x": None}}}) in events


def test_an_error_after_the_reason_of_an_answer_adds_nothing() -> None:
    error = WireError({"error": {"code": 400, "message": "Token limit reached"}})
    for before, is_error in (
        ((WireText("a"), WireFinish("stop")), False),
        ((WireFinish("length"),), False),
        ((WireFinish("stop"),), True),
        ((WireText("a"), WireFinish("error")), True),
        ((WireText("a"),), True),
    ):
        normalizer = Normalizer("openai")
        normalizer.push([*before, error])
        assert (normalizer.error is not None) is is_error, before


def test_the_usage_beside_an_error_counts() -> None:
    decoder = OpenAiChatDecoder()
    deltas: list[WireDelta] = []
    decoder.read_event({"error": {"code": 400}, "usage": {"prompt_tokens": 43, "completion_tokens": 10}}, deltas)
    assert deltas[0] == WireUsage(Usage(input=43, output=10))
