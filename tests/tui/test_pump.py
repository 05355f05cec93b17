"""How often the screen reads what grows."""

import asyncio

from opencode_tui.bus import Bus
from opencode_tui.schema.event.event import Event, PartGrowth, SessionIdle
from opencode_tui.schema.session.part import TextPart
from opencode_tui.tui.state.pump import Pump
from tests.support.world.waiting import PATIENCE_S

DELTAS = 1_000


async def test_a_text_that_grows_quickly_is_read_in_few_pieces_and_what_follows_it_in_order() -> None:
    bus, applied, ended = Bus(), list[Event](), asyncio.Event()

    def apply(event: Event) -> None:
        applied.append(event)
        if isinstance(event, SessionIdle):
            ended.set()

    reads: list[int] = []
    pump = Pump(bus.subscribe(), apply=apply, drained=lambda: reads.append(len(applied)))
    running = asyncio.create_task(pump.run())
    part = TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text="")
    for number in range(DELTAS):
        bus.publish(PartGrowth("ses_1", "msg_1", "prt_1", f"{number} ", lambda: part))
        await asyncio.sleep(0)  # the reader could read each of them
    bus.publish(SessionIdle(session_id="ses_1"))
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()
    running.cancel()
    *grown, last = applied
    text = "".join(event.delta for event in grown if isinstance(event, PartGrowth))
    assert (text, last) == ("".join(f"{number} " for number in range(DELTAS)), SessionIdle(session_id="ses_1"))
    assert len(reads) < DELTAS / 10
