"""One step: an assistant message from the model call to its last part.

The stream's parts are stored and published as they arrive; the tools of the step start together after a complete stream; of an
broken answer nothing runs, and its text is dropped when it is tried again. `finalize` closes whatever an interruption or a failure
left open; the run's supervisor calls it after the body has ended. Source: docs/internals/loop.md#one-step.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.cost import to_cost, to_tokens
from opencode_tui.engine.provider.llm import FinishStep, Llm, LlmRequest, StreamEvent, ToolCall
from opencode_tui.engine.session.plugin_hooks import change_text
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.request.media import find_limit, media_of, within_limit, without_media
from opencode_tui.engine.session.request.thoughts import without_default, without_refused
from opencode_tui.engine.session.retry import (
    BAD_CALL,
    MEDIA,
    PARAMETER,
    THOUGHTS,
    UNTHOUGHT,
    GiveUp,
    MediaLimit,
    Wait,
    most_attempts,
    next_try,
    store_cause,
)
from opencode_tui.engine.session.runs import Cleanup, SessionStatuses
from opencode_tui.engine.session.step.file_changes import StepRecorder
from opencode_tui.engine.session.step.part_machine import Grew, PartChange, PartMachine, Stored, merge_growth
from opencode_tui.engine.session.step.tool_calls import CallScope, ToolCalls
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.error import Failure, OpencodeError, ProviderError, StorageError, split_remedy, with_remedy
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, MessagePath, MessageTime, UserMessage
from opencode_tui.schema.session.part import RetryPart, RetryTime, StepFinishPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.session import RetryStatus
from opencode_tui.schema.session.stored_error import StoredError
from opencode_tui.schema.session.tool_state import ABORTED_TOOL, ToolStateRunning, fail

logger = logging.getLogger(__name__)

_TOO_LARGE = 413
"""The HTTP status of a request with too many bytes."""

STREAM_SLICE_MS = 8
"""Milliseconds after which a stream without pauses yields to the event loop."""

SYNC_S = 0.05
"""Seconds in which an interrupted step is stored before its end is shown; a slow disk gets it later, under the lock of the run."""

_LEFT_OUT = {
    MEDIA: "the images and documents so far are",
    THOUGHTS: "the reasoning so far is",
    UNTHOUGHT: "reasoning is",
    PARAMETER: "the default of its reasoning is",
}

Outcome = Literal["continue", "stop"]
NOT_RUN = "Not run: the answer with this call is incomplete"


class PartIds(TypedDict):
    """The IDs of a new part of a message."""

    id: str
    session_id: str
    message_id: str


class NewMessages(Struct, frozen=True):
    """Makes the messages that the program adds to the sessions of one folder, with new IDs and the present time."""

    identifier: Identifier
    clock: Clock
    directory: Path
    worktree: Path

    def answer(self, request: UserMessage, model: ModelRef, agent: str) -> AssistantMessage:
        """Return the message of a step that answers a request."""
        return AssistantMessage(
            id=self.identifier.ascending("msg"),
            session_id=request.session_id,
            parent_id=request.id,
            model_id=model.model_id,
            provider_id=model.provider_id,
            mode=agent,
            agent=agent,
            path=MessagePath.trusted(cwd=str(self.directory), root=str(self.worktree)),
            time=MessageTime.trusted(created=self.clock()),
        )

    def request_like(self, request: UserMessage) -> UserMessage:
        """Return a request with the agent, the model and the options of an earlier one."""
        return request.changed(
            id=self.identifier.ascending("msg"), time=MessageTime.trusted(created=self.clock()), summary=None
        )

    def ids(self, message: AnyMessage) -> PartIds:
        """Return the IDs of a new part of a message."""
        return PartIds(id=self.identifier.ascending("prt"), session_id=message.session_id, message_id=message.id)

    def text(self, message: UserMessage, text: str) -> TextPart:
        """Return a text of a request that the user did not write."""
        return TextPart(**self.ids(message), text=text, synthetic=True)


class StepProcessor:
    """Processes one assistant message."""

    def __init__(
        self,
        message: AssistantMessage,
        *,
        store: SessionStore,
        statuses: SessionStatuses,
        identifier: Identifier,
        clock: Clock,
        calls: ToolCalls,
        estimator: TokenEstimator,
        recorder: StepRecorder,
        hooks: Hooks,
    ) -> None:
        self.message = message
        self._store = store
        self._statuses = statuses
        self._identifier = identifier
        self._clock = clock
        self._calls = calls
        self._estimator = estimator
        self._hooks = hooks
        self._machine: PartMachine | None = None
        self._price: Model | None = None
        self._lost = Decimal(0)
        """USD of answers that were cut off and asked for again."""
        self._unstored: list[PartChange] = []
        self._changes = recorder.begin(message)

    @property
    def _writer(self) -> SessionWriter:
        """What changes the session, whose run lock the step needs."""
        return self._store.writer(self.message.session_id)

    @property
    def finish(self) -> FinishStep | None:
        """Return how the answer ended; None before that, and for a step without a model."""
        return None if self._machine is None else self._machine.finish

    async def run(self, llm: Llm, request: LlmRequest, scope: CallScope, *, reminder: str | None = None) -> Outcome:
        """Call the model, run its tools and store the results; `reminder` is the end of the request that no message has.

        Returns `stop` when the user rejected a call. Raises ProviderError when the model call has failed permanently.
        """
        await self._writer.update_message(self.message)
        await self._start_step(reminder)
        machine, request = await self._answer(llm, request)
        finish = machine.finish
        if finish is None:
            raise ProviderError("the answer is incomplete", provider_id=self.message.provider_id)
        blocked = await self._calls.run(machine.calls, scope, self._changes)
        tokens, cost = to_tokens(finish.usage), self._lost + to_cost(finish.usage, request.model)
        await self._writer.update_part(
            StepFinishPart(
                **self._ids(),
                reason=finish.reason,
                snapshot=self._changes.snapshot,
                cost=float(cost),
                tokens=tokens,
            )
        )
        self.message = self.message.changed(finish=finish.reason, cost=float(cost), tokens=tokens)
        await self._writer.update_message(self.message)
        await self._complete()
        await self._estimator.observe(request, tokens)
        return "stop" if blocked else "continue"

    async def run_calls(self, calls: Sequence[tuple[ToolPart, ToolCall]], scope: CallScope) -> Outcome:
        """Run calls that no model made, as an answer that continues; returns `stop` when the user rejected one."""
        await self._writer.update_message(self.message)
        for part, _ in calls:
            await self._writer.update_part(part)
        blocked = await self._calls.run(calls, scope, self._changes)
        self.message = self.message.changed(finish="tool-calls")
        await self._complete()
        return "stop" if blocked else "continue"

    async def amend(self, **fields: object) -> None:
        """Change the completed message and store it."""
        self.message = self.message.changed(**fields)
        await self._writer.update_message(self.message)

    async def discard(self) -> None:
        """Delete the message with its parts."""
        await self._writer.remove_message(self.message.id)

    async def finalize(self, error: StoredError) -> Cleanup | None:
        """Close open texts, tool calls and the message with this error, also where the disk fails, which is often the error.

        Does nothing to a completed message, but return the remaining cleanup: recording the changes of interrupted commands.
        """
        if self.message.time.completed is None:
            await self._close(error)
        return None if self._changes.is_stored else self._changes.store_interrupted

    async def _close(self, error: StoredError) -> None:
        store, writer = self._store, self._writer
        if self._machine is not None:
            for change in (*self._unstored, *self._machine.close_open()):
                if isinstance(change, Stored):
                    writer.end_part(change.part)
        aborted = error.name == "MessageAbortedError"
        for part in store.parts(self.message.session_id, self.message.id):
            if isinstance(part, ToolPart) and part.is_open:
                is_interrupted = aborted or isinstance(part.state, ToolStateRunning)
                state = fail(
                    part.state,
                    error=ABORTED_TOOL if is_interrupted else NOT_RUN,
                    now=self._clock(),
                    stop_reason="interrupted" if is_interrupted else None,
                )
                writer.end_part(part.changed(state=state))
        if self._price is not None:
            last = Decimal(0) if self._machine is None else to_cost(self._machine.usage, self._price)
            self.message = self.message.changed(cost=float(self._lost + last))
        self.message = self.message.changed(error=error, time=self._completed_time())
        writer.end_message(self.message)
        if store.held_path(SYNC_S):
            return  # the disk hangs: nothing would be on it in time
        try:
            async with asyncio.timeout(SYNC_S):
                await store.sync()
        except (StorageError, TimeoutError) as failed:
            logger.warning(
                "the end of message %s is not on the disk yet: %s", self.message.id, str(failed) or "it is slow"
            )

    async def _answer(self, llm: Llm, request: LlmRequest) -> tuple[PartMachine, LlmRequest]:
        """Return the complete answer, and its request: without media or reasoning when the provider rejected them."""
        attempt, waited, is_shown = 1, 0, False
        self._price = request.model
        while True:
            machine = self._machine = PartMachine(
                session_id=self.message.session_id,
                message_id=self.message.id,
                identifier=self._identifier,
                clock=self._clock,
            )
            try:
                await self._read(llm, request, machine)
                return machine, request
            except ProviderError as error:
                decision = next_try(error, attempt=attempt, waited_ms=waited, is_shown=is_shown)
                reduced = _without_refused(request, error)
                limit = None
                if reduced is not None:
                    (request, limit), decision = reduced, Wait(0)
                if isinstance(decision, GiveUp):
                    raise _explained(error, decision.reason) from error
                self._lost += to_cost(machine.usage, request.model)
                if error.failure.kind == BAD_CALL:
                    from opencode_tui.engine.session.request.broken_call import with_broken_call  # only for such calls

                    request, is_shown = with_broken_call(request, error), True
                await self._drop(machine)
                await self._wait(error, attempt, decision.delay_ms, limit)
                attempt, waited = attempt + 1, waited + decision.delay_ms

    async def _read(self, llm: Llm, request: LlmRequest, machine: PartMachine) -> None:
        turn = time.monotonic()
        async with aclosing(llm.stream(request)) as stream:
            async for batch in stream:
                await self._apply_events(batch, machine)
                if (time.monotonic() - turn) * 1000 > STREAM_SLICE_MS:
                    await asyncio.sleep(0)
                    turn = time.monotonic()

    async def _apply_events(self, batch: Sequence[StreamEvent], machine: PartMachine) -> None:
        changes = merge_growth(change for event in batch for change in machine.apply(event))
        self._unstored = changes
        if self._hooks.has("experimental.text.complete"):
            changes = [await self._completed(change) for change in changes]
        await self._apply(changes)

    async def _completed(self, change: PartChange) -> PartChange:
        """Return the change with a completed text as plugins changed it."""
        part = change.part if isinstance(change, Stored) else None
        if isinstance(part, TextPart) and part.time is not None and part.time.end is not None:
            return Stored(await change_text(self._hooks, self.message, part))
        return change

    async def _apply(self, changes: Sequence[PartChange]) -> None:
        """Store the changes; after an interruption `finalize` stores the rest, the current one included."""
        self._unstored = list(changes)
        for change in changes:
            if isinstance(change, Grew):
                self._writer.grow_part(self.message.id, change.live, change.delta)
            else:
                await self._writer.update_part(change.part)
            del self._unstored[0]

    async def _drop(self, machine: PartMachine) -> None:
        self._unstored = []
        for part_id in machine.part_ids:
            await self._writer.remove_part(self.message.id, part_id)
        self._machine = None

    async def _wait(self, error: ProviderError, attempt: int, delay_ms: int, limit: MediaLimit | None) -> None:
        now = self._clock()
        await self._writer.update_part(
            RetryPart(**self._ids(), attempt=attempt, error=store_cause(error, limit), time=RetryTime(created=now))
        )
        self._statuses.set(
            self.message.session_id,
            RetryStatus(
                attempt=attempt, message=_waiting(error, limit), next=now + delay_ms, attempts=most_attempts(error)
            ),
        )
        await asyncio.sleep(delay_ms / 1000)
        self._statuses.busy(self.message.session_id)

    async def _start_step(self, reminder: str | None = None) -> None:
        part = StepStartPart(**self._ids(), reminder=reminder)
        self._changes.begin(part)
        await self._writer.update_part(part)

    async def _complete(self) -> None:
        completed = self.message.changed(time=self._completed_time())
        await self._writer.update_message(completed)
        self.message = completed
        await self._store.sync()

    def _completed_time(self) -> MessageTime:
        return self.message.time.changed(completed=self._clock())

    def _ids(self) -> PartIds:
        return PartIds(
            id=self._identifier.ascending("prt"),
            session_id=self.message.session_id,
            message_id=self.message.id,
        )


def _without_refused(request: LlmRequest, error: ProviderError) -> tuple[LlmRequest, MediaLimit | None] | None:
    """Return the request without the media or the reasoning that the provider rejects, and its limit; None for any other error.

    A request of too many bytes loses the older half of its media before its history is compacted.
    """
    if (unthought := without_refused(request, error.failure.kind)) is not None:
        return unthought, None
    if error.failure.kind == PARAMETER and (plain := without_default(request, str(error))) is not None:
        return plain, None
    is_size_of_request = error.failure.kind == "overflow" and error.failure.status == _TOO_LARGE
    if error.failure.kind != MEDIA and not is_size_of_request:
        return None
    limit = find_limit(str(error), request.messages, is_size_of_request=is_size_of_request)
    if limit is None and is_size_of_request:
        limit = MediaLimit(most=0) if any(map(media_of, request.messages)) else None
        if limit is None:
            return None
    messages = without_media(request.messages) if limit is None else within_limit(request.messages, limit)
    return None if messages == tuple(request.messages) else (replace(request, messages=messages), limit)


def _waiting(error: ProviderError, limit: MediaLimit | None) -> str:
    """Return why the request is sent again."""
    cause, _ = split_remedy(str(error))
    if limit is not None:
        return f"{cause}; {limit.reason()}"
    return f"{cause}; {_LEFT_OUT[error.failure.kind]} left out" if error.failure.kind in _LEFT_OUT else cause


def _explained(error: ProviderError, reason: str) -> OpencodeError:
    """Return the error with the reason why it is not retried."""
    if not reason:
        return error
    failure = Failure(kind=error.failure.kind, status=error.failure.status, body=error.failure.body)
    cause, remedy = split_remedy(str(error))
    return ProviderError(with_remedy(f"{cause}; {reason}", remedy), provider_id=error.provider_id, failure=failure)
