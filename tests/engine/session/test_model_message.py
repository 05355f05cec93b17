import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    MediaBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.request.model_message import CONTINUE, INTERRUPTED, to_model_messages
from opencode_tui.schema.model import Parameters
from opencode_tui.schema.session.part import FilePart, SubtaskPart
from opencode_tui.schema.session.stored_error import ApiData, StoredApiError, aborted
from tests.support.sessions.records import (
    MODEL,
    assistant,
    call,
    compaction,
    image,
    owner,
    reasoning,
    step_start,
    text,
    user,
)

SEES = MODEL.changed(attachment=True)


def test_text_and_calls_become_entries_with_their_results_right_after():
    messages = [user("do it"), assistant(step_start(), "ok", call("c1"), finish="tool-calls"), user("thanks")]
    assert to_model_messages(messages, MODEL) == (
        UserEntry((TextBlock("do it"),)),
        AssistantEntry((TextBlock("ok"), CallBlock("c1", "read", {"filePath": "a"}))),
        ToolEntry((ResultBlock("c1", "read", "out"),)),
        UserEntry((TextBlock("thanks"),)),
    )


def test_ignored_text_is_not_sent_and_synthetic_text_is():
    (entry,) = to_model_messages([user(text("a", ignored=True), text("b", synthetic=True))], MODEL)
    assert entry == UserEntry((TextBlock("b"),))


def test_synthetic_text_of_an_answer_is_sent():
    entries = to_model_messages([user("x"), assistant(text("a", synthetic=True)), user("y")], MODEL)
    assert entries[1] == AssistantEntry((TextBlock("a"),))


def test_messages_without_anything_to_send_vanish():
    assert to_model_messages([user(), user(text("  ")), assistant(step_start())], MODEL) == ()
    assert to_model_messages([user(), user("next")], MODEL) == (UserEntry((TextBlock("next"),)),)


def test_each_part_of_a_request_is_sent_as_what_it_is():
    plain = FilePart(**owner(), mime="text/plain", filename="a.txt", url="data:text/plain;base64,eA==")
    folder = plain.changed(mime="application/x-directory", url="file:///p")
    task = SubtaskPart(**owner(), prompt="look", description="d", agent="explore")
    parts = [text("ignored", ignored=True), image(), plain, folder, compaction(), task]
    (entry,) = to_model_messages([user("hi", *parts)], SEES)
    assert entry == UserEntry(
        (
            TextBlock("hi"),
            MediaBlock("image/png", "iVBOR", "a.png"),
            TextBlock("What did we do so far?"),
            TextBlock("The user ran this as a subtask of agent explore: look"),
        )
    )


def with_picture(**fields):
    picture = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,iVBOR"}
    part: Any = call("c1", metadata={"openai": {"k": 1}})
    return assistant(part.changed(state=part.state.changed(attachments=[picture])), finish="tool-calls", **fields)


def test_attachments_of_a_tool_are_sent_with_its_result():
    _, asked, given = to_model_messages([user("x"), with_picture()], SEES)
    assert asked == AssistantEntry((CallBlock("c1", "read", {"filePath": "a"}, {"openai": {"k": 1}}),))
    picture = MediaBlock("image/png", "iVBOR", "a.png")
    assert given == ToolEntry((ResultBlock("c1", "read", "out", media=(picture,)),))


def test_another_model_gets_a_tools_picture_without_what_only_its_provider_knows():
    _, asked, _ = to_model_messages([user("x"), with_picture(model_id="other")], SEES)
    assert asked == AssistantEntry((CallBlock("c1", "read", {"filePath": "a"}),))


def test_a_failed_call_is_answered_with_its_error():
    _, _, given = to_model_messages([user("x"), assistant(call("c1", status="error", output="no such file"))], MODEL)
    assert given == ToolEntry((ResultBlock("c1", "read", "no such file", is_error=True),))


def test_an_interrupted_call_is_answered_with_an_error():
    for status in ("pending", "running"):
        messages = [user("x"), assistant(call("c1", status=status), finish=None, error=aborted())]
        assert to_model_messages(messages, MODEL)[2] == ToolEntry(
            (ResultBlock("c1", "read", INTERRUPTED, is_error=True),)
        )


def test_a_failed_answer_is_not_sent_and_an_aborted_one_is():
    failed = assistant("half", finish=None, error=StoredApiError(data=ApiData(message="500")))
    assert to_model_messages([user("x"), failed, user("y")], MODEL) == (UserEntry((TextBlock("x"), TextBlock("y"))),)
    kept = to_model_messages([user("x"), assistant("half ", error=aborted()), user("y")], MODEL)
    assert kept[1] == AssistantEntry((TextBlock("half"),))


def test_of_an_aborted_answer_thoughts_alone_are_left_out():
    thought = reasoning("hm", metadata={"anthropic": {"signature": "s"}})
    alone = assistant(step_start(), thought, error=aborted())
    assert to_model_messages([user("x"), alone, user("y")], MODEL) == (UserEntry((TextBlock("x"), TextBlock("y"))),)
    _, kept, _ = to_model_messages([user("x"), assistant(thought, "half", error=aborted()), user("y")], MODEL)
    assert kept == AssistantEntry((ThinkingBlock("hm", {"anthropic": {"signature": "s"}}), TextBlock("half")))


def test_texts_of_two_steps_in_one_message_stay_one_answer():
    _, entry, _ = to_model_messages([user("x"), assistant("one", step_start(), "two"), user("y")], MODEL)
    assert entry == AssistantEntry((TextBlock("one"), TextBlock("two")))


def test_a_pruned_output_is_the_literal_of_the_original():
    entries = to_model_messages([user("x"), assistant(call("c1", pruned=True)), user("y")], MODEL)
    assert entries[2] == ToolEntry((ResultBlock("c1", "read", "[Old tool result content cleared]"),))


def test_call_ids_are_unique_and_plain_in_the_whole_history():
    again = [assistant(call("functions.read:0"), finish="tool-calls") for _ in range(2)]
    entries = to_model_messages([user("x"), *again, user("y")], MODEL)
    blocks = [block for entry in entries if isinstance(entry, AssistantEntry) for block in entry.content]
    calls = [block.id for block in blocks if isinstance(block, CallBlock)]
    results = [result.id for entry in entries if isinstance(entry, ToolEntry) for result in entry.results]
    assert calls == results == ["functions_read_0", "functions_read_0_2"]


def test_reasoning_is_sent_only_to_the_model_that_produced_it():
    thought = reasoning("hm", metadata={"anthropic": {"signature": "s"}})
    own = to_model_messages([user("x"), assistant(thought, "a"), user("y")], MODEL)
    assert own[1] == AssistantEntry((ThinkingBlock("hm", {"anthropic": {"signature": "s"}}), TextBlock("a")))
    other = to_model_messages([user("x"), assistant(thought, "a", model_id="other"), user("y")], MODEL)
    assert other[1] == AssistantEntry((TextBlock("a"),))


def test_thoughts_without_what_their_provider_needs_are_left_out():
    entries = to_model_messages([user("x"), assistant(reasoning("hm"), "a"), user("y")], MODEL)
    assert entries[1] == AssistantEntry((TextBlock("a"),))


def test_provider_metadata_of_a_call_is_sent_only_to_its_model():
    messages = [user("x"), assistant(call("c", metadata={"g": 1}), model_id="other"), user("y")]
    assert to_model_messages(messages, MODEL)[1] == AssistantEntry((CallBlock("c", "read", {"filePath": "a"}),))


def test_a_history_that_ends_with_the_model_is_continued_by_the_user():
    entries = to_model_messages([user("x"), assistant("half", error=aborted())], MODEL)
    assert entries[-1] == UserEntry((TextBlock(CONTINUE),))


def test_a_history_that_begins_with_the_model_gets_a_beginning():
    assert isinstance(to_model_messages([assistant("a"), user("b")], MODEL)[0], UserEntry)


def test_a_compaction_marker_asks_what_was_done():
    (entry,) = to_model_messages([user(compaction())], MODEL)
    assert entry == UserEntry((TextBlock("What did we do so far?"),))


def test_images_are_sent_to_models_that_accept_them_and_named_to_others():
    seen: Any
    told: Any
    (seen,) = to_model_messages([user("x", image())], SEES)
    assert seen.content[1] == MediaBlock("image/png", "iVBOR", "a.png")
    (told,) = to_model_messages([user("x", image())], MODEL)
    assert isinstance(told.content[1], TextBlock) and "a.png" in told.content[1].text


@pytest.mark.slow
def test_media_over_the_budget_lose_the_oldest_first():
    four_megabytes = "A" * (4 * 1024 * 1024)
    entry: Any
    (entry,) = to_model_messages([user(*[image(four_megabytes, f"{n}.png") for n in range(7)])], SEES)
    kept = [block.filename for block in entry.content if isinstance(block, MediaBlock)]
    assert kept == ["2.png", "3.png", "4.png", "5.png", "6.png"]


@pytest.mark.parametrize(
    ("count", "first_kept"), [(7, 0), (8, 0), (9, 2), (10, 2), (11, 4), (12, 4), (16, 8), (17, 10), (100, 92)]
)
def test_more_images_than_a_provider_allows_lose_the_oldest_a_quarter_at_a_time(count: int, first_kept: int):
    groq = SEES.changed(parameters=Parameters(images=8))
    entry: Any
    (entry,) = to_model_messages([user(*[image("A", f"{n}.png") for n in range(count)])], groq)
    kept = [block.filename for block in entry.content if isinstance(block, MediaBlock)]
    assert kept == [f"{n}.png" for n in range(first_kept, count)] and len(kept) <= 8
    left_out = [block.text for block in entry.content if isinstance(block, TextBlock) and "left out" in block.text]
    assert len(left_out) == first_kept and all("too many images" in text for text in left_out)


def test_lone_surrogates_become_something_that_can_be_sent():
    (entry,) = to_model_messages([user("a\ud800b")], MODEL)
    assert entry == UserEntry((TextBlock("a?b"),))


PARTS = st.one_of(
    st.text(string.ascii_letters + " \n\ud800", max_size=5).map(text),
    st.builds(
        call,
        st.sampled_from(["c1", "c2", "", "a b", "x" * 90]),
        status=st.sampled_from(["pending", "running", "completed", "error"]),
        output=st.sampled_from(["", " ", "out"]),
        pruned=st.booleans(),
    ),
    st.builds(reasoning, st.text(max_size=3), metadata=st.sampled_from([None, {"anthropic": {"signature": "s"}}])),
    st.builds(step_start),
    st.builds(image),
    st.builds(compaction),
)
ERRORS = st.sampled_from([None, aborted(), StoredApiError(data=ApiData(message="no"))])
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda parts: user(*parts), st.lists(PARTS, max_size=4)),
        st.builds(lambda parts, error: assistant(*parts, error=error), st.lists(PARTS, max_size=4), ERRORS),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=100)
@given(MESSAGES)
def test_every_history_gives_a_valid_conversation(messages):
    entries = to_model_messages(messages, SEES)
    seen: set[str] = set()
    for previous, entry in zip((None, *entries), entries, strict=False):
        match entry:
            case UserEntry():
                assert not isinstance(previous, UserEntry)
                assert entry.content
            case AssistantEntry():
                assert isinstance(previous, UserEntry | ToolEntry)
                assert any(not isinstance(block, ThinkingBlock) for block in entry.content)
            case ToolEntry():
                assert isinstance(previous, AssistantEntry)
                asked = [block.id for block in previous.content if isinstance(block, CallBlock)]
                assert [result.id for result in entry.results] == asked
                assert not seen & set(asked) and len(set(asked)) == len(asked)
                seen |= set(asked)
                assert all(result.text for result in entry.results)
        for block in getattr(entry, "content", ()):
            if isinstance(block, TextBlock):
                assert block.text.strip()
                block.text.encode("utf-8")
            if isinstance(block, CallBlock):
                assert 1 <= len(block.id) <= 64
    if entries:
        assert isinstance(entries[0], UserEntry) and not isinstance(entries[-1], AssistantEntry)
    asked_without_answer = [
        entry
        for entry, after in zip(entries, (*entries[1:], None), strict=False)
        if isinstance(entry, AssistantEntry)
        and any(isinstance(block, CallBlock) for block in entry.content)
        and not isinstance(after, ToolEntry)
    ]
    assert asked_without_answer == []
