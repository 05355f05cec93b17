"""What of a growing part leaves when: eight at once, then thirty a second, and all of it before it is closed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.session.records.open_records import LiveText, LiveTool
from opencode_tui.schema.event.event import Envelope, PartGrowth, PartProgress, PartRemoved, PartUpdated, SessionIdle
from opencode_tui.schema.session.part import PartTime, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateRunning, ToolTime
from opencode_tui.server.frame import Frame
from opencode_tui.server.part_merger import AT_ONCE, INTERVAL_S, SHARED, PartMerger


class Watch:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Writer:
    """A text part that grows."""

    def __init__(self, part_id: str = "prt_1") -> None:
        self.live = LiveText(
            TextPart(id=part_id, session_id="ses_1", message_id="msg_1", text="", time=PartTime(start=1))
        )

    def grow(self, text: str) -> Envelope:
        self.live.append(text)
        return Envelope("/p", PartGrowth("ses_1", "msg_1", self.live.id, text, self.live.record))

    def close(self) -> Envelope:
        return Envelope("/p", PartUpdated(part=self.live.closed(end=2)))


def told(frames: list[Frame]) -> list[tuple[str, str | None]]:
    """Return text and delta of each part update."""
    events = [json.loads(frame.event)["properties"] for frame in frames]
    return [(event["part"]["text"], event.get("delta")) for event in events]


def test_the_first_eight_leave_at_once_and_later_ones_are_merged_until_their_time():
    watch, writer = Watch(), Writer()
    merger = PartMerger(now=watch)
    at_once = [frame for letter in "abcdefgh" for frame in merger.apply(writer.grow(letter))]
    held = [frame for letter in "ijk" for frame in merger.apply(writer.grow(letter))]
    due = merger.next_due()
    watch.now += INTERVAL_S
    assert (len(at_once), held, due) == (AT_ONCE, [], watch.now)
    assert told(merger.due()) == [("abcdefghijk", "ijk")]
    assert (merger.due(), merger.next_due()) == ([], None)


def test_where_many_listen_a_growing_text_is_told_less_often():
    watch, writer = Watch(), Writer()
    merger = PartMerger(now=watch)
    merger.set_listeners(50)
    for letter in "abcdefghijk":
        merger.apply(writer.grow(letter))
    watch.now += INTERVAL_S
    assert merger.due() == []
    watch.now += 50 / SHARED
    assert told(merger.due()) == [("abcdefghijk", "ijk")]


def test_text_that_waits_leaves_as_a_delta_before_the_closing_update():
    writer = Writer()
    merger = PartMerger(now=Watch())
    for letter in "abcdefghij":
        merger.apply(writer.grow(letter))
    assert told(merger.apply(writer.close())) == [("abcdefghij", "ij"), ("abcdefghij", None)]


def test_text_of_a_removed_part_never_leaves():
    writer = Writer()
    merger = PartMerger(now=Watch())
    for letter in "abcdefghij":
        merger.apply(writer.grow(letter))
    removed = PartRemoved(session_id="ses_1", message_id="msg_1", part_id="prt_1")
    assert [json.loads(frame.event)["type"] for frame in merger.apply(Envelope("/p", removed))] == [
        "message.part.removed"
    ]
    assert merger.next_due() is None


def test_of_a_running_tools_progress_the_newest_leaves():
    watch = Watch()
    merger = PartMerger(now=watch)
    for number in range(20):
        state = ToolStateRunning(input={}, title=f"step {number}", time=ToolTime(start=1))
        tool = ToolPart(id="prt_2", session_id="ses_1", message_id="msg_1", call_id="c", tool="bash", state=state)
        merger.apply(Envelope("/p", PartProgress("ses_1", "msg_1", "prt_2", LiveTool(tool).record)))
    watch.now += 1
    (frame,) = merger.due()
    event = json.loads(frame.event)
    assert event["properties"]["part"]["state"]["title"] == "step 19"
    assert "delta" not in event["properties"]


_STEPS = st.lists(st.sampled_from(["a", "b", "wait", "idle"]), max_size=120)


@pytest.mark.slow
@given(_STEPS)
def test_deltas_add_up_to_the_text_and_structural_events_keep_their_order(steps):
    watch = Watch()
    merger = PartMerger(now=watch)
    writers = {"a": Writer("prt_a"), "b": Writer("prt_b")}
    frames: list[Frame] = []
    for number, step in enumerate(steps):
        if step == "wait":
            watch.now += 0.02
            frames += merger.due()
        elif step == "idle":
            frames += merger.apply(Envelope("/p", SessionIdle(session_id=f"ses_{number}")))
        else:
            frames += merger.apply(writers[step].grow(f"{number},"))
    for writer in writers.values():
        frames += merger.apply(writer.close())
    events = [json.loads(frame.event) for frame in frames]
    idle = [event["properties"]["sessionID"] for event in events if event["type"] == "session.idle"]
    parts = [event["properties"] for event in events if event["type"] == "message.part.updated"]
    assert idle == [f"ses_{number}" for number, step in enumerate(steps) if step == "idle"]
    for writer in writers.values():
        own = [event for event in parts if event["part"]["id"] == writer.live.id]
        so_far = ""
        for event in own[:-1]:
            so_far += event["delta"]
            assert event["part"]["text"] == so_far
        assert (own[-1]["part"]["text"], "delta" in own[-1]) == (so_far, False)
