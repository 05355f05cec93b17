"""The client of a server's folder, over HTTP or over the socket of another terminal."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from opencode_tui.bus import Bus, Subscription
from opencode_tui.client.facets import folder, inbox, review, session
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_facet import RemoteFiles, RemotePrompts, RemoteScreen, remote
from opencode_tui.client.remote_link import Link, open_link, open_terminal_link
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.http_headers import DEFAULT_USERNAME

_LOOK_S = 5.0
"""Seconds that a server which does not respond has for each answer to the question whether it does again."""


class RemoteClient:
    """The client of one folder of a server."""

    def __init__(self, link: Link, events: RemoteEvents, *, bus: Bus, directory: Path) -> None:
        self.sessions = remote(session.SessionsFacet, link)
        self.trash = remote(session.TrashFacet, link)
        self.messages = remote(session.MessagesFacet, link)
        self.prompts = cast("session.PromptsFacet", RemotePrompts(session.PromptsFacet, link, events))
        self.context = remote(session.ContextFacet, link)
        self.background = remote(session.BackgroundFacet, link)
        self.undo = remote(session.UndoFacet, link)
        self.sharing = remote(session.SharingFacet, link)
        self.imports = remote(session.ImportsFacet, link)
        self.permissions = remote(folder.PermissionsFacet, link)
        self.questions = remote(folder.QuestionsFacet, link)
        self.rules = remote(folder.RulesFacet, link)
        self.catalog = remote(folder.CatalogFacet, link)
        self.settings = remote(folder.SettingsFacet, link)
        self.sign_ins = remote(folder.SignInsFacet, link)
        self.project = remote(folder.ProjectFacet, link)
        self.review = remote(review.ReviewFacet, link)
        self.files = remote(folder.FilesFacet, link, RemoteFiles)
        self.mcp = remote(folder.McpFacet, link)
        self.languages = remote(folder.LanguagesFacet, link)
        self.screen = remote(folder.ScreenFacet, link, RemoteScreen)
        self.inbox = remote(inbox.InboxFacet, link)
        self._bus = bus
        self._link = link
        self.directory = directory

    @property
    def ends_runs(self) -> bool:
        """Return whether the end of this process ends the runs."""
        return False

    @property
    def terminals(self) -> int:
        """Return how many other terminals use the engine of this process."""
        return 0

    @property
    def can_detach(self) -> bool:
        """Return whether the engine of this process can continue without a terminal."""
        return False

    def detach(self) -> None:
        """Do nothing."""

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._bus.subscribe()

    def report(self, message: str) -> None:
        """Show a message to the readers of the events in this process."""
        self._bus.publish(ScreenToastShown.model_validate({"message": message, "variant": "warning"}))

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
    async with (
        open_link(url, password=password, username=username, directory=directory) as link,
        _follow(link, Path((await link.get("/path", Places)).directory), tries_again=True) as (client, _),
    ):
        yield client


@asynccontextmanager
async def open_terminal(
    socket: str, secret: str, directory: Path
) -> AsyncGenerator[tuple[RemoteClient, "asyncio.Task[None]"]]:
    """Yield the client of a folder on the engine of another terminal, and a task that ends when the connection is lost.

    Raises OpencodeError when there is no such terminal.
    """
    async with (
        open_terminal_link(socket, secret, str(directory)) as link,
        _follow(link, Path((await link.get("/path", Places)).directory), tries_again=False) as opened,
    ):
        yield opened


@asynccontextmanager
async def visit_terminal(socket: str, secret: str, directory: Path) -> AsyncGenerator[RemoteClient]:
    """Yield the client of a folder on the engine of another terminal, without its events: for a look, an answer, a stop.

    The terminal does not count it as another one. Nothing is sent yet.
    """
    async with open_terminal_link(socket, secret, str(directory)) as link:
        bus = Bus()
        yield RemoteClient(link, RemoteEvents(link, bus, tries_again=False), bus=bus, directory=directory)


@asynccontextmanager
async def _follow(
    link: Link, directory: Path, *, tries_again: bool
) -> AsyncGenerator[tuple[RemoteClient, "asyncio.Task[None]"]]:
    """Yield the client of a server's folder and the task that reads the events; raises OpencodeError if they cannot be read."""
    bus = Bus()
    events = RemoteEvents(link, bus, tries_again=tries_again)
    reading = asyncio.create_task(events.run(), name="remote events")
    connected = asyncio.create_task(events.connected())
    watching: list[asyncio.Task[None]] = []
    try:
        await asyncio.wait({reading, connected}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        client = RemoteClient(link, events, bus=bus, directory=directory)
        if tries_again:
            watching.append(asyncio.create_task(_watch(link, client), name="remote silence"))
        yield client, reading
    finally:
        for task in (reading, connected, *watching):
            task.cancel()
        await asyncio.gather(reading, connected, *watching, return_exceptions=True)


async def _watch(link: Link, client: RemoteClient) -> None:
    """Report each time that the server does not respond: what is asked of it waits."""
    while True:
        await link.silence()
        client.report(f"{link.url} does not respond. What you send waits for it; quitting works.")
        while (found := await link.ask(_LOOK_S)) == "silent":
            pass
        if found == "answers":
            client.report(f"{link.url} responds again.")
