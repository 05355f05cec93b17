"""A session store on a real disk, with a bus to listen to."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opencode_tui.bus import Bus, Subscription
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.schema.error import UnlockedError
from opencode_tui.schema.event.event import Event, PartGrowth, PartProgress, to_wire
from opencode_tui.schema.ids import Identifier
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage


@dataclass
class Opened:
    store: SessionStore
    storage: Storage
    locks: Locks
    bus: Bus


@asynccontextmanager
async def open_store(
    paths: Paths, *, now: int = 1_000, files: FileSystem | None = None
) -> AsyncGenerator[Opened, None]:
    storage, locks, bus = Storage(paths, files=files), Locks(paths), Bus()
    store = SessionStore(
        storage=storage,
        locks=locks,
        index=SessionIndex(storage),
        publisher=Publisher(bus=bus),
        identifier=Identifier(lambda: now),
    )
    try:
        yield Opened(store, storage, locks, bus)
    finally:
        await storage.close()


@asynccontextmanager
async def writing(store: SessionStore, session_id: str) -> AsyncGenerator[SessionWriter]:
    """Yield what changes a session: of the lock that this process holds, else of one that is held in the context."""
    try:
        writer = store.writer(session_id)
    except UnlockedError:
        async with store.locked(session_id) as writer:
            yield writer
    else:
        yield writer


# Events of the bus as short words that a test can compare.


def drain(reader: Subscription) -> list[Event]:
    """Return all events that wait."""
    events: list[Event] = []
    while (envelope := reader.poll()) is not None:
        events.append(envelope.event)
    return events


def words(events: list[Event]) -> list[str]:
    """Return `type`, followed by the status or the part's type."""
    said: list[str] = []
    for event in events:
        if isinstance(event, PartGrowth):
            said.append(f"growth {event.delta!r}")
        elif isinstance(event, PartProgress):
            said.append("progress")
        else:
            wire = to_wire(event)
            properties = wire["properties"]
            detail = properties.get("status", {}).get("type") or properties.get("part", {}).get("type")
            said.append(" ".join(filter(None, [wire["type"], detail])))
    return said
