"""The door to an engine in another process, perhaps on another machine: the same facets, over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Bus, Subscription
from opencode_tui.client.remote_context import RemoteContext
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_folder import (
    RemoteCatalog,
    RemoteFiles,
    RemoteProject,
    RemoteRules,
    RemoteScreen,
    RemoteSettings,
)
from opencode_tui.client.remote_link import Link, open_link
from opencode_tui.client.remote_session import (
    RemoteMessages,
    RemotePermissions,
    RemotePrompts,
    RemoteQuestions,
    RemoteSessions,
)
from opencode_tui.client.remote_undo import RemoteUndo
from opencode_tui.schema.header import DEFAULT_USERNAME


class RemoteClient:
    """The door for one folder of a server."""

    def __init__(self, link: Link, events: RemoteEvents, *, bus: Bus, directory: Path) -> None:
        self._bus = bus
        self._link = link
        self.directory = directory
        self.sessions = RemoteSessions(link)
        self.messages = RemoteMessages(link)
        self.prompts = RemotePrompts(link, events)
        self.context = RemoteContext(link)
        self.undo = RemoteUndo(link)
        self.permissions = RemotePermissions(link)
        self.rules = RemoteRules(link)
        self.questions = RemoteQuestions(link)
        self.catalog = RemoteCatalog(link)
        self.settings = RemoteSettings(link)
        self.files = RemoteFiles(link)
        self.screen = RemoteScreen(link)
        self.project = RemoteProject(link)

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._bus.subscribe()

    async def reopen(self) -> None:
        """Have the server open the folder anew."""
        await self._link.value("POST", "/instance/dispose")


@asynccontextmanager
async def open_remote(
    url: str, *, password: str | None = None, username: str = DEFAULT_USERNAME, directory: str | None = None
) -> AsyncGenerator[RemoteClient]:
    """Give the door for a folder of the server at `url`, by default the one that it was started in.

    On leaving only the connection ends: what runs there goes on. Raises OpencodeError when there is no server, or it refuses.
    """
    async with open_link(url, password=password, username=username, directory=directory) as link:
        bus = Bus()
        events = RemoteEvents(link, bus)
        folder = Path((await RemoteProject(link).places()).directory)
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
