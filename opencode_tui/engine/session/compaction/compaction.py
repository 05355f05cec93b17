"""Compaction: a summary replaces the older messages. Source: docs/internals/compaction.md#summaries.

A run stores a marker (a user message with a compaction part), the summary message, and after an automatic compaction a message
that asks the model to continue. The preserved text is added to the marker while the model writes the summary, since all messages
may have to be read for it, and before the summary is complete. The history counts as shortened only with a complete summary: an
interruption or a failure leaves it as it was. `time.compacting` is set on the session in the meantime.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal

from msgspec import Struct

from opencode_tui.cancellation import consume_error
from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.engine.provider.complete import Completion
from opencode_tui.engine.provider.cost import to_cost, to_tokens
from opencode_tui.engine.provider.llm import Llm, LlmRequest
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.session_ledgers import SessionLedgers
from opencode_tui.engine.session.compaction.state import new_messages
from opencode_tui.engine.session.compaction.summary import (
    AGENT,
    Precomputed,
    SummaryRequest,
    SummaryRequests,
    newest_request,
)
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.session.runs import Cleanup, Run, SessionRuns
from opencode_tui.engine.session.step.part_machine import PartMachine
from opencode_tui.engine.session.step.processor import NewMessages, StepProcessor
from opencode_tui.engine.session.subagent import Prompter
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.api.context import CompactionReport, CompactSession
from opencode_tui.schema.error import ContextOverflowError, ProviderError, SessionError
from opencode_tui.schema.event.event import Event, SessionCompacted
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.ledger import LEDGER_KEY
from opencode_tui.schema.session.message import (
    FINISH_CONTINUES,
    AssistantMessage,
    Tokens,
    UserMessage,
)
from opencode_tui.schema.session.part import AnyPart, CompactionPart, PartTime, StepFinishPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import StoredError

Reserve = Callable[[LlmRequest], AbstractAsyncContextManager[object]]
"""Holds the expected cost of a request in the context; the user is asked first where a budget would be passed."""


class SummaryStep(StepProcessor):
    """Writes one summary message."""

    async def write(
        self, llm: Llm, requests: AsyncIterator[SummaryRequest], reserve: Reserve, kept: Awaitable[None]
    ) -> None:
        """Send the requests in order until one gives a usable summary, and store it; `reserve` checks the budgets before each.

        The summary is complete after `kept`.

        Raises ProviderError when a call fails permanently, or when no request gave a usable summary.
        """
        await self._begin()
        spent = Decimal(0)
        failure = ProviderError("no summary was asked for", provider_id=self.message.provider_id)
        async for request in requests:
            try:
                async with reserve(request.request):
                    machine, _ = await self._answer(llm, request.request)
            except ContextOverflowError as error:
                failure = error
                continue
            finish = machine.finish
            if finish is None:
                raise ProviderError("the summary is incomplete", provider_id=self.message.provider_id)
            spent += to_cost(finish.usage, request.request.model)
            fault = request.fault_of(self._text(machine), finish.reason)
            if fault is None:
                await self._drop_calls(machine)
                await kept
                return await self._end(finish.reason, to_tokens(finish.usage), spent)
            failure = ProviderError(fault, provider_id=self.message.provider_id)
            await self._drop(machine)
        raise failure

    async def store_precomputed(self, completion: Completion, kept: Awaitable[None]) -> None:
        """Store a precomputed summary, which is complete after `kept`."""
        await self._begin()
        now = self._clock()
        text = TextPart(**self._ids(), text=completion.text.strip(), time=PartTime(start=now, end=now))
        await self._writer.update_part(text)
        await kept
        await self._end(completion.reason, completion.tokens, completion.cost)

    async def _begin(self) -> None:
        self._statuses.busy(self.message.session_id)
        await self._writer.update_message(self.message)
        await self._start_step()

    async def _end(self, reason: str, tokens: Tokens, cost: Decimal) -> None:
        reason = "stop" if reason in FINISH_CONTINUES else reason
        finish = StepFinishPart(**self._ids(), reason=reason, cost=float(cost), tokens=tokens)
        await self._writer.update_part(finish)
        self.message = self.message.changed(finish=reason, cost=float(cost), tokens=tokens)
        await self._complete()

    def _text(self, machine: PartMachine) -> str:
        parts = self._store.parts(self.message.session_id, self.message.id)
        return "".join(part.text for part in parts if isinstance(part, TextPart) and part.id in machine.part_ids)

    async def _drop_calls(self, machine: PartMachine) -> None:
        """Delete calls that the model made although the request has no tools."""
        for part in machine.unfinished_tools():
            await self._writer.remove_part(part.message_id, part.id)


class CompactionTask(Struct, frozen=True):
    """A session to compact, and how.

    Messages from `tail_id` on are still sent in full. `limit` is the limit in tokens that the provider reported.
    `focus` is what the summary should say most about.
    """

    session_id: str
    is_automatic: bool
    model: ModelRef | None = None
    tail_id: str | None = None
    prepared: Precomputed | None = None
    limit: int | None = None
    focus: str = ""


class SessionCompaction(Struct, frozen=True):
    """Compacts the sessions of one folder.

    A compaction adds messages and changes none, so that it does not wait for forks that still read the session.
    """

    store: SessionStore
    new_step: Callable[[AssistantMessage], SummaryStep]
    messages: NewMessages
    requests: SummaryRequests
    ledgers: SessionLedgers
    providers: Providers
    budgets: Budgets
    publish: Callable[[Event], None]

    async def compact(self, run: Run, order: CompactionTask) -> AssistantMessage:
        """Replace the older messages with a summary and return its message. Needs the session's run lock.

        Raises SessionError when there is nothing to summarize, ProviderError when no summary could be made, BudgetError when one
        would pass a budget.
        """
        messages = await self.store.recent(order.session_id)
        old = _before(filter_compacted(messages), order.tail_id)
        if not new_messages(old):
            raise SessionError(f"session {order.session_id} has nothing to summarize since its last compaction")
        user = newest_request(messages)
        model = self.requests.model(user, order.model)
        run.finalize = lambda _error: self._set_compacting(order.session_id, None)
        await self._set_compacting(order.session_id, self.messages.clock())
        marker = await self._mark(user, order)
        answer = self.messages.answer(marker, model.ref, AGENT)
        step = self.new_step(answer.changed(summary=True))

        async def close(error: StoredError) -> Cleanup | None:
            left = await step.finalize(error)
            await self._set_compacting(order.session_id, None)
            return left

        run.finalize = close
        kept = asyncio.create_task(self._add_kept(marker, user, order), name=f"ledger {order.session_id}")
        try:
            await self._summarize(step, old, user, order, run.policy, kept)
        finally:
            kept.cancel()  # does nothing to a task that has ended
            await asyncio.wait({kept})
            consume_error(kept)
        if order.is_automatic:
            await self._add_continue_message(newest_request(messages))
        await self._set_compacting(order.session_id, None)
        run.finalize = None
        self.store.release_older(order.session_id)
        self.publish(SessionCompacted(session_id=order.session_id))
        return step.message

    async def _summarize(
        self,
        step: SummaryStep,
        old: Sequence[MessageWithParts],
        user: UserMessage,
        order: CompactionTask,
        policy: Policy,
        kept: Awaitable[None],
    ) -> None:
        if order.prepared is not None:
            await step.store_precomputed(order.prepared.completion, kept)
            return
        model = self.requests.model(user, order.model)
        requests = self.requests.attempts(old, user, model, limit=order.limit, focus=order.focus)

        def reserve(request: LlmRequest) -> AbstractAsyncContextManager[object]:
            return self.budgets.reserved(order.session_id, request, (), policy)

        try:
            await step.write(self.providers.llm(model), requests, reserve, kept)
        except ContextOverflowError as error:
            raise ContextOverflowError(
                f"the context is full, and {model.ref} rejects even the shortened conversation ({error}); start a new session, "
                "or use a larger model",
                provider_id=error.provider_id,
                failure=error.failure,
            ) from error
        except ProviderError as error:
            raise ProviderError(
                f"the conversation could not be summarized: {error}",
                provider_id=error.provider_id,
                failure=error.failure,
            ) from error

    async def _mark(self, user: UserMessage, order: CompactionTask) -> UserMessage:
        """Store the marker, and return its message."""
        new = self.messages.request_like(user)
        marker = UserMessage(
            id=new.id,
            session_id=new.session_id,
            time=new.time,
            agent=user.agent,
            model=user.model,
            variant=user.variant,
        )
        part = CompactionPart(**self.messages.ids(marker), auto=order.is_automatic, tail_id=order.tail_id)
        await self.store.writer(marker.session_id).add_message(marker, [part])
        return marker

    async def _add_kept(self, marker: UserMessage, user: UserMessage, order: CompactionTask) -> None:
        """Add the preserved text to the marker."""
        model = self.requests.model(user)
        ledger = await self.ledgers.read(await self.store.get(order.session_id), model, order.tail_id)
        if ledger.text:
            text = self._text(marker, as_reminder(ledger.text))
            kept = text.changed(metadata={**(text.metadata or {}), LEDGER_KEY: ledger.kept.to_dict()})
            await self.store.writer(kept.session_id).update_part(kept)

    async def _add_continue_message(self, user: UserMessage) -> None:
        """Store a synthetic request with the agent and the model of the user's last one."""
        message = self.messages.request_like(user)
        await self.store.writer(message.session_id).add_message(message, [self._text(message, read_prompt("continue"))])

    def _text(self, message: UserMessage, text: str) -> TextPart:
        now = self.messages.clock()
        return self.messages.text(message, text).changed(time=PartTime(start=now, end=now))

    async def _set_compacting(self, session_id: str, moment: int | None) -> None:
        def change(info: SessionInfo) -> SessionInfo:
            return info.changed(time=info.time.changed(compacting=moment))

        await self.store.update(session_id, change, touch=False)


def _before(sent: Sequence[MessageWithParts], tail_id: str | None) -> list[MessageWithParts]:
    """Return the messages that the summary replaces."""
    end = next((place for place, message in enumerate(sent) if message.info.id == tail_id), len(sent))
    return list(sent[:end])


class ManualCompaction(Struct, frozen=True):
    """Compacts sessions on request, in a run of its own, or previews that."""

    compaction: SessionCompaction
    ledgers: SessionLedgers
    requests: SummaryRequests
    store: SessionStore
    runs: SessionRuns
    go_on: Callable[[Run, SessionInfo, Prompter], Awaitable[MessageWithParts]]
    """Continues the conversation in a run."""
    estimator: TokenEstimator

    async def compact(
        self, session_id: str, wish: CompactSession, *, prompter: Prompter, policy: Policy | None = None
    ) -> CompactionReport:
        """Summarize the session and return the result; with `auto` after the conversation has continued.

        Raises BusyError while the session is running, SessionError when there is nothing to summarize, RunAborted when it is
        interrupted, and the errors of a model call.
        """
        if wish.dry_run:
            return await self._look(session_id, wish, is_whole=True)
        await self.runs.registry.ensure_idle(session_id)
        reports: list[CompactionReport] = []

        async def body(run: Run) -> MessageWithParts:
            before = await self._look(session_id, wish)
            order = CompactionTask(session_id, is_automatic=wish.auto, model=wish.model, focus=wish.focus or "")
            summary = await self.compaction.compact(run, order)
            answer = with_parts(summary, self.store.parts(session_id, summary.id))
            reports.append(await self._report(before, summary, answer.parts))
            if wish.auto:
                answer = await self.go_on(run, await self.store.get(session_id), prompter)
            return answer

        await self.runs.start(session_id, body, policy=policy or AskPerson()).answer()
        return reports[0]

    async def _look(self, session_id: str, wish: CompactSession, *, is_whole: bool = False) -> CompactionReport:
        """Return a preview of a compaction, with what it would keep if `is_whole`, for which all messages may have to be read.

        Raises SessionError when there is nothing to summarize.
        """
        info = await self.store.get(session_id)
        messages = visible(await self.ledgers.recent(info), info.revert)
        sent = filter_compacted(messages)
        if not new_messages(sent):
            raise SessionError(f"session {session_id} has nothing to summarize since its last compaction")
        user = newest_request(messages)
        model = self.requests.model(user, wish.model)
        return CompactionReport(
            session_id=session_id,
            model=model.ref,
            messages=len(sent),
            before=self._size(sent, self.requests.model(user, user.model)),
            kept=(await self.ledgers.read(info, model, None)).text if is_whole else "",
        )

    async def _report(
        self, before: CompactionReport, summary: AssistantMessage, parts: Sequence[AnyPart]
    ) -> CompactionReport:
        messages = await self.store.recent(before.session_id)
        user = newest_request(messages)
        return before.changed(
            kept=await self.ledgers.kept_text(before.session_id),
            after=self._size(filter_compacted(messages), self.requests.model(user, user.model)),
            summary="".join(part.text for part in parts if isinstance(part, TextPart)),
            message_id=summary.id,
            cost=summary.cost,
        )

    def _size(self, sent: Sequence[MessageWithParts], model: Model) -> int:
        entries = to_model_messages(sent, model)
        return self.estimator.estimate(LlmRequest(model=model, system=(), messages=entries))
