"""The prompt loop: reads the history and decides the next step. Source: docs/internals/loop.md#steps."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from opencode_tui.engine.agent.agents import AgentInfo, read_prompt
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.policy import CompactionPolicy, CompactionState
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.builder import RequestBuilder, RequestTask, request_of
from opencode_tui.engine.session.request.history import Position, filter_compacted, is_answered, position
from opencode_tui.engine.session.request.media import attached_media
from opencode_tui.engine.session.request.prefix_breaks import PrefixMonitor
from opencode_tui.engine.session.request.reminder import late_texts
from opencode_tui.engine.session.request.structured import StructuredAnswer, structured_answer
from opencode_tui.engine.session.runs import Run, SessionStatuses
from opencode_tui.engine.session.step.doom import calls_of_turn, is_stuck
from opencode_tui.engine.session.step.processor import NewMessages, Outcome, StepProcessor
from opencode_tui.engine.session.step.title import SessionTitles
from opencode_tui.engine.session.step.tool_calls import CallScope
from opencode_tui.engine.session.subagent import Prompter, SessionSubagents
from opencode_tui.schema.error import ContextOverflowError, SessionError, SnapshotError
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import (
    FINISH_CONTINUES,
    AssistantMessage,
    UserMessage,
    is_waiting,
)
from opencode_tui.schema.session.part import AnyPart, PatchPart, SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.session import UNTIL_KEY, SessionInfo
from opencode_tui.schema.session.stored_error import StoredOutputLengthError
from opencode_tui.schema.session.tool_state import ToolStatePending

if TYPE_CHECKING:
    from opencode_tui.engine.session.compaction.prune import SessionPruning
    from opencode_tui.engine.session.turn_errors import TurnErrors
    from opencode_tui.engine.session.until import SessionChecks

MAX_UNKNOWN = 2
"""Consecutive answers with an unknown finish reason and no tool call before the turn ends."""

MOST_CHECKS = 2
"""How often a turn continues because of its errors: once to correct them, and once more for what that broke."""


@dataclass(slots=True, eq=False)
class TurnState:
    """A turn while it runs: what it works on, and what decides whether another step follows."""

    run: Run
    session: SessionInfo
    prompter: Prompter
    form: StructuredAnswer | None = None
    """The answer of a given structure that the request asks for, from the first step on."""
    is_asked_again: bool = False
    """The last answer did not have that structure: the model is called again."""
    steps: int = 0
    unknown: int = 0
    """Answers in a row with an unknown finish reason and no tool call."""
    edited: set[str] = field(default_factory=set[str])
    """The files that the steps changed."""
    corrections: int = 0
    """How often the turn continued because of errors in these files."""
    compaction: CompactionState = field(default_factory=CompactionState)

    def needs_step(self, history: "_History") -> bool:
        """Return whether the model is called before the turn can end."""
        if self.unknown >= MAX_UNKNOWN:
            return False
        return self.is_asked_again or not is_answered(history.messages, history.where)

    def add_step(self, step: StepProcessor, files: set[str]) -> None:
        """Count an answer, with the files that its calls changed."""
        self.unknown = self.unknown + 1 if step.message.finish == "unknown" else 0
        self.edited |= files

    def restart(self) -> None:
        """Start counting again, for the turn that answers a failed check."""
        self.unknown = self.steps = self.corrections = 0
        self.edited.clear()


class _History(Struct, frozen=True):
    """The messages that a step reads, and where in them the turn is."""

    messages: list[MessageWithParts]
    where: Position


class _Task(Struct, frozen=True):
    """The input of one step."""

    turn: TurnState
    agent: AgentInfo
    messages: list[MessageWithParts]
    is_last: bool


class _Done(Struct, frozen=True):
    """A step that has ended."""

    step: StepProcessor
    task: _Task
    outcome: Outcome


def _for_step(run: Run, messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages that a step reads; from now on none of them can be withdrawn. It has no await, so it is atomic."""
    left = [one for one in messages if one.info.id not in run.withdrawn and not is_waiting(one.info)]
    run.read.update(one.info.id for one in left)
    return left


class LoopSteps(Struct, frozen=True):
    """Runs the steps that call a model: builds the request of each, fits it into the context and the budgets, and sends it.

    `say` shows the user a line about the model of a session.
    """

    new_step: Callable[[AssistantMessage], StepProcessor]
    messages: NewMessages
    requests: RequestBuilder
    catalog: Catalog
    keeper: CompactionPolicy
    budgets: Budgets
    monitor: PrefixMonitor
    subagents: Callable[[Prompter, MessageWithParts, Policy], SessionSubagents]
    say: Callable[[str, str], None]
    said: set[tuple[str, str]] = msgspec.field(default_factory=set[tuple[str, str]])
    """Models and parts whose attachments are left out, and about which a line was shown."""

    def begin(self, user: UserMessage) -> tuple[AgentInfo, StepProcessor]:
        """Return the agent that answers a request, and its next step. Raises ConfigError when there is no such agent."""
        agent = self.requests.agent(user)
        return agent, self.new_step(self.messages.answer(user, user.model, agent.name).changed(variant=user.variant))

    async def run(self, step: StepProcessor, task: _Task) -> Outcome | Literal["compact"]:
        """Call the model; returns `compact`, after removing the step, when the history must be compacted first."""
        last_user = position(task.messages).last_user
        if last_user is not None and is_stuck(task.messages, last_user):
            raise SessionError(
                "the model repeats the same calls although they are refused; try another model or prompt, or allow it with "
                "permission.doom_loop in opencode.json"
            )
        asked = request_of(task.messages).model
        await self.catalog.look_at_local(asked)  # its server may have loaded it for the step before
        model = self.catalog.resolve(asked)
        if not model.attachment:
            self._describe_left_out(task, model)
        scope = await self.scope(task, last_user)
        built = await self.requests.build(
            RequestTask(
                messages=task.messages,
                agent=scope.agent,
                model=model,
                rules=scope.layers,
                form=task.turn.form,
                is_last=task.is_last,
            )
        )
        session_id, keeper = task.turn.session.id, self.keeper
        request = await keeper.fit_request(session_id, built.request, task.turn.compaction)
        if request is None:
            return "compact"
        try:
            async with self.budgets.reserved(session_id, request, task.messages, task.turn.run.policy) as llm:
                outcome = await step.run(llm, request, scope, reminder=built.reminder)
        except ContextOverflowError as error:
            await keeper.on_overflow(session_id, request, error, task.turn.compaction)
            await step.discard()
            return "compact"
        task.turn.compaction.refusals = 0
        await self.monitor.observe(step.message, request)
        return outcome

    async def scope(self, task: _Task, last_user: int | None) -> CallScope:
        """Return the scope of a step's calls; `last_user` is the index of the request that they serve."""
        return CallScope(
            agent=task.agent,
            layers=await self.requests.rules(task.turn.session, task.agent),
            policy=task.turn.run.policy,
            earlier=calls_of_turn(task.messages, -1 if last_user is None else last_user),
            subagents=(
                None
                if last_user is None
                else self.subagents(task.turn.prompter, task.messages[last_user], task.turn.run.policy)
            ),
            form=task.turn.form,
            is_last=task.is_last,
            switched_off=frozenset(
                name for name, is_on in (request_of(task.messages).tools or {}).items() if not is_on
            ),
        )

    def _describe_left_out(self, task: _Task, model: Model) -> None:
        """Say, once for each, which images and documents are left out of requests to a model that is not known to accept them."""
        name = str(model.ref)
        found = [one for one in attached_media(task.messages) if (name, one[0]) not in self.said]
        if not found:
            return
        self.said.update((name, part_id) for part_id, _ in found)
        files = found[0][1] if len(found) == 1 else f"{len(found)} attachments"
        setting = f"provider.{model.provider_id}.models.{model.model_id}.attachment"
        line = f"{files} left out: {name} is not known to accept images and documents ({setting}: true sends them)"
        self.say(task.turn.session.id, line)


class TurnEnd(Struct, frozen=True):
    """Decides whether a session continues where a turn would end. `agent` returns the agent of a request."""

    store: SessionStore
    agent: Callable[[UserMessage], AgentInfo]
    checks: "Lazy[SessionChecks]"
    turn_errors: "TurnErrors | None" = None
    """Set where errors are reported when a turn would end."""

    async def has_errors(self, messages: list[MessageWithParts], edited: set[str]) -> bool:
        """Return whether the turn brought errors, which are stored as a request, so that it goes on."""
        last = messages[-1].info
        if self.turn_errors is None or (isinstance(last, AssistantMessage) and last.error is not None):
            return False
        return await self.turn_errors.ask(request_of(messages), edited)

    async def fails(self, run: Run, answer: MessageWithParts, request: UserMessage) -> bool:
        """Return whether the session's check ran and its failure is stored as a request, so that another turn follows."""
        info = answer.info
        if isinstance(info, AssistantMessage) and info.error is not None:
            return False
        if UNTIL_KEY not in ((await self.store.get(run.session_id)).metadata or {}):
            return False
        return await self.checks.get().after_turn(run, request, self.agent(request))


class SessionLoop(Struct, frozen=True):
    """Runs a session until its newest request is answered.

    With `continues_after_rejection` the model is called again after the user rejected a call; else the turn ends.
    """

    store: SessionStore
    statuses: SessionStatuses
    steps: LoopSteps
    messages: NewMessages
    titles: SessionTitles
    keeper: CompactionPolicy
    monitor: PrefixMonitor
    pruning: "Lazy[SessionPruning]"
    turn_end: "TurnEnd"
    continues_after_rejection: bool = False

    async def run(self, run: Run, session: SessionInfo, prompter: Prompter) -> MessageWithParts:
        """Run steps until the request is answered, then prune; returns the last assistant message. Raises the error of the turn.

        `prompter` runs the sessions of agents that a step starts.
        """
        turn, answer = TurnState(run, session, prompter), None
        while answer is None:
            self.statuses.busy(session.id)
            history = await self._history(turn)
            if turn.needs_step(history):
                done = await self._step(turn, history)
                answer = None if done is None else await self._end_step(turn, done)
            else:
                answer = await self._end_turn(turn, history)
        await self.monitor.finish(session.id)
        await self.pruning.get().after_turn(session.id)
        return answer

    async def _history(self, turn: TurnState) -> _History:
        messages = filter_compacted(_for_step(turn.run, await self.store.recent(turn.session.id)))
        where = position(messages)
        if where.last_user is None:
            raise SessionError(f"session {turn.session.id} has no request to answer")
        return _History(messages, where)

    async def _step(self, turn: TurnState, history: _History) -> _Done | None:
        """Run a step; returns None when the history was compacted instead."""
        turn.steps += 1
        if turn.steps == 1 and turn.compaction.request is None:
            self.titles.schedule(turn.session, history.messages)
        user = request_of(history.messages)
        if turn.form is None:
            turn.form = structured_answer(user.format)
        agent, step = self.steps.begin(user)
        turn.run.finalize = step.finalize
        messages = history.messages
        if turn.steps > 1:
            messages = await self._mark_late(messages, history.where.last_finished)
        task = _Task(turn, agent, messages, _is_last(agent, turn.steps))
        work = find_request_with_subtasks(messages)
        outcome = await (self.steps.run(step, task) if work is None else self._run_subtasks(step, task, work))
        if outcome == "compact":
            turn.steps -= 1
            await self.keeper.compact(turn.run, turn.compaction)
            return None
        turn.run.finalize = None
        return _Done(step, task, outcome)

    async def _end_step(self, turn: TurnState, done: _Done) -> MessageWithParts | None:
        """Store what a step has come to; returns the answer of a turn that ends with it, None when the turn continues."""
        step, form = done.step, turn.form
        turn.is_asked_again = form is not None and await _store_structured_answer(form, step)
        if form is not None and form.is_final:
            return await self._newest_answer(turn)
        files = _changed_files(self.store.parts(turn.session.id, step.message.id))
        turn.add_step(step, files)
        if form is None and not 0 < turn.unknown < MAX_UNKNOWN:
            await self._mark_end(step)
        if turn.run.after_run is not None and files:
            with suppress(SnapshotError):  # the end of the run tries again, and reports it
                await turn.run.after_run()
        is_stopped = done.outcome == "stop" and not self.continues_after_rejection
        if is_stopped:
            return await self._newest_answer(turn)
        if done.task.is_last:
            answer = await self._newest_answer(turn)
            return await self._end_unless_check_fails(turn, answer, request_of(done.task.messages))
        return None

    async def _end_turn(self, turn: TurnState, history: _History) -> MessageWithParts | None:
        """Return the answer of a turn without another step; None when errors or a failed check continue it."""
        messages = history.messages
        if (
            turn.form is None
            and turn.corrections < MOST_CHECKS
            and await self.turn_end.has_errors(messages, turn.edited)
        ):
            turn.corrections += 1
            return None
        answer = _last_assistant(messages, history.where)
        return await self._end_unless_check_fails(turn, answer, request_of(messages))

    async def _end_unless_check_fails(
        self, turn: TurnState, answer: MessageWithParts, request: UserMessage
    ) -> MessageWithParts | None:
        """Return the answer; None when the session's check failed, so that another turn follows."""
        if turn.form is None and await self.turn_end.fails(turn.run, answer, request):
            turn.restart()
            return None
        return answer

    async def _newest_answer(self, turn: TurnState) -> MessageWithParts:
        return _last_assistant(await self.store.recent(turn.session.id), None)

    def interrupt(self, session_id: str) -> None:
        """Cancel background work for the session's next turns; the registry interrupts the run itself."""
        self.keeper.interrupt(session_id)

    async def _run_subtasks(self, step: StepProcessor, task: _Task, work: MessageWithParts) -> Outcome:
        """Run the agents that a request names, before the model is called."""
        first = subtasks_of(work)[0]
        model = first.model or step.message
        step.message = step.message.changed(
            parent_id=work.info.id,
            mode=first.agent,
            agent=first.agent,
            provider_id=model.provider_id,
            model_id=model.model_id,
        )
        scope = await self.steps.scope(task, task.messages.index(work))
        return await run_subtasks(step, work, scope, self.store, self.messages)

    async def _mark_end(self, step: StepProcessor) -> None:
        """Store and report that an answer was refused, was stopped for another reason, or is none; any other stays as it is."""
        message = step.message
        if message.finish is None or message.finish == "tool-calls":
            return
        has_answer, is_refused = self._has_answer(message), message.finish == "content-filter"
        is_stopped = message.finish == "other" and step.finish is not None and bool(step.finish.said)
        lacks_call = step.finish is not None and step.finish.lacks_call
        if has_answer and not (is_refused or is_stopped or lacks_call):
            return
        if message.finish == "length":
            error = StoredOutputLengthError()
        else:
            from opencode_tui.engine.provider.error.remedy import describe_end  # only for such answers

            error = describe_end(message, step.finish, has_answer=has_answer)
        await step.amend(
            **{"error" if message.finish == "length" or (is_refused and not has_answer) else "ending": error}
        )
        self.store.report_failure(message.session_id, error)

    def _has_answer(self, message: AssistantMessage) -> bool:
        """Return whether something of an answer that the output limit ended can be used: a text or a call."""
        parts = self.store.parts(message.session_id, message.id)
        return any(isinstance(part, ToolPart) or (isinstance(part, TextPart) and part.text.strip()) for part in parts)

    async def _mark_late(
        self, messages: Sequence[MessageWithParts], last_finished: int | None
    ) -> list[MessageWithParts]:
        """Mark the texts that arrived while the model was working; return the messages with the marks."""
        marked = {part.id: part for part in late_texts(messages, last_finished)}
        for part in marked.values():
            await self.store.writer(part.session_id).update_part(part)
        return [
            with_parts(one.info, [marked.get(part.id, part) for part in one.parts])
            if any(part.id in marked for part in one.parts)
            else one
            for one in messages
        ]


def _changed_files(parts: Sequence[AnyPart]) -> set[str]:
    return {file for part in parts if isinstance(part, PatchPart) for file in part.files}


async def _store_structured_answer(form: StructuredAnswer, step: StepProcessor) -> bool:
    """Store the structured answer of a step, or its absence; returns whether to call the model again."""
    if form.value is not None:
        await step.amend(structured=form.value)
        return False
    if step.message.finish in FINISH_CONTINUES and not form.was_rejected:
        return False
    if form.try_again():
        return True
    await step.amend(error=form.failure())
    return False


def _is_last(agent: AgentInfo, steps: int) -> bool:
    return agent.steps is not None and steps >= agent.steps


def _last_assistant(messages: list[MessageWithParts], where: Position | None) -> MessageWithParts:
    index = (where or position(messages)).last_assistant
    if index is None:
        raise SessionError("the turn ended without an answer")
    return messages[index]


def find_request_with_subtasks(messages: Sequence[MessageWithParts]) -> MessageWithParts | None:
    """Return the oldest request whose subtasks have not been started, None without one."""
    answered = {message.info.parent_id for message in messages if isinstance(message.info, AssistantMessage)}
    for message in messages:
        if isinstance(message.info, UserMessage) and message.info.id not in answered and subtasks_of(message):
            return message
    return None


def subtasks_of(request: MessageWithParts) -> list[SubtaskPart]:
    """Return the subtasks of a request, in order."""
    return [part for part in request.parts if isinstance(part, SubtaskPart)]


async def run_subtasks(
    step: StepProcessor, request: MessageWithParts, scope: CallScope, store: SessionStore, messages: NewMessages
) -> Outcome:
    """Run the subtasks of a request in the step's message; returns `stop` when the user rejected a call."""
    tasks = subtasks_of(request)
    outcome = await step.run_calls([_call(task, step, messages) for task in tasks], scope)
    if outcome == "continue" and any(task.command for task in tasks) and isinstance(request.info, UserMessage):
        message = messages.request_like(request.info)
        await store.writer(message.session_id).add_message(
            message, [messages.text(message, read_prompt("subtask_report"))]
        )
    return outcome


def _call(task: SubtaskPart, step: StepProcessor, messages: NewMessages) -> tuple[ToolPart, ToolCall]:
    arguments = {"description": task.description, "prompt": task.prompt, "subagent_type": task.agent}
    if task.command:
        arguments["command"] = task.command
    ids = messages.ids(step.message)
    call_id = ids["id"].replace("prt_", "tool_")
    part = ToolPart(**ids, call_id=call_id, tool="task", state=ToolStatePending(input=arguments))
    return part, ToolCall(call_id, "task", arguments)
