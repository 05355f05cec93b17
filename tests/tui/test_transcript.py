"""Events and stored messages become the items that are seen, and cost the same however many there are."""

import pytest

from opencode_tui.schema.event.event import (
    BusLagged,
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.permission import ToolCallRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessageTime, Tokens
from opencode_tui.schema.session.part import AnyPart, PartTime, TextPart
from opencode_tui.schema.session.session import BusyStatus, IdleStatus, RevertState
from opencode_tui.schema.session.stored_error import ApiData, StoredApiError, aborted
from opencode_tui.tui.state.message import UndoneFile, UserItem
from opencode_tui.tui.state.transcript import Transcript
from tests.support.terminal.conversation import NOON, SESSION, Story, chat_dark, compaction_and_retry, refused_key
from tests.support.terminal.scripted_client import session


class Live:
    def __init__(self, part: AnyPart) -> None:
        self.part = part

    def record(self) -> AnyPart:
        return self.part


def kinds(transcript: Transcript) -> list[str]:
    return [item.kind for item in transcript.items if not item.is_hidden]


def give(transcript: Transcript, *messages: MessageWithParts) -> None:
    """Send what the engine sends for new messages."""
    for message in messages:
        transcript.apply(MessageUpdated(info=message.info))
        for part in message.parts:
            transcript.apply(PartUpdated(part=part))


def grown(part: TextPart, delta: str, so_far: str) -> PartGrowth:
    return PartGrowth(SESSION, part.message_id, part.id, delta, Live(part.changed(text=so_far)).record)


def streaming() -> tuple[Transcript, TextPart]:
    """A transcript with an answer that has just begun."""
    story, transcript = Story(), Transcript(SESSION)
    give(transcript, story.user("hi"), story.answer([story.text("", is_open=True)], end=None))
    return transcript, story.messages[-1].parts[0]  # pyright: ignore[reportReturnType] - it is the text


@pytest.mark.parametrize("make", [chat_dark, compaction_and_retry])
def test_events_give_the_same_items_as_a_load(make) -> None:
    story = make()
    loaded, told = story.transcript(), Transcript(SESSION)
    told.apply(SessionStatusChanged(session_id=SESSION, status=story.status))
    give(told, *story.messages)
    assert [(one.kind, one.id) for one in told.items] == [(one.kind, one.id) for one in loaded.items]


def test_growth_appends_without_reading_the_whole_text() -> None:
    transcript, part = streaming()
    transcript.pop_changes()
    transcript.apply(grown(part, "Hello", "Hello"))
    transcript.apply(grown(part, " there", "not read again"))
    item = transcript.item(part.id)
    assert item is not None and item.text == "Hello there"  # pyright: ignore[reportAttributeAccessIssue] - it is a text
    assert [one.id for one in transcript.pop_changes().dirty] == [part.id]


def test_a_text_is_hidden_until_its_first_letter_and_then_takes_its_place() -> None:
    transcript, part = streaming()
    transcript.pop_changes()
    transcript.apply(grown(part, "\n", "\n"))
    assert kinds(transcript) == ["user"]
    transcript.apply(grown(part, "Hi", "\nHi"))
    assert kinds(transcript) == ["user", "text"]
    assert transcript.pop_changes().moved_from == 1


def test_growth_after_a_load_takes_the_whole_once() -> None:
    story = Story()
    story.user("hi")
    answer = story.answer([story.text("Hel", is_open=True)], end=None)
    part = answer.parts[0]
    assert isinstance(part, TextPart)
    transcript = story.transcript(status=BusyStatus())
    transcript.apply(grown(part, "lo", "Hello wor"))  # the store lay behind
    transcript.apply(grown(part, "ld", "unread"))
    assert transcript.item(part.id).text == "Hello world"  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue] - it is there


def test_the_end_of_a_text_that_is_as_told_draws_nothing_anew() -> None:
    transcript, part = streaming()
    transcript.apply(grown(part, "Hello \n", "Hello \n"))
    transcript.apply(PartUpdated(part=part.changed(text="Hello", time=PartTime(start=NOON, end=NOON + 1))))
    item = transcript.item(part.id)
    assert (item.generation, item.is_closed) == (0, True)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue] - it is a text


def test_a_stored_text_that_differs_replaces_what_was_told() -> None:
    transcript, part = streaming()
    transcript.apply(grown(part, "Hello", "Hello"))
    transcript.apply(PartUpdated(part=part.changed(text="Bye", time=PartTime(start=NOON, end=NOON + 1))))
    item = transcript.item(part.id)
    assert (item.text, item.generation) == ("Bye", 1)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue] - it is a text


def test_the_dropped_text_of_a_retried_answer_goes() -> None:
    transcript, part = streaming()
    transcript.apply(grown(part, "Hello", "Hello"))
    transcript.apply(PartRemoved(session_id=SESSION, message_id=part.message_id, part_id=part.id))
    assert kinds(transcript) == ["user"]


def test_retries_of_one_call_are_one_item() -> None:
    items = [item for item in compaction_and_retry().transcript().items if item.kind == "retry"]
    assert [(len(item.attempts), item.provider) for item in items] == [(2, "anthropic")]  # pyright: ignore[reportAttributeAccessIssue] - they are retries


def test_a_turn_tells_its_time_and_cost_when_it_has_ended() -> None:
    story = Story()
    story.user("hi", "1")
    story.answer([], at="1", end="1:02", finish="tool-calls", cost=0.5)
    transcript = story.transcript()
    turn = transcript.items[0].turn  # pyright: ignore[reportAttributeAccessIssue] - it is the request
    assert turn.ended is None
    give(transcript, story.answer(["done"], at="1:03", end="1:06", cost=0.25))
    assert (turn.ended, turn.cost) == (turn.started + 6_000, 0.75)


def test_a_turn_that_failed_tells_no_duration() -> None:
    story = Story()
    story.user("hi", "1")
    story.answer([], at="1", end="2", error=refused_key())
    assert story.transcript().items[0].turn.ended is None  # pyright: ignore[reportAttributeAccessIssue] - it is the request


def test_a_turn_has_its_own_time_and_cost_when_a_queued_request_joined_it() -> None:
    story = Story()
    story.user("first", "1")
    story.answer([], at="1", end="1:10", finish="tool-calls", cost=0.5)
    story.user("queued", "1:05")
    transcript = story.transcript()
    give(transcript, story.answer(["both"], at="1:10", end="1:14", cost=0.25))
    first, queued = [item.turn for item in transcript.items if isinstance(item, UserItem)]
    assert (first.ended, first.cost, queued.ended, queued.cost) == (
        first.started + 10_000,
        0.5,
        first.started + 14_000,
        0.25,
    )


def test_the_row_of_a_turn_is_drawn_again_when_a_queued_request_joined_it() -> None:
    story = Story()
    story.user("first", "1")
    story.answer([], at="1", end="1:10", finish="tool-calls", cost=0.5)
    story.user("queued", "1:05")
    transcript = story.transcript()
    first = next(item for item in transcript.items if isinstance(item, UserItem))
    drawn = first.revision
    give(transcript, story.answer(["both"], at="1:10", end="1:14"))
    assert first.turn.ended is not None
    assert first.revision > drawn


def test_a_request_behind_an_open_turn_is_queued_until_it_is_answered() -> None:
    story, transcript = Story(), Transcript(SESSION)
    give(transcript, story.user("one"))
    transcript.apply(SessionStatusChanged(session_id=SESSION, status=BusyStatus()))
    assert transcript.queued == []
    give(transcript, story.answer(["…"], end=None))
    give(transcript, story.user("two"))
    assert [item.text for item in transcript.queued] == ["two"]
    give(transcript, story.answer(["…"], end=None))
    assert transcript.queued == []


def test_nothing_is_queued_when_the_session_is_idle() -> None:
    transcript = chat_dark().transcript()
    assert [item.text for item in transcript.queued] == ["Also add a line to the changelog."]
    transcript.apply(SessionStatusChanged(session_id=SESSION, status=IdleStatus()))
    assert transcript.queued == []


def test_growth_of_the_open_turn_stays_above_a_queued_request() -> None:
    transcript = chat_dark().transcript()
    story = Story()
    tool = next(item for item in transcript.items if item.kind == "tool" and item.part.state.status == "running")  # pyright: ignore[reportAttributeAccessIssue] - it is a call
    text = story.text("And now").changed(message_id=tool.message_id)
    transcript.apply(PartUpdated(part=text))
    assert kinds(transcript)[-2:] == ["text", "user"]
    assert [item.at for item in transcript.items] == list(range(len(transcript.items)))


def test_only_the_oldest_open_question_asks() -> None:
    story, transcript = Story(), Transcript(SESSION)
    calls = [story.running("bash", {"command": command}) for command in ("a", "b")]
    give(transcript, story.user("hi"), story.answer(calls, end=None))
    for number, call in enumerate(calls):
        reference = ToolCallRef(message_id=call.message_id, call_id=call.call_id)
        transcript.apply(
            PermissionAsked(id=f"per_{number}", session_id=SESSION, permission="bash", patterns=["*"], tool=reference)
        )
    tools = [item for item in transcript.items if item.kind == "tool"]
    assert [item.wait for item in tools] == ["asks", "waits"]  # pyright: ignore[reportAttributeAccessIssue] - they are calls
    transcript.apply(PermissionReplied(session_id=SESSION, request_id="per_0", reply="once"))
    assert [item.wait for item in tools] == ["", "asks"]  # pyright: ignore[reportAttributeAccessIssue] - they are calls


def test_the_last_call_of_a_turn_moves_on() -> None:
    story, transcript = Story(), Transcript(SESSION)
    give(transcript, story.user("hi"), story.answer([story.tool("bash", {"command": "a"})], finish="tool-calls"))
    give(transcript, story.answer([story.tool("bash", {"command": "b"})]))
    assert [item.is_last for item in transcript.items if item.kind == "tool"] == [False, True]  # pyright: ignore[reportAttributeAccessIssue] - they are calls


def test_progress_of_a_running_call_is_taken() -> None:
    story, transcript = Story(), Transcript(SESSION)
    call = story.running("bash", {"command": "a"}, output="")
    give(transcript, story.user("hi"), story.answer([call], end=None))
    call = story.messages[-1].parts[0]
    newer = call.changed(state=call.state.changed(metadata={"output": "line"}))  # pyright: ignore[reportAttributeAccessIssue] - it is a call
    transcript.apply(PartProgress(SESSION, call.message_id, call.id, Live(newer).record))
    shown = [item.part.state.metadata for item in transcript.items if item.kind == "tool"]  # pyright: ignore[reportAttributeAccessIssue] - it runs
    assert shown == [{"output": "line"}]


def test_an_interruption_is_told_once() -> None:
    story = Story()
    story.user("hi")
    story.answer([story.failed("bash", {"command": "a"}, "Tool execution aborted")], error=aborted())
    story.user("hi")
    story.answer(["half an ans"], error=aborted())
    assert kinds(story.transcript()) == ["user", "tool", "user", "text", "stop"]


def test_a_failure_stands_below_its_answer() -> None:
    story = Story()
    story.user("hi")
    error = StoredApiError(data=ApiData(message="overloaded", status_code=529))
    story.answer(["half an ans"], error=error)
    assert kinds(story.transcript()) == ["user", "text", "error"]


def test_a_compaction_tells_its_tokens_and_holds_its_summary() -> None:
    marker = next(item for item in compaction_and_retry().transcript().items if item.kind == "compaction")
    assert (marker.before, marker.after, marker.is_running) == (148_000, 21_000, False)  # pyright: ignore[reportAttributeAccessIssue] - it is the marker
    assert marker.summary.startswith("## Goal")  # pyright: ignore[reportAttributeAccessIssue] - it is the marker


def test_a_compaction_that_is_on_its_way_runs() -> None:
    story, transcript = Story(), Transcript(SESSION)
    give(transcript, story.user("hi"), story.answer(["done"], tokens=Tokens(input=150_000)))
    transcript.apply(SessionStatusChanged(session_id=SESSION, status=BusyStatus()))
    story.compaction("9")
    give(transcript, story.messages[-1])
    marker = transcript.items[-1]
    assert (marker.kind, marker.before, marker.is_running) == ("compaction", 150_000, True)  # pyright: ignore[reportAttributeAccessIssue] - it is the marker


def test_words_of_the_program_are_not_the_persons() -> None:
    story = Story()
    story.user("hi")
    story.answer(["one"])
    story.user("continue")
    story.messages[-1].parts[0] = story.messages[-1].parts[0].changed(synthetic=True)
    story.answer(["two"])
    assert kinds(story.transcript()) == ["user", "text", "text"]


def undone() -> tuple[Transcript, Story]:
    story = Story()
    story.user("one")
    story.answer(["first"])
    story.user("two")
    story.answer(["second", "third"])
    return story.transcript(), story


def test_an_undo_folds_its_stretch_into_one_item() -> None:
    transcript, story = undone()
    transcript.apply(SessionUpdated(info=session("reverted", revert=RevertState(message_id=story.messages[2].info.id))))
    assert kinds(transcript) == ["user", "text", "undo"]
    assert transcript.items[-1].messages == 2  # pyright: ignore[reportAttributeAccessIssue] - it is the undo
    transcript.apply(SessionUpdated(info=session("reverted", revert=None)))
    assert kinds(transcript) == ["user", "text", "user", "text", "text"]


def test_an_undo_of_a_part_keeps_what_stands_before_it() -> None:
    transcript, story = undone()
    answer = story.messages[3]
    transcript.apply(
        SessionUpdated(
            info=session("reverted", revert=RevertState(message_id=answer.info.id, part_id=answer.parts[1].id))
        )
    )
    assert kinds(transcript) == ["user", "text", "user", "text", "undo"]


def test_a_preview_shows_the_cut_and_takes_nothing() -> None:
    transcript, story = undone()
    transcript.preview_undo(story.messages[2].info.id)
    assert (kinds(transcript), transcript.cut_at) == (["user", "text", "undo", "user", "text", "text"], 2)
    transcript.end_preview()
    assert (kinds(transcript), transcript.cut_at) == (["user", "text", "user", "text", "text"], None)


def test_an_undo_tells_what_became_of_files() -> None:
    transcript, story = undone()
    message_id = story.messages[2].info.id
    transcript.show_undone(message_id, [UndoneFile("M", "a.py", "restored")])
    transcript.apply(SessionUpdated(info=session("reverted", revert=RevertState(message_id=message_id))))
    assert [file.path for file in transcript.items[-1].files] == ["a.py"]  # pyright: ignore[reportAttributeAccessIssue] - it is the undo


def test_a_removed_message_takes_its_items_along() -> None:
    transcript, story = undone()
    for message in story.messages[2:]:
        transcript.apply(MessageRemoved(session_id=SESSION, message_id=message.info.id))
    assert kinds(transcript) == ["user", "text"]


def test_other_sessions_change_nothing() -> None:
    transcript, part = streaming()
    transcript.pop_changes()
    other = part.changed(session_id="ses_other")
    transcript.apply(PartUpdated(part=other))
    transcript.apply(SessionStatusChanged(session_id="ses_other", status=BusyStatus()))
    assert not transcript.has_changes


def test_lost_events_ask_for_a_reload() -> None:
    transcript, _ = streaming()
    transcript.apply(BusLagged())
    assert transcript.needs_reload
    transcript.load([])
    assert not transcript.needs_reload


def test_the_listener_is_told_once_until_changes_are_taken() -> None:
    transcript, part = streaming()
    transcript.pop_changes()
    calls: list[int] = []
    transcript.call_on_change(lambda: calls.append(1))
    for _ in range(3):
        transcript.apply(grown(part, "a", "a"))
    assert len(calls) == 1
    transcript.pop_changes()
    transcript.apply(grown(part, "a", "a"))
    assert len(calls) == 2


def test_a_message_that_completes_late_is_taken() -> None:
    transcript, _ = streaming()
    info = transcript._views.order[-1].info
    done = info.changed(time=MessageTime(created=NOON, completed=NOON + 4_000), finish="stop")
    transcript.apply(MessageUpdated(info=done))
    assert transcript.items[0].turn.ended == NOON + 4_000  # pyright: ignore[reportAttributeAccessIssue] - it is the request


def test_a_compaction_tells_what_the_next_step_was_sent() -> None:
    story = Story()
    story.user("hi")
    story.answer(["one"], tokens=Tokens(input=150_000))
    story.compaction("9", "summary", before=150_000, after=2_000)
    transcript = story.transcript()
    marker = next(item for item in transcript.items if item.kind == "compaction")
    assert marker.after == 2_000  # pyright: ignore[reportAttributeAccessIssue] - it is the marker
    story.user("go on")
    give(transcript, story.messages[-1], story.answer(["two"], end=None))
    done = story.messages[-1].info.changed(tokens=Tokens(input=21_000))
    transcript.apply(MessageUpdated(info=done))
    assert marker.after == 21_000  # pyright: ignore[reportAttributeAccessIssue] - it is the marker
    story.answer(["three"], tokens=Tokens(input=30_000))
    give(transcript, story.messages[-1])
    assert marker.after == 21_000  # pyright: ignore[reportAttributeAccessIssue] - it is the marker


def test_a_queued_request_took_as_long_as_its_answer_not_as_its_wait() -> None:
    story = Story()
    story.user("first", "1")
    story.user("queued", "1:05")
    story.answer(["one"], at="1", end="3", parent_id=story.messages[0].info.id)
    story.answer(["two"], at="3", end="3:04")
    queued = next(item for item in story.transcript().items if isinstance(item, UserItem) and item.text == "queued")
    assert queued.turn.ended is not None and queued.turn.ended - queued.turn.begun == 4_000
