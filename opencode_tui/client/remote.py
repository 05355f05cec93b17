"""The client of an engine in another process, perhaps on another machine: the same facets, over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Bus, Subscription
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_facets import RemoteFacets
from opencode_tui.client.remote_link import Link, open_link
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.http_headers import DEFAULT_USERNAME


class RemoteClient(RemoteFacets):
    """The client of one folder of a server."""

    def __init__(self, link: Link, events: RemoteEvents, *, bus: Bus, directory: Path) -> None:
        super().__init__(link, events)
        self._bus = bus
        self._link = link
        self.directory = directory

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._bus.subscribe()

    async def reopen(self) -> None:
        """Make the server open the folder again."""
        await self._link.value("POST", "/instance/dispose")


@asynccontextmanager
async def open_remote(
    url: str, *, password: str | None = None, username: str = DEFAULT_USERNAME, directory: str | None = None
) -> AsyncGenerator[RemoteClient]:
    """Yield the client of a folder of the server at `url`, by default the folder that it was started in.

    On leaving only the connection ends: runs continue. Raises OpencodeError when there is no server or it refuses.
    """
    async with open_link(url, password=password, username=username, directory=directory) as link:
        bus = Bus()
        events = RemoteEvents(link, bus)
        folder = Path((await link.get("/path", Places)).directory)
        reading = asyncio.create_task(events.run(), name="remote events")
        connected = asyncio.create_task(events.connected())
        try:
            await asyncio.wait({reading, connected}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            yield RemoteClient(link, events, bus=bus, directory=folder)
        finally:
            for task in (reading, connected):
                task.cancel()
            await asyncio.gather(reading, connected, return_exceptions=True)
