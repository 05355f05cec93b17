"""Operations on a session's conversation: prompt, command, withdraw, cancel. Source: docs/internals/loop.md#prompts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile

from msgspec import Struct

from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.engine.provider.catalog import DEMO
from opencode_tui.engine.provider.recent import RecentModels
from opencode_tui.engine.session.agent_tree import AgentTrees
from opencode_tui.engine.session.command import SessionCommands
from opencode_tui.engine.session.loop import SessionLoop
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import filter_compacted, is_answered, position
from opencode_tui.engine.session.request.user_message import Target, UserMessages
from opencode_tui.engine.session.runs import Run, SessionRuns
from opencode_tui.schema.api.request import CommandInput, PromptInput
from opencode_tui.schema.error import RunAborted, SessionError
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.agent_branch import agent_branch
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateRunning

Stored = Callable[[str], None]
"""Called with the id of a request when it is stored."""

Begin = Callable[[], Awaitable[MessageWithParts | None]]
"""The first work of a run; a returned message is the run's result, without any step."""


class _Request(Struct, frozen=True):
    """A prompt, and the callback for its storing."""

    prompt: PromptInput
    stored: Stored | None


class SessionPrompt(Struct, frozen=True):
    """Accepts requests for the sessions of one folder's instance; with `is_isolated` for that of one agent in its worktree."""

    store: SessionStore
    runs: SessionRuns
    loop: SessionLoop
    users: UserMessages
    recent: RecentModels
    commands: SessionCommands
    agents: AgentTrees
    is_isolated: bool = False

    def check(self, request: PromptInput) -> None:
        """Raise ConfigError or ModelNotFoundError when a request for a new session could not be answered."""
        self.users.check(request)

    async def prompt(
        self, session_id: str, request: PromptInput, *, policy: Policy | None = None, stored: Stored | None = None
    ) -> MessageWithParts:
        """Store a request and return the last message of its answer once the session is idle.

        While the session is running the request is stored at once and answered by that run; all callers get the same answer.
        A request with `delivery` "queue" waits for the end of that run instead, and is answered by a run of its own, as
        does a request sent while an interrupted run is still ending.
        With `no_reply` the stored request is returned. `policy` answers the run's permission requests (else the
        user does); `stored` is called with the request's id when it is on disk. Raises the error of the turn, RunAborted
        when it was interrupted, BusyError when another process has the session.
        """
        await self.store.refresh(session_id)
        target = await self.users.address(session_id, request)
        active = self.runs.registry.get(session_id)
        if active is None:
            return await self._start_request(session_id, _Request(request, stored), target, policy).answer()
        must_wait = request.delivery == "queue" and not request.no_reply
        is_ending = active.is_aborted
        message = await self._store_request(session_id, _Request(request, stored), target, is_waiting=must_wait)
        if request.no_reply:
            return await self._stored(message)
        answer: MessageWithParts | None = None
        try:
            answer = await active.answer()
        except RunAborted:
            if not is_ending:  # else the request came after the interruption, which does not apply to it
                raise
        while await self._waiting(session_id, message.id):
            answer = await self._start_waiting(session_id, policy).answer()
        if answer is not None and await self._is_answered(session_id):
            return answer
        return await self._start(session_id, policy).answer()

    async def command(
        self, session_id: str, given: CommandInput, *, policy: Policy | None = None, stored: Stored | None = None
    ) -> MessageWithParts:
        """Send the prompt of a slash command and return as `prompt` does.

        Raises ConfigError for an unknown command or agent, PermissionRefused when a snippet of it may not run.
        """
        if given.agent is None:
            await self.store.refresh(session_id)
            given = given.changed(agent=await self.users.subagent_of(session_id))
        request = await self.commands.prepare(session_id, given, policy=policy or AskPerson())
        answer = await self.prompt(session_id, request, policy=policy, stored=stored)
        await self.commands.report_executed(session_id, given, answer)
        return answer

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Withdraw a request that waits for the turn before it; returns False when a step has already read it."""
        found = await self._find(session_id, message_id)
        wanted = None if found is None else found.info
        if wanted is not None and is_waiting(wanted):
            await self.store.withdraw_message(session_id, message_id)
            return True
        newest_first = reversed(await self.store.recent(session_id))
        unanswered = _ids(takewhile(lambda one: isinstance(one.info, UserMessage), newest_first))
        run = self.runs.registry.get(session_id)
        if run is None or message_id not in unanswered - run.read:
            return False
        run.withdrawn.add(message_id)
        await self.store.withdraw_message(session_id, message_id)
        return True

    async def send_now(self, session_id: str, message_id: str, *, policy: Policy | None = None) -> bool:
        """Let the session read a request that waits at once; returns False when it does not wait any more.

        While tools run it joins the turn after them. A response that is being written is interrupted.
        """
        waiting = await self._find(session_id, message_id)
        if waiting is None or not isinstance(waiting.info, UserMessage):
            return False
        run = self.runs.registry.get(session_id)
        if is_waiting(waiting.info):
            if run is None:
                self._start_waiting(session_id, policy, message_id)
                return True
            await self.users.release(waiting)
        elif run is None or message_id in run.read or message_id not in _ids(await self.store.recent(session_id)):
            return False
        if await self._has_running_tool(session_id):
            return True
        run.abort()
        with suppress(SessionError):
            await run.answer()
        self._start(session_id, policy)
        return True

    async def _has_running_tool(self, session_id: str) -> bool:
        steps = (one for one in reversed(await self.store.recent(session_id)) if isinstance(one.info, AssistantMessage))
        parts = next((one.parts for one in steps), ())
        return any(isinstance(part, ToolPart) and isinstance(part.state, ToolStateRunning) for part in parts)

    async def _waiting(self, session_id: str, message_id: str) -> bool:
        """Return whether a request still waits."""
        found = await self._find(session_id, message_id)
        return found is not None and is_waiting(found.info)

    async def _find(self, session_id: str, message_id: str) -> MessageWithParts | None:
        """Return a message, None when there is none; most are among the last ones."""
        found = _named(await self.store.recent(session_id), message_id)
        if found is None and message_id in (self.store.message_ids(session_id) or ()):
            found = _named(await self.store.messages(session_id), message_id)
        return found

    def cancel(self, session_id: str) -> bool:
        """Interrupt the session's run, or the command that would start one; returns whether there was any. Does not block."""
        was_preparing = self.commands.cancel(session_id)
        self.agents.interrupt(session_id)
        self.loop.interrupt(session_id)
        return self.runs.registry.abort(session_id) or was_preparing

    def _start(self, session_id: str, policy: Policy | None, begin: Begin | None = None) -> Run:
        """Start a run that calls `begin` first; without `begin` return the active run if there is one."""
        active = self.runs.registry.get(session_id)
        if active is not None and begin is None:
            return active

        async def body(run: Run) -> MessageWithParts:
            if not self.is_isolated and agent_branch(await self.store.get(session_id)) is not None:
                raise SessionError(
                    "this agent works in a worktree of its own, which is there only while it works; "
                    "ask for more in the session that started it"
                )
            stored = await begin() if begin is not None else None
            if stored is not None:
                return stored
            run.end_changes = partial(self.runs.end_changes, session_id)
            run.after_run = partial(self.runs.summarize, session_id)
            answer = await self.loop.run(run, await self.store.get(session_id), self)
            await self.runs.end_changes(session_id)  # before the user sees its end, and edits files
            return answer

        return self.runs.start(session_id, body, policy=policy or AskPerson())

    def _start_request(self, session_id: str, request: _Request, target: Target, policy: Policy | None) -> Run:
        async def begin() -> MessageWithParts | None:
            message = await self._store_request(session_id, request, target)
            return await self._stored(message) if request.prompt.no_reply else None

        return self._start(session_id, policy, begin)

    def _start_waiting(self, session_id: str, policy: Policy | None, message_id: str | None = None) -> Run:
        """Start a run for the oldest request that waits, or for the given one; return the active run if there is one."""
        active = self.runs.registry.get(session_id)
        if active is not None:
            return active

        async def begin() -> None:
            for read in (self.store.recent, self.store.messages):
                waiting = [one for one in await read(session_id) if is_waiting(one.info)]
                chosen = [one for one in waiting if message_id in (None, one.info.id)]
                for one in chosen[:1]:
                    await self.users.release(one)
                    return

        return self._start(session_id, policy, begin)

    async def _store_request(
        self, session_id: str, request: _Request, target: Target, *, is_waiting: bool = False
    ) -> UserMessage:
        message, parts = await self.users.new(session_id, request.prompt, target, is_waiting=is_waiting)
        await self.store.add_message(message, parts)
        if request.stored is not None:
            request.stored(message.id)
        if target.model != DEMO:
            await asyncio.to_thread(self.recent.remember, target.model)
        switches = request.prompt.tools or {}
        # Also without changes: this session is now the latest one.
        await self.store.update(session_id, lambda info: _switched(info, switches))
        return message

    async def _stored(self, message: UserMessage) -> MessageWithParts:
        return with_parts(message, self.store.parts(message.session_id, message.id))

    async def _is_answered(self, session_id: str) -> bool:
        messages = filter_compacted(await self.store.recent(session_id))
        return is_answered(messages, position(messages))


def _ids(messages: Iterable[MessageWithParts]) -> set[str]:
    return {one.info.id for one in messages}


def _named(messages: Sequence[MessageWithParts], message_id: str) -> MessageWithParts | None:
    return next((one for one in messages if one.info.id == message_id), None)


def _switched(info: SessionInfo, switches: Mapping[str, bool]) -> SessionInfo:
    """Return the session with tools switched off by a rule, or on again; its other rules stay, and no rule allows anything."""
    off = [Rule(permission=tool, pattern="*", action="deny") for tool, is_on in switches.items() if not is_on]
    earlier = [Rule(permission=tool, pattern="*", action="deny") for tool in switches]
    rules = [*(rule for rule in info.permission or [] if rule not in earlier), *off]
    return info.changed(permission=rules or None)
