"""The methods of the protocol; each folder that a client names gets its engine with the first session in it."""

import asyncio
import importlib
from collections.abc import Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AcpMcpServer,
    AgentAuthCapabilities,
    AgentCapabilities,
    AuthenticateResponse,
    AuthMethodAgent,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)

from opencode_tui import __version__
from opencode_tui.acp.choices import MODE, MODEL
from opencode_tui.acp.editor import Editor, Ended
from opencode_tui.acp.errors import invalid, reporting
from opencode_tui.acp.folder import Folder
from opencode_tui.acp.updates import moment
from opencode_tui.schema.api.request import CreateSession, ForkSession

if TYPE_CHECKING:
    from opencode_tui.acp.content import Block
    from opencode_tui.acp.folder import Opening
    from opencode_tui.acp.session import OpenSession

McpServers = list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]

LOGIN = "opencode-tui-login"
"""The ID of the only way to authenticate: the command that stores a key."""

PAGE = 100
"""Sessions in one page of a list."""

_LATE = ("opencode_tui.acp.folder", "opencode_tui.client.shared", "opencode_tui.client.thread")
"""Imported on a thread while the client reads the answer to `initialize`, which does not need it."""


class Agent:
    """Answers one client. `directory` is the folder for requests that name none; `opening` opens the engine of a folder."""

    def __init__(self, directory: Path, opening: "Opening") -> None:
        self._directory = directory
        self._opening = opening
        self._folders: dict[Path, Folder] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._editor: Editor | None = None

    def on_connect(self, conn: object) -> None:
        """Use this connection of version 1 to the client from now on."""
        assert isinstance(conn, AgentSideConnection)
        self.serve(Editor(conn.session_update, conn.request_permission, _say_nothing))

    def serve(self, editor: Editor) -> None:
        """Answer this client from now on."""
        self._editor = editor

    async def close(self) -> None:
        """Interrupt all turns and close the engines."""
        await asyncio.gather(*(folder.close() for folder in self._folders.values()))

    # The connection.

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Return what this agent can do; needs no engine."""
        self._loaded  # noqa: B018 - begins to load
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    fork=SessionForkCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
                auth=AgentAuthCapabilities(),
            ),
            auth_methods=[
                AuthMethodAgent(
                    id=LOGIN,
                    name="Log in with opencode-tui",
                    description="Run `opencode-tui auth login` in a terminal",
                )
            ],
            agent_info=Implementation(name="opencode-tui", title="opencode-tui", version=__version__),
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Use keys that were stored since the start. Raises RequestError for an unknown method."""
        if method_id != LOGIN:
            raise invalid(f"unknown method {method_id!r}; the only one is {LOGIN}")
        with reporting():
            for folder in self._folders.values():
                await (await folder.client()).reopen()
        return AuthenticateResponse()

    # Sessions.

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        """Create a session in a folder."""
        folder = await self._folder(cwd)

        with reporting():
            info = await (await folder.client()).sessions.create(CreateSession())
            session = await folder.session(info)
        self._after_answer(folder, session, mcp_servers)
        return NewSessionResponse(session_id=session.id, **_chosen(session))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: McpServers | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Open a stored session and send its history."""
        session = await self._open(cwd, session_id, mcp_servers, is_shown=True)
        return LoadSessionResponse(**_chosen(session))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        """Open a stored session whose history the client has."""
        session = await self._open(cwd, session_id, mcp_servers, is_shown=False)
        return ResumeSessionResponse(**_chosen(session))

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        """Create a session that begins with the messages of another one; the client has its history."""
        folder = await self._folder(cwd)

        with reporting():
            info = await (await folder.client()).sessions.fork(session_id, ForkSession())
            session = await folder.session(info)
            await session.load(is_shown=False)
        self._after_answer(folder, session, mcp_servers)
        return ForkSessionResponse(session_id=session.id, **_chosen(session))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """Return the sessions of a folder, or of all folders, the last used first."""
        folder = await self._folder(cwd or str(self._directory))

        with reporting():
            sessions = (await folder.client()).sessions
            found = await sessions.everywhere() if cwd is None else await sessions.list()
        real = None if cwd is None else str((await folder.client()).directory)
        rows = [
            one
            for one in found
            if one.parent_id is None and not one.time.archived and (real is None or one.directory == real)
        ]
        rows.sort(key=lambda one: one.time.updated, reverse=True)
        if cursor is not None and not cursor.isdecimal():
            raise invalid(f"invalid cursor {cursor!r}; use the nextCursor of the page before")
        start = int(cursor or 0)
        page = [
            SessionInfo(session_id=one.id, cwd=one.directory, title=one.title, updated_at=moment(one.time.updated))
            for one in rows[start : start + PAGE]
        ]
        following = str(start + PAGE) if start + PAGE < len(rows) else None
        return ListSessionsResponse(sessions=page, next_cursor=following)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Interrupt the session's turn and send nothing about it any more."""
        folder, session = self._find(session_id)
        await folder.end(session)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Use another agent from the next prompt on."""
        session = self.opened(session_id)
        session.choose_mode(mode_id)
        self._spawn(session.send([session.state.mode_update(), session.state.config_update()]))
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Use another agent or model from the next prompt on."""
        session = self.opened(session_id)
        match config_id:
            case _ if config_id == MODE:
                session.choose_mode(str(value))
                self._spawn(session.send([session.state.mode_update()]))
            case _ if config_id == MODEL:
                await session.choose_model(str(value))
            case _:
                raise invalid(f"unknown option {config_id!r}; options are {MODE} and {MODEL}")
        state = session.state
        return SetSessionConfigOptionResponse(config_options=state.choices.options(state.mode, state.model))

    # Turns.

    async def prompt(self, session_id: str, prompt: "list[Block]", **_: Any) -> PromptResponse:
        """Run a turn; return when it has ended."""
        return await self.opened(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupt the turn; that of an unknown session has ended."""
        try:
            session = self.opened(session_id)
        except RequestError:
            return
        await session.cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Raise RequestError: there are no extensions."""
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore an extension."""

    # Helpers.

    @cached_property
    def _loaded(self) -> "asyncio.Task[object]":
        """The import of everything that the sessions need, on a thread."""
        return asyncio.create_task(asyncio.to_thread(_load))

    async def _folder(self, cwd: str) -> "Folder":
        """Return the folder; its engine opens. Raises RequestError for a path that is no folder."""
        await self._loaded

        path = Path(cwd)
        if not path.is_absolute() or not await asyncio.to_thread(path.is_dir):
            raise invalid(f"cwd {cwd!r} is not a folder; give the absolute path of one")
        real = await asyncio.to_thread(path.resolve)
        found = self._folders.get(real)
        if found is None or found.has_ended:
            assert self._editor is not None
            found = self._folders[real] = Folder(real, self._opening, self._editor)
        return found

    async def _open(
        self, cwd: str, session_id: str, mcp_servers: McpServers | None, *, is_shown: bool
    ) -> "OpenSession":
        """Open a stored session, in its own folder where that exists; one that is open continues as it is."""
        folder = await self._folder(cwd)

        with reporting():
            info = await (await folder.client()).sessions.get(session_id)
            if await asyncio.to_thread(Path(info.directory).is_dir):
                folder = await self._folder(info.directory)
            created = None if info.id in folder.sessions else await folder.session(info)
            session = folder.sessions.get(info.id) or created
            assert session is not None
            folder.sessions[session.id] = session
            try:
                if session is created or is_shown:
                    await session.load(is_shown=is_shown)  # its events wait for the history
            except BaseException:
                if session is created:
                    del folder.sessions[session.id]
                raise
        self._after_answer(folder, session, mcp_servers)
        return session

    def opened(self, session_id: str) -> "OpenSession":
        """Return an open session. Raises RequestError."""
        return self._find(session_id)[1]

    def _find(self, session_id: str) -> "tuple[Folder, OpenSession]":
        """Return an open session with its folder. Raises RequestError."""
        for folder in self._folders.values():
            if session_id in folder.sessions and not folder.has_ended:
                return folder, folder.sessions[session_id]
        raise RequestError(-32602, f"session {session_id!r} is not open; use session/new or session/load")

    def _after_answer(self, folder: "Folder", session: "OpenSession", mcp_servers: McpServers | None) -> None:
        """Begin to send what belongs to a session: the client ignores what comes before it knows the session."""
        self._spawn(folder.begin(session, mcp_servers or []))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)


async def _say_nothing(_session_id: str, _ended: Ended | None) -> None:
    """Version 1 of the protocol has no state of a session."""


def _load() -> None:
    for name in _LATE:
        importlib.import_module(name)


def _chosen(session: "OpenSession") -> dict[str, Any]:
    """Return the modes and options of a session, as the answers have them."""
    state = session.state
    return {
        "modes": state.choices.mode_state(state.mode),
        "config_options": state.choices.options(state.mode, state.model),
    }
