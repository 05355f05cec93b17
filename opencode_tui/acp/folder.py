"""The engine of one folder, shared with the other terminals there, and the sessions that the client has opened in it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from acp.schema import AvailableCommandsUpdate

from opencode_tui.acp.choices import Choices, available_commands
from opencode_tui.acp.editor import Editor
from opencode_tui.acp.servers import ClientServers, Server
from opencode_tui.acp.session import OpenSession
from opencode_tui.acp.updates import SessionState, message, session_of
from opencode_tui.client.client import Client
from opencode_tui.schema.api.folder import Notices
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.event.event import BusLagged, Envelope, SessionCreated
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.session import SessionInfo

logger = logging.getLogger(__name__)

END_S = 5.0
"""Seconds that an engine has to interrupt the turns of a client that is gone; it is closed then, which has a limit of its own."""

Opening = Callable[[Path], AbstractAsyncContextManager[Client]]
"""Opens the client of a folder."""


class Folder:
    """A folder of the client; its engine is open until `close`."""

    def __init__(self, directory: Path, opening: Opening, editor: Editor) -> None:
        self.sessions: dict[str, OpenSession] = {}
        self._directory = directory
        self._opening = opening
        self._is_described = False
        self._servers = ClientServers()
        self._editor = editor
        self._parents: dict[str, str | None] = {}
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._work = asyncio.create_task(self._keep(directory), name=f"acp {directory}")

    @property
    def has_ended(self) -> bool:
        """Return whether the engine could not be opened, or has ended."""
        return self._work.done()

    async def client(self) -> Client:
        """Return the client; raises the error that kept the engine from opening."""
        return await asyncio.shield(self._opened)

    async def choices(self) -> Choices:
        """Return the modes and models."""
        catalog = (await self.client()).catalog
        agents, models, providers = await asyncio.gather(catalog.agents(), catalog.models(), catalog.providers())
        return Choices(agents, models, {one.id: one.name for one in providers})

    async def session(self, info: SessionInfo) -> OpenSession:
        """Return a session with its newest mode and model; its events are not received yet.

        Raises ConfigError when there is no default agent or model.
        """
        client, choices = await self.client(), await self.choices()
        mode, model = "", ""
        for stored in reversed(await client.messages.list(info.id, 20)):
            if isinstance(stored.info, UserMessage):
                mode, model = stored.info.agent, str(stored.info.model)
                break
        first = choices.modes[0] if choices.modes else None
        if not choices.has_mode(mode) and first is not None:
            mode = first.name
        if not model:
            chosen = next((one.model for one in choices.modes if one.name == mode and one.model is not None), None)
            model = str(chosen or await client.catalog.default_model())
        return OpenSession(client, self._editor, SessionState(info.id, info.directory, choices, mode=mode, model=model))

    async def begin(self, session: OpenSession, servers: Sequence[Server]) -> None:
        """Receive the events of a session from now on; send its commands, and what of the folder is not in effect.

        `servers` are the client's MCP servers for the session; its first turn waits for them, for a limited time.
        """
        self.sessions[session.id] = session
        if not servers:
            session.ready.set()
        client = await self.client()
        await self._send_commands(client, session)
        lines: list[str] = []
        if not self._is_described:
            self._is_described = True
            notices = await client.settings.notices()
            lines += [*inert(notices), *(notices.of_models or ())]
        if servers:
            try:
                failed = await self._servers.add(client, session.id, servers)
            finally:
                session.ready.set()
            if session.id not in self.sessions:  # it was closed in the meantime
                await self._servers.release(client, session.id)
                return
            await self._send_commands(client, session)  # with the prompts of the servers
            lines += ["MCP servers of this client that are not used:", *failed] if failed else []
        if lines:
            await session.send([message("\n".join(lines) + "\n\n")])

    async def end(self, session: OpenSession) -> None:
        """Interrupt a session's turn, send nothing about it any more, and end the MCP servers that only it used."""
        self.sessions.pop(session.id, None)
        await session.close()
        await self._servers.release(await self.client(), session.id)

    async def _send_commands(self, client: Client, session: OpenSession) -> None:
        commands = available_commands(await client.catalog.commands())
        await session.send(
            [AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)]
        )

    async def close(self) -> None:
        """Interrupt the turns of the client, and close the engine unless another terminal continues with it.

        An engine that does not answer is not waited for: this process would stay, and keep the folder from being opened.
        """
        try:
            async with asyncio.timeout(END_S):
                ending = (self.end(session) for session in tuple(self.sessions.values()))
                await asyncio.gather(*ending, return_exceptions=True)
        except TimeoutError:
            logger.warning("%s: the engine did not interrupt all turns within %.0f s", self._directory, END_S)
        self._work.cancel()
        await asyncio.wait({self._work})

    async def _keep(self, directory: Path) -> None:
        try:
            async with self._opening(directory) as client:
                with client.events() as events:
                    self._opened.set_result(client)
                    async for envelope in events:
                        try:
                            await self._receive(envelope)
                        except Exception:  # one event must not end all sessions
                            name = type(envelope.event).__name__
                            logger.exception("%s: %s could not be sent to the client", directory, name)
        except Exception as error:
            if self._opened.done():
                logger.exception("%s: the engine has ended", directory)
            else:
                self._opened.set_exception(error)
                self._opened.exception()  # retrieved: the client may not wait for it any more

    async def _receive(self, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, BusLagged):
            await self._read_again()
            return
        if isinstance(event, SessionCreated):
            self._parents[event.info.id] = event.info.parent_id
        session_id = session_of(event)
        session = None if session_id is None else await self._root(session_id)
        if session is not None:
            await session.receive(event)

    async def _read_again(self) -> None:
        """Read all sessions after events were lost; ask what waits for an answer, and end the questions that do not any more."""
        for session in tuple(self.sessions.values()):
            try:
                await session.read_again()
            except OpencodeError as error:
                logger.warning("session %s cannot be read again: %s", session.id, error)
        client = await self.client()
        requests = [*await client.permissions.pending(), *await client.questions.pending()]
        waiting = {request.id for request in requests}
        for session in tuple(self.sessions.values()):
            session.keep_asking(waiting)
        for request in requests:
            if (session := await self._root(request.session_id)) is not None:
                session.ask(request)

    async def _root(self, session_id: str) -> OpenSession | None:
        """Return the open session that this is, or whose subagent it is."""
        wanted: str | None = session_id
        while wanted is not None and self.sessions:
            if wanted in self.sessions:
                return self.sessions[wanted]
            if wanted not in self._parents:
                try:
                    self._parents[wanted] = (await (await self.client()).sessions.get(wanted)).parent_id
                except NotFoundError:
                    self._parents[wanted] = None
            wanted = self._parents[wanted]
        return None


def inert(notices: Notices) -> list[str]:
    """Return which settings of the folder are not in effect until it is trusted, and how to trust it."""
    if not notices.ignored:
        return []
    listed = [f"- {line}" for line in notices.ignored]
    return ["This folder is not trusted, so these of its settings have no effect:", *listed, _TRUST]


_TRUST = "Run `opencode-tui trust` in a terminal there to review and trust them."
