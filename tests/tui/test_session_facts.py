"""What the screen knows of the shown session: tokens."""

from collections.abc import Sequence

from opencode_tui.schema.event.event import MessageUpdated, PartUpdated
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import CacheTokens, MessageTime, Tokens
from opencode_tui.schema.session.part import PatchPart
from opencode_tui.schema.session.session import RevertState, SessionInfo
from opencode_tui.tui.state.session_facts import SessionFacts
from tests.support.rows import each
from tests.support.sessions.records import assistant, owner, user
from tests.support.terminal.conversation import NOON, Story, read

THOUGHT = Tokens(input=10, output=100, reasoning=60, cache=CacheTokens(read=20))
"""An answer of 100 tokens, 60 of them reasoning."""


def facts_of(tokens: Tokens) -> SessionFacts:
    info = SessionInfo.model_validate(
        {
            "id": "ses_x",
            "projectID": "p",
            "directory": "/p",
            "title": "t",
            "version": "1",
            "time": {"created": 0, "updated": 0},
        }
    )
    facts = SessionFacts(info)
    request = user("Think")
    facts.load([request, assistant("Done", parent_id=request.info.id, tokens=tokens)])
    return facts


def test_reasoning_is_counted_once_in_what_a_turn_has_written():
    assert facts_of(THOUGHT).turn_tokens == 100


def test_the_context_holds_reasoning_and_cached_input_once():
    assert facts_of(THOUGHT).context == 130
    assert facts_of(THOUGHT.changed(total=131)).context == 131


def test_the_tools_of_a_run_are_counted_from_its_first_request_on_also_when_another_one_was_queued():
    story = Story()
    story.user("first", "1")
    story.answer([read(story, "a.py", 3)], at="1", end="1:10", finish="tool-calls", cost=0.5)
    story.user("queued", "1:05")
    story.answer([read(story, "b.py", 3), "both"], at="1:10", end="1:14", cost=0.25)
    facts = SessionFacts(facts_of(Tokens()).info)
    facts.load(story.messages)
    assert (facts.turn_summary(), facts.turn_cost, facts.turn_started) == ("2 tools", 0.75, NOON + 60_000)


def test_a_request_after_the_end_of_a_run_starts_another_one():
    story = Story()
    story.user("first", "1")
    story.answer([read(story, "a.py", 3)], at="1", end="1:10", finish="tool-calls", cost=0.5)
    facts = SessionFacts(facts_of(Tokens()).info)
    facts.load(story.messages)
    facts.apply(MessageUpdated(info=story.user("second", "5").info.changed(session_id="ses_x")))
    assert (facts.turn_summary(), facts.turn_cost, facts.turn_started) == ("", 0, NOON + 5 * 60_000)


OLD = [("msg_fffffffff000", "msg_fffffffff001"), ("msg_fffffffff100", "msg_fffffffff101")]
NEW = [("msg_000000001000", "msg_000000001001"), ("msg_000000001100", "msg_000000001101")]
"""Ids of requests and their answers before a wrap of the 48 bits, and behind it."""


def turns(*ids: tuple[str, str], times: Sequence[int]) -> SessionFacts:
    """Return what is known of a session with a turn for each pair of ids, and each of these times."""
    facts, messages = SessionFacts(facts_of(Tokens()).info), list[MessageWithParts]()
    for (request_id, answer_id), time in zip(ids, times, strict=True):
        request = user(request_id, id=request_id, time=MessageTime(created=time), agent=f"agent {time}")
        used = Tokens(input=time)
        patch = PatchPart(**owner(), hash="x", files=[f"/p/{time}"])
        ended = MessageTime(created=time, completed=time + 1)
        messages += [request, assistant(patch, parent=request, id=answer_id, time=ended, tokens=used, cost=float(time))]
    facts.load(messages)
    return facts


@each(
    ("ids", "times"),
    [
        ([OLD[0], NEW[0], NEW[1]], [1, 2, 3]),
        ([OLD[0], OLD[1], NEW[0]], [1, 2, 3]),
        ([OLD[0], OLD[1], NEW[1]], [1, 9, 3]),
        ([OLD[0], NEW[0], NEW[1]], [9, 8, 3]),
    ],
)
def test_what_comes_later_is_known_by_the_order_of_the_messages(ids: list[tuple[str, str]], times: list[int]):
    facts = turns(*ids, times=times)
    assert [facts.edited_since(request) for request, _ in ids] == [3, 2, 1]
    assert (facts.agent, facts.turn_cost, facts.turn_started) == (f"agent {times[-1]}", times[-1], times[-1])
    for undone, (request, _) in enumerate(ids):
        facts.info = facts.info.changed(revert=RevertState(message_id=request))
        hidden = [[facts.is_undone(one) for one in pair] for pair in ids]
        assert hidden == [[at >= undone] * 2 for at in range(len(ids))]
        assert facts.context == (times[undone - 1] if undone else 0)
    facts.info = facts.info.changed(revert=RevertState(message_id=ids[1][1], part_id="prt_1"))
    assert [facts.is_undone(one) for pair in ids for one in pair] == [False, False, False, True, True, True]
    facts.info = facts.info.changed(revert=RevertState(message_id="msg_of_files_only"))
    assert not any(facts.is_undone(one) for pair in ids for one in pair)


def test_a_call_that_ends_late_does_not_end_what_a_later_answer_does():
    story = Story()
    story.user("first", "1")
    story.answer([read(story, "a.py", 3)], at="1", finish="tool-calls")
    late = story.messages[-1].parts[-1]
    story.answer(["writes"], at="1:10")
    facts = SessionFacts(facts_of(Tokens()).info)
    facts.load(story.messages, is_busy=True)
    for part in story.messages[-1].parts:
        facts.apply(PartUpdated(part=part.changed(session_id="ses_x")))
    assert facts.word == "Writing"
    facts.apply(PartUpdated(part=late.changed(session_id="ses_x")))
    assert facts.word == "Writing"
