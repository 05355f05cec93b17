"""Run the calls of one step, several at a time, and store their results.

A failing call does not affect the others: its exception becomes its error state. A canceled step cancels its calls;
their records are then closed by `StepProcessor.finalize`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.engine.permission.service import CallPermission, PermissionService
from opencode_tui.engine.plugin.hooks import HookBlocked, Hooks
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.engine.session.plugin_hooks import change_arguments, change_result
from opencode_tui.engine.session.question import Answers, QuestionService
from opencode_tui.engine.session.records.open_records import LiveTool
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.structured import TOOL as STRUCTURED
from opencode_tui.engine.session.request.structured import StructuredAnswer
from opencode_tui.engine.session.step.doom import MOST_COMPARED, CallKey, call_key, is_doom_loop, threshold_of
from opencode_tui.engine.session.step.file_changes import StepPatch
from opencode_tui.engine.snapshot.record.call import CallChanges
from opencode_tui.engine.tool.builtin.recall import StoredOutput
from opencode_tui.engine.tool.registry import AnyTool, ToolRegistry
from opencode_tui.engine.tool.tool import Parameters, Subagents, Tool, ToolContext, ToolResult
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.schema.api.question import Question
from opencode_tui.schema.error import (
    CommandRefusedError,
    DeniedError,
    OpencodeError,
    OutsideRefusedError,
    PermissionRefused,
    QuestionDismissedError,
    RejectedError,
)
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.permission import Ruleset, ToolCallRef
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session import tool_state
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import (
    NO_DETAILS,
    ErrorDetails,
    StopReason,
    ToolStateCompleted,
    ToolStateError,
    details_of,
)
from opencode_tui.schema.system_error import describe
from opencode_tui.tasks import task_group

if TYPE_CHECKING:
    from opencode_tui.engine.sandbox.environment import Secrets

logger = logging.getLogger(__name__)

_STOP_REASONS: Mapping[type[PermissionRefused], StopReason] = {
    RejectedError: "rejected",
    QuestionDismissedError: "rejected",
    DeniedError: "denied",
    CommandRefusedError: "denied",
    OutsideRefusedError: "denied",
}

CONCURRENT_CALLS = 8
"""Most calls of a step that run at the same time."""

MIN_WAIT_MS = 100
"""Shorter waits are the decision itself, not a user's reply."""

RECORDING_S = 0.5
"""Seconds from which it is reported that the files are recorded: the first time in a large folder."""

NO_STEP_LEFT = "Not run: this was the agent's last step of the turn"


class CallScope(Struct, frozen=True):
    """The context of a step's calls.

    `layers` are the rulesets of the session and its ancestors, `earlier` the calls of the turn before this step, in order.
    In the last step of an agent (`is_last`) no call runs, nor does a tool in `switched_off`.
    `by_user`: the user typed the calls.
    """

    agent: AgentInfo
    layers: Sequence[Ruleset]
    policy: Policy
    earlier: Sequence[CallKey] = ()
    subagents: Subagents | None = None
    form: StructuredAnswer | None = None
    is_last: bool = False
    switched_off: frozenset[str] = frozenset()
    by_user: bool = False


class _CheckedCall(Struct, frozen=True):
    """A call that may run: the name that the model called, and the tool that runs, which another tool's call may name.

    `given` are the arguments of that tool as hooks changed them, `shown` those that are stored. With `asked` a hook wants the user
    to be asked, and that is why.
    """

    name: str
    tool: AnyTool
    arguments: Parameters
    given: JsonObject
    shown: JsonObject
    asked: str


class _WrongCall(Struct, frozen=True):
    """A call that does not run, as it is stored, and why."""

    call: ToolCall
    problem: str


class ResultFilter(Struct, frozen=True):
    """Removes the values of keys from results, and truncates long ones."""

    truncator: Truncator
    secrets: "Lazy[Secrets]"

    async def shorten(self, text: str, agent: AgentInfo) -> str:
        """Return the text of an error without keys and within the limits."""
        may_delegate = evaluate("task", "*", agent.permission).action != "deny"
        return (await self.truncator.truncate(self.secrets.get().redact(text), may_delegate=may_delegate)).text

    async def apply(self, result: ToolResult, agent: AgentInfo) -> ToolResult:
        """Return the result without keys and within the limits, unless its tool has truncated it; attachments are unchanged."""
        secrets = self.secrets.get()
        output = secrets.redact(result.output)
        metadata = secrets.redact_value(result.metadata)
        if "truncated" not in metadata:
            may_delegate = evaluate("task", "*", agent.permission).action != "deny"
            cut = await self.truncator.truncate(output, may_delegate=may_delegate)
            output = cut.text
            metadata = {**metadata, "truncated": cut.truncated}
            if cut.kept is not None:
                metadata[tool_state.KEPT_LINES] = asdict(cut.kept)
            if cut.output_path is not None:
                metadata["outputPath"] = str(cut.output_path)
        return replace(result, title=secrets.redact(result.title), output=output, metadata=metadata)


class ToolCalls(Struct, frozen=True):
    """Executes the tool calls of one folder. `unread` returns, once, texts about what the model of a session does not know yet."""

    store: SessionStore
    tools: ToolRegistry
    permissions: PermissionService
    results: "ResultFilter"
    clock: Clock
    questions: QuestionService
    hooks: Hooks
    unread: Callable[[str], Awaitable[Sequence[str]]]
    directory: Path
    worktree: Path
    origins: Sequence[Path] = ()

    async def run(self, calls: Sequence[tuple[ToolPart, ToolCall]], scope: CallScope, changes: StepPatch) -> bool:
        """Run the calls of a step, some at a time, in their order; `changes` records what they do to files.

        Returns whether the user rejected one, so that the turn must end.
        """
        if not calls:
            return False
        tasks: list[asyncio.Task[bool]] = []
        free = asyncio.Semaphore(CONCURRENT_CALLS)

        async def run_one(part: ToolPart, call: ToolCall, before: Sequence[CallKey]) -> bool:
            async with free:
                return await self._run_one(part, call, scope, changes.watch(), before)

        async with task_group() as group:
            so_far = list(scope.earlier)
            for part, call in calls:
                tool = self.tools.get(call.tool)  # stored under its own name, whichever the model wrote
                tasks.append(group.create_task(run_one(part, call, so_far[-MOST_COMPARED:])))
                so_far.append(call_key(call.tool if tool is None else tool.name, call.input))
        return any(task.result() for task in tasks)

    async def _run_one(
        self, part: ToolPart, call: ToolCall, scope: CallScope, watch: CallChanges, before: Sequence[CallKey]
    ) -> bool:
        """Run a call after those before it, with which it is compared as it is stored: with what a hook changed."""
        if scope.form is not None and call.tool == STRUCTURED and call.error is None:
            await self._store_structured_answer(scope.form, part, call)
            return False
        checked = await self._check(call, scope, part.session_id)
        if isinstance(checked, _WrongCall):
            return await self._refuse(part, checked, scope, before)
        running = part.changed(
            tool=checked.name, state=tool_state.start(part.state, input=checked.shown, now=self.clock())
        )
        live = LiveTool(running)
        await self.store.writer(part.session_id).update_part(running)
        return await self._execute(
            checked, live, scope, watch, is_loop=is_doom_loop([*before, call_key(checked.name, checked.shown)])
        )

    async def _check(self, call: ToolCall, scope: CallScope, session_id: str) -> _CheckedCall | _WrongCall:
        """Return the call as its tool gets it, with what hooks change, or why it does not run."""
        if scope.is_last or call.error is not None:
            return _WrongCall(call, NO_STEP_LEFT if scope.is_last else call.error or "The call is not valid.")
        tool = self.tools.get(call.tool)
        name = call.tool if tool is None else tool.name
        inner = await self.tools.find_inner(name, call.input)
        if inner is not None:  # switches, hooks and questions are about the tool that runs
            tool = inner.tool
        if tool is None:
            return _WrongCall(call, self.tools.describe_unknown(call.tool, scope.switched_off, call.input))
        if not scope.switched_off.isdisjoint((name, tool.name)):
            return _WrongCall(call, f"The tool {tool.name} is switched off for this request.")
        given = call if inner is None else replace(call, input=inner.arguments)
        try:
            given, asked = await self._changed(given, tool, session_id)
        except HookBlocked as blocked:
            return _WrongCall(call, f"A hook of the user's settings blocked this call: {blocked}")
        arguments = await asyncio.to_thread(self.tools.validate, tool, given.input)  # a wrong call may load pydantic
        if isinstance(arguments, str):
            return _WrongCall(given if inner is None else call, arguments)
        shown = given.input if inner is None else {**call.input, "arguments": given.input}
        return _CheckedCall(name, tool, arguments, given.input, shown, asked)

    async def _refuse(self, part: ToolPart, wrong: _WrongCall, scope: CallScope, before: Sequence[CallKey]) -> bool:
        """Store that a call does not run; returns whether the user rejected that it is repeated."""
        call = wrong.call
        is_compared = call.error is None and not scope.is_last  # with an error it has no input, and another limit
        if is_compared and is_doom_loop([*before, call_key(call.tool, call.input)]):
            return await self._fail_again(part, call, wrong.problem, scope)
        await self._fail(part, call, wrong.problem)
        return False

    async def _fail_again(self, part: ToolPart, call: ToolCall, problem: str, scope: CallScope) -> bool:
        """Fail a wrong call that is repeated, if it may be repeated at all; returns whether the user rejected that."""
        live = LiveTool(part.changed(state=tool_state.start(part.state, input=call.input, now=self.clock())))
        await self.store.writer(part.session_id).update_part(live.part)
        try:
            await _ask_to_repeat(call.tool, call.input, self._context(live, scope))
        except PermissionRefused as error:
            stop_reason = _STOP_REASONS.get(type(error))
            await self._end_badly(live, f"{problem}\n{error}", stop_reason=stop_reason, details=details_of(error))
            return isinstance(error, RejectedError) and error.feedback is None
        await self._end_badly(live, problem)
        return False

    async def _changed(self, call: ToolCall, tool: Tool[Any], session_id: str) -> tuple[ToolCall, str]:
        """Return the call as hooks change it, and why one of them wants the user to be asked."""
        changed, asked = await change_arguments(
            self.hooks,
            tool=tool.name,
            session_id=session_id,
            call_id=call.id,
            arguments=call.input,
            claude_name=_claude_name(tool),
        )
        return call if changed == call.input else replace(call, input=changed), asked

    async def _store_structured_answer(self, form: StructuredAnswer, part: ToolPart, call: ToolCall) -> None:
        live = LiveTool(part.changed(state=tool_state.start(part.state, input=call.input, now=self.clock())))
        await self.store.writer(part.session_id).update_part(live.part)
        problem = form.submit(call.input)
        if problem is None:
            await self._end_well(live, ToolResult("Answer", "The answer was accepted."))
        else:
            await self._end_badly(live, problem)

    async def _execute(
        self, call: _CheckedCall, live: LiveTool, scope: CallScope, watch: CallChanges, *, is_loop: bool
    ) -> bool:
        context, tool, given = self._context(live, scope, watch), call.tool, call.given
        try:
            if call.asked:
                await _ask_for_hook(tool.name, given, call.asked, context)
            if is_loop:
                await _ask_to_repeat(tool.name, given, context)
            result = await tool.run(call.arguments, context)
            if ignored := self.tools.ignored(tool, given):
                result = replace(result, output=f"{result.output}\n\n{ignored}")
            result = await change_result(
                self.hooks,
                result,
                tool=tool.name,
                context=context,
                arguments=given,
                claude_name=_claude_name(tool),
            )
            result = await self.results.apply(result, scope.agent)
            result = replace(result, metadata={**result.metadata, **_note(watch)})
        except PermissionRefused as error:
            stop_reason = _STOP_REASONS.get(type(error))
            await self._end_badly(live, str(error), watch, stop_reason=stop_reason, details=details_of(error))
            return isinstance(error, RejectedError) and error.feedback is None
        except OpencodeError as error:
            text = await self.results.shorten(str(error), scope.agent)
            await self._end_badly(live, text, watch, details=details_of(error))
            return False
        except OSError as error:
            logger.warning("tool %s failed in session %s: %s", tool.name, live.part.session_id, error, exc_info=error)
            await self._end_badly(live, f"{tool.name} failed: {describe(error)}", watch)
            return False
        except Exception as error:
            logger.exception("tool %s failed in session %s", tool.name, live.part.session_id)
            await self._end_badly(live, f"{tool.name} failed: {type(error).__name__}: {error}", watch)
            return False
        await self._end_well(live, result)
        return False

    async def _end_well(self, live: LiveTool, result: ToolResult) -> None:
        part = live.part
        news = await self.unread(part.session_id)
        state = tool_state.complete(
            part.state,
            output="\n\n".join([result.output, *news]),
            title=result.title,
            metadata=result.metadata,
            now=self.clock(),
            attachments=self._attachments(part, result),
        )
        await self._end(live, state)

    async def _end(self, live: LiveTool, state: ToolStateCompleted | ToolStateError) -> None:
        """Store the end of a call; what goes on in the background changes its record no more."""
        live.part = live.part.changed(state=state)
        await self.store.writer(live.part.session_id).close_part(live.part)

    async def _end_badly(
        self,
        live: LiveTool,
        text: str,
        watch: CallChanges | None = None,
        *,
        stop_reason: StopReason | None = None,
        details: ErrorDetails = NO_DETAILS,
    ) -> None:
        secrets = self.results.secrets.get()
        state = tool_state.fail(
            live.part.state,
            error=secrets.redact(text),
            now=self.clock(),
            metadata=_note(watch),
            stop_reason=stop_reason,
            details=ErrorDetails.model_validate(secrets.redact_value(details.to_dict())),
        )
        await self._end(live, state)

    async def _fail(self, part: ToolPart, call: ToolCall, problem: str) -> None:
        state = tool_state.fail(part.state, error=problem, now=self.clock())
        await self.store.writer(part.session_id).close_part(part.changed(state=state.changed(input=call.input)))

    @staticmethod
    def _attachments(part: ToolPart, result: ToolResult) -> list[dict[str, Any]]:
        owner = {"sessionID": part.session_id, "messageID": part.message_id}
        return [{**owner, "id": f"{part.id}_{n}", **file} for n, file in enumerate(result.attachments, start=1)]

    def _context(self, live: LiveTool, scope: CallScope, watch: CallChanges | None = None) -> ToolContext:
        part = live.part
        writer = self.store.writer(part.session_id)

        def progress(title: str | None, metadata: dict[str, Any]) -> None:
            if isinstance(live.part.state, tool_state.ToolStateRunning):
                secrets = self.results.secrets.get()
                title, metadata = secrets.redact(title) if title else title, secrets.redact_value(metadata)
                state = tool_state.progress(live.part.state, title=title, metadata=metadata)
                live.part = live.part.changed(state=state)
                writer.progress_part(live)

        @contextmanager
        def recording() -> Generator[None]:
            """Leave the time in which files are recorded out of the call's own, and report it if it is long."""

            def report(is_recording: bool) -> None:
                progress(None, {tool_state.RECORDING: is_recording})

            timer = asyncio.get_running_loop().call_later(RECORDING_S, report, True)
            try:
                with waiting(is_recording=True):
                    yield
            finally:
                timer.cancel()
                state = live.part.state
                if isinstance(state, tool_state.ToolStateRunning) and (state.metadata or {}).get(tool_state.RECORDING):
                    report(False)

        @contextmanager
        def waiting(*, is_recording: bool = False) -> Generator[None]:
            began = self.clock()
            try:
                yield
            finally:
                waited = self.clock() - began
                if waited >= MIN_WAIT_MS and isinstance(live.part.state, tool_state.ToolStateRunning):
                    live.part = live.part.changed(
                        state=tool_state.wait(live.part.state, waited=waited, is_recording=is_recording)
                    )
                    writer.progress_part(live)

        async def inquire(questions: Sequence[Question]) -> Answers:
            with waiting():
                return await self.questions.ask(part.session_id, questions, tool=reference, policy=scope.policy)

        if watch is not None:
            watch.recording = recording
        reference = ToolCallRef(message_id=part.message_id, call_id=part.call_id)
        ask = CallPermission(
            service=self.permissions,
            session_id=part.session_id,
            tool=reference,
            layers=lambda: scope.layers,
            policy=scope.policy,
            waiting=waiting,
            forms=forms_of(self.directory, self.worktree, self.origins),
        )
        return ToolContext(
            session_id=part.session_id,
            message_id=part.message_id,
            call_id=part.call_id,
            agent=scope.agent.name,
            directory=self.directory,
            worktree=self.worktree,
            origins=self.origins,
            ask=ask,
            progress=progress,
            subagents=scope.subagents,
            watch=watch,
            by_user=scope.by_user,
            inquire=inquire,
            switched_off=scope.switched_off,
        )


async def _ask_to_repeat(tool: str, given: dict[str, Any], context: ToolContext) -> None:
    """Ask whether a loop of calls may continue. Raises PermissionRefused with a description of the loop."""
    try:
        await context.ask("doom_loop", [tool], always=[tool], metadata={"tool": tool, "input": given})
    except RejectedError as error:
        subject = f"to repeat {tool}: the same calls were made {threshold_of(tool)} times in a row"
        raise RejectedError(error.feedback, subject=subject) from error


async def _ask_for_hook(tool: str, given: dict[str, Any], reason: str, context: ToolContext) -> None:
    """Ask whether a call may run about which a hook of the settings wants the user to decide. Raises PermissionRefused."""
    metadata = {"tool": tool, "input": given, "reason": reason}
    try:
        await context.ask("hook", [tool], must_ask=[tool], metadata=metadata)
    except RejectedError as error:
        raise RejectedError(error.feedback, subject=f"to run {tool}: a hook asked ({reason[:200]})") from error


def _claude_name(tool: Tool[Any]) -> str:
    """Return what Claude Code would call a tool of an MCP server, empty for other tools."""
    name: object = getattr(tool, "claude_name", None)
    return name if isinstance(name, str) else ""


def _note(watch: CallChanges | None) -> dict[str, Any]:
    """Return the metadata of a call about changes that undo will not revert."""
    return {} if watch is None or watch.unprotected is None else {"unprotected": watch.unprotected}


async def read_outputs(store: SessionStore, session_id: str) -> Sequence[StoredOutput]:
    """Return a session's completed calls, oldest first."""
    return [
        StoredOutput(
            call_id=part.call_id,
            tool=part.tool,
            title=part.state.title,
            output=part.state.output,
            is_cleared=part.state.time.compacted is not None,
        )
        for message in await store.messages(session_id)
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
    ]
