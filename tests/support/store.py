"""A session store on a real disk, with a bus to listen to."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opencode_tui.bus import Bus
from opencode_tui.engine.session.records.publisher import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.session.session import SessionInfo, SessionTime
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
async def open_store(paths: Paths, *, now: int = 1_000) -> AsyncGenerator[Opened, None]:
    storage, locks, bus = Storage(paths), Locks(paths), Bus()
    store = SessionStore(
        storage=storage,
        locks=locks,
        index=SessionIndex(storage),
        publisher=Publisher(bus=bus),
        clock=lambda: now,
    )
    try:
        yield Opened(store, storage, locks, bus)
    finally:
        await storage.close()


def session_info(session_id: str = "ses_1", **fields) -> SessionInfo:
    info = SessionInfo(
        id=session_id,
        version="1",
        project_id="global",
        directory="/p",
        title="a title",
        time=SessionTime(created=1, updated=1),
    )
    return info.changed(**fields)
