"""The methods of version 2, each by that of version 1, and the turns that go on after their prompt was accepted."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from acp.exceptions import RequestError
from acp.experimental.v2 import PROTOCOL_VERSION, AgentSideConnection, schema
from acp.schema import PermissionOption, PromptResponse, RequestPermissionResponse, ToolCallUpdate

from opencode_tui.acp.agent import Agent
from opencode_tui.acp.content import Block
from opencode_tui.acp.editor import Editor, Ended
from opencode_tui.acp.errors import invalid, refused
from opencode_tui.acp.session import OpenSession
from opencode_tui.acp.updates import Update, message
from opencode_tui.acp.v2.translation import (
    V2Block,
    V2Server,
    answer_of,
    answers_of,
    blocks_of,
    options_of,
    plain,
    renamed,
    servers_of,
    subject_of,
    update_of,
)
from opencode_tui.schema.ids import Identifier

_logger = logging.getLogger(__name__)

FAILED = "_error"
"""Why a turn ended that failed: the protocol has no reason for it, only a place for those of an agent."""


class V2Agent:
    """Answers a client of version 2 by an agent for version 1."""

    def __init__(self, agent: Agent, connection: AgentSideConnection) -> None:
        self._agent = agent
        self._editor = V2Editor(connection)
        self._ids = Identifier()
        self._turns: dict[str, set[asyncio.Task[None]]] = {}
        editor = self._editor
        agent.serve(Editor(editor.session_update, editor.request_permission, editor.state_changed))

    async def initialize(
        self, protocol_version: int, info: schema.Implementation, **_: Any
    ) -> schema.InitializeResponse:
        """Return what this agent can do; needs no engine."""
        first = await self._agent.initialize(protocol_version)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            info=schema.Implementation.model_validate(plain(first.agent_info) if first.agent_info else {}),
            capabilities=schema.AgentCapabilities(
                session=schema.SessionCapabilities(
                    prompt=schema.PromptCapabilities(
                        image=schema.PromptImageCapabilities(),
                        embedded_context=schema.PromptEmbeddedContextCapabilities(),
                    ),
                    mcp=schema.McpCapabilities(stdio=schema.McpStdioCapabilities(), http=schema.McpHttpCapabilities()),
                    fork=schema.SessionForkCapabilities(),
                )
            ),
            auth_methods=[
                schema.AgentAuthMethod.model_validate(renamed(plain(one), id="methodId"))
                for one in first.auth_methods or ()
            ],
        )

    async def login(self, method_id: str, **_: Any) -> schema.LoginAuthResponse:
        """Use keys that were stored since the start."""
        await self._agent.authenticate(method_id)
        return schema.LoginAuthResponse()

    async def logout(self, **_: Any) -> schema.LogoutAuthResponse:
        """Raise RequestError: the keys are those of all programs of the user, who removes each by its name."""
        raise invalid("keys are removed in a terminal: run `opencode-tui auth logout`")

    # Sessions.

    async def new_session(
        self, cwd: str, mcp_servers: list[V2Server] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        """Create a session in a folder."""
        made = await self._agent.new_session(cwd, mcp_servers=servers_of(mcp_servers))
        return schema.NewSessionResponse(session_id=made.session_id, config_options=options_of(made.config_options))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: list[V2Server] | None = None,
        replay_from: schema.ReplayFromStartVariant | schema.OtherReplayFrom | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Open a stored session; send its history when the client wants it from the start."""
        servers = servers_of(mcp_servers)
        match replay_from:
            case None:
                opened = await self._agent.resume_session(session_id, cwd, mcp_servers=servers)
            case schema.ReplayFromStartVariant():
                opened = await self._agent.load_session(cwd, session_id, mcp_servers=servers)
            case schema.OtherReplayFrom():
                raise invalid(f"a session cannot be replayed from {replay_from.type!r}; use start, or leave it out")
        return schema.ResumeSessionResponse(config_options=options_of(opened.config_options))

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: list[V2Server] | None = None, **_: Any
    ) -> schema.ForkSessionResponse:
        """Create a session that begins with the messages of another one; the client has its history."""
        made = await self._agent.fork_session(session_id, cwd, mcp_servers=servers_of(mcp_servers))
        return schema.ForkSessionResponse(session_id=made.session_id, config_options=options_of(made.config_options))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Return the sessions of a folder, or of all folders, the last used first."""
        return schema.ListSessionsResponse.model_validate(plain(await self._agent.list_sessions(cwd, cursor)))

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Interrupt the session's turns, and send nothing about it any more once their ends are reported."""
        await self._agent.close_session(session_id)
        if turns := self._turns.get(session_id):
            await asyncio.wait(turns)
        return schema.CloseSessionResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: Any, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Use another agent or model from the next prompt on."""
        chosen = await self._agent.set_config_option(config_id, session_id, value)
        return schema.SetSessionConfigOptionResponse(config_options=options_of(chosen.config_options))

    # Turns.

    async def prompt(self, session_id: str, prompt: list[V2Block], **_: Any) -> schema.PromptResponse:
        """Accept a prompt, whose turn begins when those before it have ended; return the ID of its message."""
        session, blocks = self._agent.opened(session_id), blocks_of(prompt)
        request = schema.UserMessageUpdate(message_id=self._ids.ascending("msg"), content=prompt)
        turns = self._turns.setdefault(session_id, set())
        turn = asyncio.create_task(self._run(session, blocks, request), name=f"turn of {request.message_id}")
        turns.add(turn)
        turn.add_done_callback(turns.discard)
        return schema.PromptResponse(message_id=request.message_id)

    async def cancel_session(self, session_id: str, **_: Any) -> None:
        """Interrupt the turns; those of an unknown session have ended."""
        await self._agent.cancel(session_id)

    async def _run(self, session: OpenSession, blocks: list[Block], request: schema.UserMessageUpdate) -> None:
        """Run a turn. Its message is sent when it begins, and its end in any case; a failure is a message of the agent."""
        editor, is_sent = self._editor, False

        async def begun() -> None:
            nonlocal is_sent
            is_sent = True
            await editor.begin(session.id, request)

        try:
            ended = await session.prompt(blocks, message_id=request.message_id, begun=begun)
        except Exception as error:  # a turn that fails ends for its client too, for whatever reason
            if not isinstance(error, RequestError):
                _logger.exception("a turn of %s failed", session.id)
            ended = refused(error)
        if not is_sent:
            await begun()
        if isinstance(ended, RequestError):
            await session.send([message(f"{ended}\n")])
        await editor.end(session.id, ended if isinstance(ended, PromptResponse) else None)


class V2Editor:
    """The client: updates and requests of sessions in the words of version 2, and what each of them does."""

    def __init__(self, connection: AgentSideConnection) -> None:
        self._connection = connection
        self._running: set[str] = set()
        self._running_elsewhere: set[str] = set()
        self._asking: dict[str, int] = {}

    async def session_update(self, session_id: str, update: Update) -> None:
        """Send an update, if version 2 has it."""
        if (translated := update_of(update)) is not None:
            await self._connection.session_update(session_id, translated)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        """Ask the client; the session waits for the answer, unless it is asked without a turn."""
        self._asking[session_id] = self._asking.get(session_id, 0) + 1
        await self._send_state(session_id)
        try:
            response = await self._connection.request_permission(
                session_id,
                title=tool_call.title or "Approve this?",
                subject=subject_of(tool_call),
                options=answers_of(options),
            )
        finally:
            self._asking[session_id] -= 1
            await self._send_state(session_id)
        return answer_of(response)

    async def state_changed(self, session_id: str, ended: Ended | None) -> None:
        """Say that a turn of another client begins or ends; one of this client has its own words for that."""
        if session_id in self._running or (ended is None) == (session_id in self._running_elsewhere):
            return
        if ended is None:
            self._running_elsewhere.add(session_id)
            await self._connection.session_update(session_id, schema.RunningSessionStateUpdate())
            return
        self._running_elsewhere.discard(session_id)
        try:
            reason: str = await ended()
        except RequestError as error:
            await self.session_update(session_id, message(f"{error}\n"))
            reason = FAILED
        await self._connection.session_update(session_id, schema.IdleSessionStateUpdate(stop_reason=reason))

    async def begin(self, session_id: str, request: schema.UserMessageUpdate) -> None:
        """Say that a turn begins, with its request."""
        self._running.add(session_id)
        self._running_elsewhere.discard(session_id)
        with suppress(ConnectionError):
            await self._connection.session_update(session_id, request)
        await self._send_state(session_id)

    async def end(self, session_id: str, response: PromptResponse | None) -> None:
        """Say how a turn ended; without a response it failed."""
        self._running.discard(session_id)
        reason = response.stop_reason if response is not None else FAILED
        idle = schema.IdleSessionStateUpdate(stop_reason=reason)
        if response is not None and response.usage is not None:
            idle.usage = schema.Usage.model_validate(plain(response.usage))
        with suppress(ConnectionError):
            await self._connection.session_update(session_id, idle)

    async def _send_state(self, session_id: str) -> None:
        """Send whether a turn runs or waits for the client."""
        if session_id not in self._running:
            return
        waits = bool(self._asking.get(session_id))
        state = schema.RequiresActionSessionStateUpdate() if waits else schema.RunningSessionStateUpdate()
        with suppress(ConnectionError):
            await self._connection.session_update(session_id, state)
