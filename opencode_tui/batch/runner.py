"""Runs one task: a worktree or a clone of its own, one turn in it, its changes, its check; then the worktree is removed.

`opencode-tui batch task` runs it, in a process of its own. Permission requests are answered as with `--auto`, nothing outside the
sandbox. The session is in the user's store and belongs to the folder of the task.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from opencode_tui.batch.pool import OnCost
from opencode_tui.batch.task import CheckResult, Status, TaskOrder, TaskResult, TaskTokens, failed_result
from opencode_tui.client.client import EventReader
from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.client.policy import Policy, choose_policy
from opencode_tui.client.task_repository import TaskRepository, TaskWorktree, WorktreeChanges, open_repository
from opencode_tui.schema.api.mcp import LISTS_S, McpWait
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import OpencodeError, PermissionRefused
from opencode_tui.schema.event.event import MessageUpdated
from opencode_tui.schema.model import parse_model_ref
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, Message
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.stored_error import describe_stored
from opencode_tui.schema.session.tool_state import ToolStateError
from opencode_tui.schema.system_error import cause_of
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import failure_text

OUTPUT_BYTES = 16_000
"""How much of the end of a check's output the result has."""

_ABORT_S = 2.0
"""Seconds that an interrupted turn has to close its records."""

_TITLE_CHARS = 60
_REASON_CHARS = 120


class RecordRefusals(Policy):
    """A policy that records what another one refuses."""

    def __init__(self, policy: Policy, refused: list[str] | None = None) -> None:
        self._policy = policy
        self.refused: list[str] = [] if refused is None else refused

    def decide(self, request: PermissionRequest) -> bool:
        """Return what the policy returns. Raises PermissionRefused."""
        try:
            return self._policy.decide(request)
        except PermissionRefused as error:
            self.refused.append(str(error))
            raise

    def automatic(self, *, outside: bool) -> Policy:
        """Return the policy that answers itself, with the same record."""
        return RecordRefusals(self._policy.automatic(outside=outside), self.refused)

    def with_outside(self) -> Policy:
        """Return the policy whose own answers may leave the sandbox, with the same record."""
        return RecordRefusals(self._policy.with_outside(), self.refused)


async def run_task(order: TaskOrder, environ: Mapping[str, str], on_cost: OnCost | None = None) -> TaskResult:
    """Run a task and return its result; every error that concerns the task is in it. Canceling leaves no worktree."""
    begin = time.monotonic()
    try:
        repository = await asyncio.to_thread(open_repository, environ, Path(order.directory))
        async with repository.worktree(order.commit, order.task.id, is_isolated=order.isolate) as tree:
            return await _Task(order, environ, repository, tree, begin, on_cost).run()
    except OpencodeError as error:
        return failed_result(order, str(error), seconds=time.monotonic() - begin)


class _Task:
    def __init__(
        self,
        order: TaskOrder,
        environ: Mapping[str, str],
        repository: TaskRepository,
        tree: TaskWorktree,
        begin: float,
        on_cost: OnCost | None,
    ) -> None:
        self._order = order
        self._environ = environ
        self._repository = repository
        self._tree = tree
        self._begin = begin
        self._on_cost = on_cost
        self._policy = RecordRefusals(choose_policy(auto="inside", has_terminal=False))
        self._status: Status = "done"
        self._error = ""
        self._costs: dict[str, float] = {}
        self._model = order.model

    async def run(self) -> TaskResult:
        async with open_client(self._environ, self._tree.directory, policy=self._policy) as client:
            limit = self._order.timeout
            deadline = None if limit is None else self._begin + limit
            request = PromptInput(
                model=parse_model_ref(self._order.model) if self._order.model else None,
                agent=self._order.agent,
                parts=[TextInput(text=self._order.task.prompt)],
            )
            await client.prompts.check(request)
            await client.mcp.wait_listed(McpWait(seconds=LISTS_S))
            session = await client.sessions.create(CreateSession(title=self._title()))
            try:
                answer = await self._turn(client, session.id, request, deadline)
                if self._status == "done" and (refusal := await self._last_refusal(client, session.id)):
                    self._status, self._error = "rejected", refusal
                with suppress(OpencodeError):
                    await client.background.end()
                changes = await self._changes()
                is_over = self._status in ("done", "rejected")
                check = await self._check(client, session.id, deadline) if is_over else None
                totals = await client.sessions.totals(session.id)
            finally:
                await client.assign_session(session.id, self._repository.directory)
            return TaskResult(
                id=self._order.task.id,
                status=self._status,
                session=session.id,
                answer=_text(answer),
                diff=changes.diff,
                files=list(changes.files),
                cost=totals.cost,
                tokens=TaskTokens(input=totals.input, output=totals.output, cached=totals.cached),
                seconds=round(time.monotonic() - self._begin, 3),
                check=check,
                error=self._error or None,
                refused=self._policy.refused or None,
                base=self._tree.commit,
                directory=self._order.directory,
                model=_model(answer.info if answer else None) or self._model,
                task_hash=self._order.task.fingerprint(),
                export=await _export(client, session.id) if self._order.export_session else None,
            )

    async def _changes(self) -> WorktreeChanges:
        """Return the changes of the task, none where git cannot read them: its session and its cost still count."""
        try:
            return await self._repository.changes(self._tree)
        except OpencodeError as error:
            self._status, self._error = "failed", f"its changes cannot be read: {error}"
            return WorktreeChanges("", ())

    async def _last_refusal(self, client: LocalClient, session_id: str) -> str:
        """Return why the last call of the turn was not allowed; empty when it was, or when there was none.

        An agent that went on with other calls found another way.
        """
        messages = await client.messages.list(session_id)
        calls = [part for message in messages for part in message.parts if isinstance(part, ToolPart)]
        state = calls[-1].state if calls else None
        if not isinstance(state, ToolStateError):
            return ""
        is_refused = state.stop_reason in ("rejected", "denied") or state.unasked
        return failure_text(calls[-1], state, str(self._tree.directory)) if is_refused else ""

    def _title(self) -> str:
        words = " ".join(self._order.task.prompt.split())[:_TITLE_CHARS].rstrip()
        return f"{self._order.task.id}: {words}"

    async def _turn(
        self, client: LocalClient, session_id: str, request: PromptInput, deadline: float | None
    ) -> MessageWithParts | None:
        """Run the turn until it ends or a limit interrupts it; return its last message."""
        with client.events() as events:
            follower = asyncio.create_task(self._follow(events))
            turn = asyncio.create_task(client.prompts.prompt(session_id, request))
            try:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                await asyncio.wait({follower, turn}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not turn.done():
                    self._interrupted_by(is_cost=follower.done())
            finally:
                follower.cancel()
                await _end(client, session_id, turn)
                await asyncio.wait({follower})
        return self._judge(turn)

    async def _follow(self, events: EventReader) -> None:
        """Add up the cost of all steps; return when it reaches the limit."""
        async for envelope in events:
            event = envelope.event
            if isinstance(event, MessageUpdated) and isinstance(event.info, AssistantMessage) and event.info.cost:
                self._model = self._model or _model(event.info)
                self._costs[event.info.id] = event.info.cost
                spent = sum(self._costs.values())
                if self._on_cost is not None:
                    self._on_cost(spent)
                if self._order.max_cost is not None and spent >= self._order.max_cost and event.info.finish != "stop":
                    return

    def _interrupted_by(self, *, is_cost: bool) -> None:
        if is_cost:
            self._status, self._error = "failed", f"the cost limit of ${self._order.max_cost:g} is reached"
        else:
            self._status, self._error = "timeout", f"the time limit of {self._order.timeout:g} s is over"

    def _judge(self, turn: "asyncio.Task[MessageWithParts]") -> MessageWithParts | None:
        """Set the status by how the turn ended; return its last message."""
        failure = None if turn.cancelled() else turn.exception()
        if turn.cancelled() or failure is not None:
            if self._status == "done":
                if failure is not None and not isinstance(failure, OpencodeError):
                    raise failure
                self._status, self._error = "failed", str(failure or "the turn was interrupted")
            return None
        answer = turn.result()
        info = answer.info
        if self._status == "done" and isinstance(info, AssistantMessage) and info.shown_error is not None:
            self._status, self._error = (
                "failed",
                describe_stored(info.shown_error, info.provider_id, info.model_id),
            )
        return answer

    async def _check(self, client: LocalClient, session_id: str, deadline: float | None) -> CheckResult | None:
        """Run the task's check in the worktree, inside the sandbox; the status is `failed` when it fails."""
        command = self._order.task.check
        if command is None:
            return None
        output = bytearray()

        def feed(data: bytes) -> None:
            output.extend(data)
            if len(output) > 2 * OUTPUT_BYTES:
                del output[:-OUTPUT_BYTES]

        left = 24 * 3600.0 if deadline is None else max(0.1, deadline - time.monotonic())
        try:
            exit_code = await client.run_check(command, session_id, feed, timeout_ms=round(left * 1000))
        except OSError as error:
            self._status, self._error = "failed", f"the check cannot start ({cause_of(error)})"
            return None
        if exit_code is None:
            self._status, self._error = "timeout", f"check exceeded the time limit of {self._order.timeout:g} s"
        elif exit_code != 0:
            self._status, self._error = "failed", f"check exited with {exit_code}{_last_line(output)}"
        elif self._status == "rejected":
            self._status, self._error = "done", ""
        return CheckResult(exit=exit_code, output=bytes(output[-OUTPUT_BYTES:]).decode("utf-8", "replace"))


def _last_line(output: bytes | bytearray) -> str:
    """Return the last line of a failed check, which mostly says why; empty without output."""
    lines = bytes(output[-OUTPUT_BYTES:]).decode("utf-8", "replace").splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {screen_line(last)[:_REASON_CHARS]}" if last else ""


async def _end(client: LocalClient, session_id: str, turn: "asyncio.Task[MessageWithParts]") -> None:
    """Interrupt a turn that is not over; it gets some time to close its records."""
    if not turn.done():
        await client.prompts.abort(session_id)
        await asyncio.wait({turn}, timeout=_ABORT_S)
        turn.cancel()
        await asyncio.wait({turn})


async def _export(client: LocalClient, session_id: str) -> list[JsonObject]:
    """Return the records of a session and its agents' sessions, as `opencode-tui export` prints them."""
    found: list[JsonObject] = []
    waiting = [session_id]
    while waiting:
        info = await client.sessions.get(waiting.pop(0))
        messages = await client.messages.list(info.id)
        found.append({"info": info.to_dict(), "messages": [message.to_dict() for message in messages]})
        waiting += [child.id for child in await client.sessions.children(info.id)]
    return found


def _text(answer: MessageWithParts | None) -> str:
    parts = [] if answer is None else answer.parts
    texts = (part.text.strip() for part in parts if isinstance(part, TextPart) and not part.synthetic)
    return "\n\n".join(text for text in texts if text)


def _model(info: Message | None) -> str | None:
    return f"{info.provider_id}/{info.model_id}" if isinstance(info, AssistantMessage) else None
