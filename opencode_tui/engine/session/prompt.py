"""Operations on a session's conversation: prompt, command, withdraw, cancel. Source: docs/internals/loop.md#prompts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import dropwhile, takewhile

from msgspec import Struct

from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.engine.provider.catalog import DEMO
from opencode_tui.engine.provider.recent import RecentModels
from opencode_tui.engine.session.agent_tree import AgentTrees
from opencode_tui.engine.session.command import SessionCommands
from opencode_tui.engine.session.loop import SessionLoop
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.request.history import Position, as_read, filter_compacted, is_answered, position
from opencode_tui.engine.session.request.user_message import Target, UserMessages, check_part_ids, is_same_request
from opencode_tui.engine.session.runs import Run, SessionRuns
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.schema.api.request import CommandInput, PromptInput
from opencode_tui.schema.error import BusyError, IdInUseError, OpencodeError, RunAborted, SessionError, UnlockedError
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.agent_branch import agent_branch
from opencode_tui.schema.session.history import MessageWithParts, conversation, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import AnyPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateRunning

Stored = Callable[[str], None]
"""Called with the id of a request when it is stored."""

Begin = Callable[[], Awaitable[MessageWithParts | None]]
"""The first work of a run; a returned message is the run's result, without any step."""


class _Request(Struct):
    """A prompt, the callback for its storing, whether an id that is in use is refused, and its message once it is made."""

    prompt: PromptInput
    stored: Stored | None
    refuses_ids: bool = False
    made: tuple[UserMessage, Sequence[AnyPart]] | None = None
    is_stored: bool = False

    def store(self, message_id: str) -> None:
        """Say that the request is on disk, with this id."""
        self.is_stored = True
        if self.stored is not None:
            self.stored(message_id)


class SessionPrompt(Struct, frozen=True):
    """Accepts requests for the sessions of one folder's instance; with `is_isolated` for that of one agent in its worktree."""

    store: SessionStore
    runs: SessionRuns
    loop: SessionLoop
    users: UserMessages
    recent: RecentModels
    commands: SessionCommands
    agents: AgentTrees
    lock: SessionLock
    is_isolated: bool = False

    def check(self, request: PromptInput) -> None:
        """Raise ConfigError or ModelNotFoundError when a request for a new session could not be answered."""
        self.users.check(request)

    async def prompt(
        self,
        session_id: str,
        request: PromptInput,
        *,
        policy: Policy | None = None,
        stored: Stored | None = None,
        refuses_ids: bool = False,
    ) -> MessageWithParts:
        """Store a request and return the last message of its answer once the session is idle.

        While the session is running the request is stored at once and answered by that run; all callers get the same answer.
        A request with `delivery` "queue" waits for the end of that run instead, and is answered by a run of its own, as
        does a request sent while an interrupted run is still ending.
        With `no_reply` the stored request is returned. `policy` answers the run's permission requests (else the
        user does); `stored` is called with the request's id when it is on disk. Raises the error of the turn, RunAborted
        when it was interrupted, BusyError when another process has the session and the request is not stored, SessionError when the
        request waits there.

        A request that is sent again with its id gets the answer to the first one. One whose id, or the id of a part, is in use is
        stored under ids of ours; with `refuses_ids` it raises IdInUseError.
        """
        given = _Request(request, stored, refuses_ids)
        try:
            return await self._prompt(session_id, given, policy)
        except BusyError as error:
            if not given.is_stored:
                raise
            raise SessionError(f"the request is stored and waits to be sent: {error}") from error

    async def _prompt(self, session_id: str, given: _Request, policy: Policy | None) -> MessageWithParts:
        """Do as `prompt`, but raise BusyError also for a request that is stored."""
        request = given.prompt
        await self.store.refresh(session_id)
        target = await self.users.address(session_id, request)
        if given.refuses_ids:
            check_part_ids(request)
        active, is_ending = self.runs.registry.get(session_id), False
        while active is not None:
            is_ending = is_ending or active.is_aborted
            must_wait = request.delivery == "queue" and not request.no_reply
            try:
                message = await self._join(session_id, active, given, target, is_waiting=must_wait)
            except IdInUseError as error:
                return await self._repeated(session_id, given, error, policy)
            except RunAborted:
                if not is_ending:
                    raise
            except UnlockedError:  # the run ended while the request was prepared
                pass
            else:
                return await self._follow(session_id, active, message, given, policy, is_ending=is_ending)
            await active.wait_end()
            active = self.runs.registry.get(session_id)
        try:
            return await self._start_request(session_id, given, target, policy).answer()
        except IdInUseError as error:
            return await self._repeated(session_id, given, error, policy)

    async def _join(
        self, session_id: str, active: Run, request: _Request, target: Target, *, is_waiting: bool
    ) -> UserMessage:
        """Store a request that a run answers, or that waits for its end, once the run has its session's lock.

        Raises the error of a run that does not get it: then nothing is stored.
        """
        writer = await active.writer()
        return await self._store_request(writer, request, target, is_waiting=is_waiting)

    async def _follow(
        self,
        session_id: str,
        active: Run,
        message: UserMessage,
        request: _Request,
        policy: Policy | None,
        *,
        is_ending: bool,
    ) -> MessageWithParts:
        """Return the answer to a request that was stored during a run."""
        if request.prompt.no_reply:
            return await self._stored(message)
        answer: MessageWithParts | None = None
        try:
            answer = await active.answer()
        except RunAborted:
            if not is_ending:  # else the request came after the interruption, which does not apply to it
                raise
        except OpencodeError:
            if not is_waiting(message):
                raise
        while left := await self._left_before(session_id, message.id):
            try:
                answer = await self._start_waiting(session_id, policy).answer()
            except RunAborted:
                raise
            except OpencodeError:
                if left == await self._left_before(session_id, message.id) or not await self._waits(
                    session_id, message.id
                ):
                    raise  # nothing went on, or it is the error of its own turn
        if answer is not None and await self._is_answered(session_id):
            return answer
        return await self._start(session_id, policy).answer()

    async def command(
        self,
        session_id: str,
        given: CommandInput,
        *,
        policy: Policy | None = None,
        stored: Stored | None = None,
        refuses_ids: bool = False,
    ) -> MessageWithParts:
        """Send the prompt of a slash command and return as `prompt` does.

        Raises ConfigError for an unknown command or agent, PermissionRefused when a snippet of it may not run.
        """
        if given.agent is None:
            await self.store.refresh(session_id)
            given = given.changed(agent=await self.users.subagent_of(session_id))
        request = await self.commands.prepare(session_id, given, policy=policy or AskPerson())
        answer = await self.prompt(session_id, request, policy=policy, stored=stored, refuses_ids=refuses_ids)
        await self.commands.report_executed(session_id, given, answer)
        return answer

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Withdraw a request that waits for the turn before it; returns False when a step has already read it."""
        message_id = await self.store.stored_id(session_id, message_id)
        run = self.runs.registry.get(session_id)
        if run is None:
            return await self._withdraw_idle(session_id, message_id)
        try:
            writer = await run.writer()
        except SessionError:
            return await self.store.withdraw_elsewhere(session_id, message_id)
        found = await self._find(session_id, message_id)
        if found is None:
            return False
        if not is_waiting(found.info):
            newest_first = reversed(conversation(await self.store.recent(session_id)))
            unanswered = _ids(takewhile(lambda one: isinstance(one.info, UserMessage), newest_first))
            if message_id not in unanswered - run.read:
                return False
            run.withdrawn.add(message_id)
        return await writer.withdraw(message_id)

    async def _withdraw_idle(self, session_id: str, message_id: str) -> bool:
        """Withdraw a request that no step has read, in a session that this process does not run; another may."""
        if not await self._is_unread(session_id, message_id):
            return False
        try:
            async with self.lock.hold(session_id):
                return await self._is_unread(session_id, message_id) and await self.store.writer(session_id).withdraw(
                    message_id
                )
        except BusyError:
            return await self.store.withdraw_elsewhere(session_id, message_id)

    async def _is_unread(self, session_id: str, message_id: str) -> bool:
        """Return whether a request waits, or came after all that an interrupted run has written."""
        found = await self._find(session_id, message_id)
        if found is None or is_waiting(found.info):
            return found is not None
        newest_first = reversed(conversation(await self.store.recent(session_id)))
        return message_id in _ids(takewhile(lambda one: isinstance(one.info, UserMessage), newest_first))

    async def send_now(self, session_id: str, message_id: str, *, policy: Policy | None = None) -> bool:
        """Let the session read a request that waits at once; returns False when it does not wait any more.

        While tools run it joins the turn after them. A response that is being written is interrupted.
        """
        message_id = await self.store.stored_id(session_id, message_id)
        waiting = await self._find(session_id, message_id)
        if waiting is None or not isinstance(waiting.info, UserMessage):
            return False
        run = self.runs.registry.get(session_id)
        if is_waiting(waiting.info):
            if run is None:
                self._start_waiting(session_id, policy, message_id)
                return True
            if await (await run.writer()).release(waiting) is None:
                return False
        elif run is None or message_id in run.read or message_id not in _ids(await self.store.recent(session_id)):
            return False
        if await self._has_running_tool(session_id):
            return True
        run.abort()
        await run.wait_end()
        self._start(session_id, policy)
        return True

    async def _has_running_tool(self, session_id: str) -> bool:
        steps = (one for one in reversed(await self.store.recent(session_id)) if isinstance(one.info, AssistantMessage))
        parts = next((one.parts for one in steps), ())
        return any(isinstance(part, ToolPart) and isinstance(part.state, ToolStateRunning) for part in parts)

    async def _waits(self, session_id: str, message_id: str) -> bool:
        """Return whether a request still waits."""
        found = await self._find(session_id, message_id)
        return found is not None and is_waiting(found.info)

    async def _left_before(self, session_id: str, message_id: str) -> list[str]:
        """Return the requests that wait up to this one, with it, oldest first; none when it does not wait any more."""
        if not await self._waits(session_id, message_id):
            return []
        waiting = [one.info.id for one in await self.store.messages(session_id) if is_waiting(one.info)]
        return waiting[: waiting.index(message_id) + 1] if message_id in waiting else [message_id]

    async def _repeated(
        self, session_id: str, request: _Request, error: IdInUseError, policy: Policy | None
    ) -> MessageWithParts:
        """Return the answer to the request that has the id of this one already, if it is the same; raises the error otherwise."""
        found = None
        if error.session_id == session_id and (given := request.prompt.message_id) is not None:
            found = await self._find(session_id, await self.store.stored_id(session_id, given))
        if found is None or not isinstance(found.info, UserMessage) or not is_same_request(request.prompt, found):
            if request.refuses_ids:
                raise error
            other = request.prompt.changed(message_id=None)
            return await self.prompt(session_id, other, policy=policy, stored=request.stored)
        request.store(found.info.id)
        active = self.runs.registry.get(session_id)
        if active is not None and (answered := await self._answer_to(session_id, found.info.id)) is None:
            return await self._follow(session_id, active, found.info, request, policy, is_ending=False)
        if request.prompt.no_reply:
            return found
        answered = await self._answer_to(session_id, found.info.id)
        if answered is not None:
            return answered
        if is_waiting(found.info):
            return await self._start_waiting(session_id, policy, found.info.id).answer()
        return await self._start(session_id, policy).answer()

    async def _answer_to(self, session_id: str, message_id: str) -> MessageWithParts | None:
        """Return the last message of the complete answer to a request, None without one."""
        messages = as_read(conversation(await self.store.messages(session_id)))
        at = next((at for at, one in enumerate(messages) if one.info.id == message_id), len(messages))
        after = list(dropwhile(lambda one: isinstance(one.info, UserMessage), messages[at:]))
        turn = list(takewhile(lambda one: isinstance(one.info, AssistantMessage), after))
        return turn[-1] if turn and is_answered(turn, Position(0, len(turn) - 1, None)) else None

    async def _find(self, session_id: str, message_id: str) -> MessageWithParts | None:
        """Return a message, None when there is none."""
        return next(iter(await self.store.named(session_id, [message_id])), None)

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
            message = await self._store_request(self.store.writer(session_id), request, target)
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
                for one in chosen:
                    if await self.store.writer(session_id).release(one) is not None:
                        return

        return self._start(session_id, policy, begin)

    async def _store_request(
        self, writer: SessionWriter, request: _Request, target: Target, *, is_waiting: bool = False
    ) -> UserMessage:
        session_id, given = writer.session_id, request.prompt.message_id
        if given is not None:
            await writer.check_unused(given)
        if request.made is None:
            request.made = await self.users.new(session_id, request.prompt, target, is_waiting=is_waiting)
        message, parts = request.made
        message = await writer.add_request(
            message.changed(delivery="queue" if is_waiting else None), parts, given=given
        )
        request.store(message.id)
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


def _switched(info: SessionInfo, switches: Mapping[str, bool]) -> SessionInfo:
    """Return the session with tools switched off by a rule, or on again; its other rules stay, and no rule allows anything."""
    off = [Rule(permission=tool, pattern="*", action="deny") for tool, is_on in switches.items() if not is_on]
    earlier = [Rule(permission=tool, pattern="*", action="deny") for tool in switches]
    rules = [*(rule for rule in info.permission or [] if rule not in earlier), *off]
    return info.changed(permission=rules or None)
