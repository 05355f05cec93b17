import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.bus import Bus
from opencode_tui.schema.event.event import BusLagged, FileEdited, PartGrowth, PartProgress, PartUpdated, SessionIdle
from opencode_tui.schema.session.part import TextPart


class Live:
    def __init__(self, text: str = "") -> None:
        self.text = text

    def record(self):
        return part(self.text)


def part(text: str, part_id: str = "prt_1") -> TextPart:
    return TextPart(id=part_id, session_id="ses_1", message_id="msg_1", text=text)


def growth(delta: str, part_id: str = "prt_1") -> PartGrowth:
    return PartGrowth("ses_1", "msg_1", part_id, delta, Live().record)


def drain(subscription) -> list:
    events = []
    while (envelope := subscription.poll()) is not None:
        events.append(envelope.event)
    return events


def test_every_subscriber_gets_every_structural_event_in_order():
    bus = Bus()
    events = [SessionIdle(session_id=f"ses_{n}") for n in range(100)]
    with bus.subscribe() as one, bus.subscribe() as two:
        for event in events:
            bus.publish(event)
        assert drain(one) == events
        assert drain(two) == events


def test_growth_of_one_part_is_joined_while_it_waits():
    bus = Bus()
    with bus.subscribe() as reader:
        for delta in ("a", "b", "c"):
            bus.publish(growth(delta))
        assert [event.delta for event in drain(reader)] == ["abc"]
        bus.publish(growth("d"))
        assert [event.delta for event in drain(reader)] == ["d"]


def test_growth_is_not_joined_across_the_parts_own_update():
    bus = Bus()
    with bus.subscribe() as reader:
        bus.publish(growth("a"))
        bus.publish(PartUpdated(part=part("a")))
        bus.publish(growth("b"))
        kinds = [type(event) for event in drain(reader)]
    assert kinds == [PartGrowth, PartUpdated, PartGrowth]


def test_the_newest_progress_replaces_the_waiting_one():
    bus = Bus()
    newest = Live("new")
    with bus.subscribe() as reader:
        bus.publish(PartProgress("ses_1", "msg_1", "prt_1", Live("old").record))
        bus.publish(PartProgress("ses_1", "msg_1", "prt_1", newest.record))
        (event,) = drain(reader)
    assert event.record == newest.record


def test_a_reader_that_is_too_slow_is_told_and_gets_what_follows():
    bus = Bus()
    with bus.subscribe(bound=3) as reader:
        for n in range(5):
            bus.publish(FileEdited(file=str(n)))
        assert drain(reader) == [BusLagged(), FileEdited(file="3"), FileEdited(file="4")]


def test_growth_alone_never_makes_a_reader_lag():
    bus = Bus()
    with bus.subscribe(bound=2) as reader:
        for n in range(1_000):
            bus.publish(growth("x", f"prt_{n % 5}"))
        assert sorted(len(event.delta) for event in drain(reader)) == [200] * 5


def test_an_instances_reader_sees_its_own_folder_and_the_whole_process():
    bus = Bus()
    with bus.subscribe("/a") as reader:
        for directory in ("/a", "/b", ""):
            bus.publish(FileEdited(file=directory), directory=directory)
        assert [event.file for event in drain(reader)] == ["/a", ""]


async def test_a_waiting_reader_wakes_and_a_closed_one_ends():
    bus = Bus()
    with bus.subscribe() as reader:
        waiting = asyncio.create_task(anext(reader))
        await asyncio.sleep(0)
        bus.publish(FileEdited(file="x"))
        assert (await waiting).event == FileEdited(file="x")
    assert [envelope async for envelope in reader] == []


async def test_a_cancelled_reader_loses_nothing():
    bus = Bus()
    with bus.subscribe() as reader:
        waiting = asyncio.create_task(anext(reader))
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        bus.publish(FileEdited(file="x"))
        assert (await anext(reader)).event == FileEdited(file="x")


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=3), st.booleans())))
def test_no_text_is_lost_or_reordered_however_the_reader_polls(steps):
    bus = Bus()
    sent: dict[str, str] = {}
    seen: dict[str, str] = {}
    with bus.subscribe() as reader:

        def read():
            for event in drain(reader):
                seen[event.part_id] = seen.get(event.part_id, "") + event.delta

        for name, text, polls in steps:
            bus.publish(growth(text, name))
            sent[name] = sent.get(name, "") + text
            if polls:
                read()
        read()
    assert seen == sent


def test_readers_of_a_guest_get_the_events_and_others_do_not():
    bus = Bus()
    with (
        bus.subscribe("/a") as own,
        bus.subscribe("/b") as guest,
        bus.subscribe("/c") as other,
        bus.subscribe() as every,
    ):
        bus.publish(growth("x"), directory="/a", guests=frozenset({"/b"}))
        bus.publish(growth("y"), directory="/a", guests=frozenset({"/b"}))
        bus.publish(SessionIdle(session_id="ses_1"), directory="/a", guests=frozenset({"/b"}))
        bus.publish(SessionIdle(session_id="ses_2"), directory="/a")
        grown = guest.poll()
        assert grown is not None and (grown.directory, grown.guests) == ("/a", {"/b"})
        assert [event.session_id for event in drain(guest)] == ["ses_1"]
        assert len(drain(own)) == len(drain(every)) == 3
        assert drain(other) == []
