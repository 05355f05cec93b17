"""The check of a session: a command of the user that runs after each turn; while it fails, its output starts the next turn.

The command runs as a call of bash would, under the same rules, in a message of its own that no model made. The user typed it,
and so approves it inside the sandbox only: what leaves the sandbox is asked as ever. Turns are counted for one prompt of the user;
what the check did last is in the session's record. Source: docs/internals/loop.md#checks.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.permission.policy import AskPerson, Policy, leaves_sandbox
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.user_message import Target, UserMessages
from opencode_tui.engine.session.runs import Run, SessionRuns, SessionStatuses
from opencode_tui.engine.session.step.processor import NewMessages, Outcome, StepProcessor
from opencode_tui.engine.session.step.tool_calls import CallScope
from opencode_tui.engine.session.subagent import Prompter
from opencode_tui.engine.tool.builtin.bash_run import MAX_TIMEOUT_MS
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.api.until import RunCheck, SetCheck
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.permission import PermissionRequest, Ruleset
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import UNTIL_KEY, SessionInfo, is_default_title
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStatePending
from opencode_tui.schema.session.until import (
    CheckEnd,
    CheckFailure,
    CheckRun,
    Until,
    until_of,
    with_until,
)

REQUEST_TEXT = "The check that the user has set ran; its output follows."
FAILED = (
    "The check that the user has set failed: {result}. Its output is above. Correct what it reports; the check runs again after "
    "your turn. Do not change the check itself to pass it unless it is wrong; if it is, or if it cannot pass, say so and why."
)
DESCRIPTION = "check"

MAX_EQUAL = 3
"""Equal failures in a row after which no turn follows."""

TAIL_LINES = 120
TAIL_CHARACTERS = 8_000
"""How much of the end of a failed check's output the model reads."""

TITLE_LENGTH = 50

_CHANGING = re.compile(
    r"0x[0-9a-f]+|(?<!\d)(?:\d+:\d\d(?::\d\d)?(?:\.\d+)?|\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|sec|secs|seconds?)\b)",
    re.IGNORECASE,
)
"""Addresses, times of day and durations, which differ between equal failures."""


class CheckPolicy(Policy):
    """Allows what stays in the sandbox, as the user typed the command; everything else is decided `otherwise`."""

    def __init__(self, otherwise: Policy) -> None:
        self._otherwise = otherwise

    def decide(self, request: PermissionRequest) -> bool:
        """Return True for what stays in the sandbox, else what the other policy returns. Raises PermissionRefused."""
        return not leaves_sandbox(request) or self._otherwise.decide(request)


class _Ended(Struct, frozen=True):
    """A check that has run: its record, and its output as the model reads it."""

    run: CheckRun
    output: str


class SessionChecks(Struct, frozen=True):
    """Runs the checks of one folder's sessions. `rules` returns the rules that hold for an agent in a session."""

    store: SessionStore
    statuses: SessionStatuses
    new_step: Callable[[AssistantMessage], StepProcessor]
    messages: NewMessages
    rules: Callable[[SessionInfo, AgentInfo], Awaitable[list[Ruleset]]]
    clock: Clock

    async def after_turn(self, run: Run, last: UserMessage, agent: AgentInfo) -> bool:
        """Run the session's check if it is due; return whether its failure is stored as the next request.

        `last` is the newest request, whose agent and model the next one has.
        """
        info = await self.store.get(run.session_id)
        until = until_of(info)
        if until is None or not until.is_due or run.checks.is_over:
            return False
        ended = await self.run(run, until, last, agent)
        return ended is not None and ended.end is None

    async def run(self, run: Run, until: Until, last: UserMessage, agent: AgentInfo) -> CheckRun | None:
        """Run the check and store what it did; a failure that starts a turn is stored as a request too.

        Return its record, None when the check was replaced or removed in the meantime.
        """
        count = run.checks
        ended = await self._execute(run, until, last, agent)
        done = ended.run
        if not done.has_passed:
            mark = _mark_of(ended)
            count.equal = count.equal + 1 if mark == count.mark else 1
            count.mark = mark
        end = done.end or _end_of(done, until, equal=count.equal, turns=count.turns)
        if end is None:
            count.turns += 1
        count.is_over = end is not None
        done = done.changed(turn=count.turns, end=end)
        is_kept = await self._store(run.session_id, until, done)
        if not is_kept:
            return None
        if end is None:
            await self._ask(last, done, until)
        return done

    async def run_once(self, run: Run, until: Until, last: UserMessage, agent: AgentInfo) -> AssistantMessage:
        """Run the check without a turn after it, and store what it did; return the message with its call."""
        ended = await self._execute(run, until, last, agent)
        end: CheckEnd | None = ended.run.end or ("passed" if ended.run.has_passed else None)
        await self._store(run.session_id, until, ended.run.changed(end=end))
        message = next(
            one.info for one in reversed(await self.store.recent(run.session_id)) if one.info.id == ended.run.message_id
        )
        assert isinstance(message, AssistantMessage)
        return message

    async def _execute(self, run: Run, until: Until, last: UserMessage, agent: AgentInfo) -> _Ended:
        """Run the command in a message of its own."""
        request = self.messages.request_like(last)
        await self.store.writer(request.session_id).add_message(request, [self.messages.text(request, REQUEST_TEXT)])
        self.statuses.busy(run.session_id)
        step = self.new_step(self.messages.answer(request, request.model, agent.name))
        run.finalize = step.finalize
        layers = await self.rules(await self.store.get(run.session_id), agent)
        scope = CallScope(agent=agent, layers=layers, policy=CheckPolicy(run.policy))
        ids = self.messages.ids(step.message)
        call_id = ids["id"].replace("prt_", "call_")
        arguments = {"command": until.command, "description": DESCRIPTION, "timeout": MAX_TIMEOUT_MS}
        part = ToolPart(**ids, call_id=call_id, tool="bash", state=ToolStatePending())
        outcome = await step.run_calls([(part, ToolCall(call_id, "bash", arguments))], scope)
        await step.amend(finish="stop")  # nothing of it is left to answer
        run.finalize = None
        return await self._ended(step, outcome)

    async def _ended(self, step: StepProcessor, outcome: Outcome) -> _Ended:
        message = step.message
        (part,) = [one for one in self.store.parts(message.session_id, message.id) if isinstance(one, ToolPart)]
        state = part.state
        assert isinstance(state, ToolStateCompleted | ToolStateError)
        took = state.time.worked(self.clock())
        done = CheckRun(at=self.clock(), took=took, message_id=message.id)
        if isinstance(state, ToolStateError) or outcome == "stop":
            return _Ended(done.changed(end="refused"), getattr(state, "error", ""))
        code: object = state.metadata.get("exit")
        done = done.changed(exit=code if isinstance(code, int) else None)
        tail = tail_of(state.output)
        if tail != state.output:
            await self.store.writer(part.session_id).update_part(part.changed(state=state.changed(output=tail)))
        return _Ended(done, tail)

    async def _store(self, session_id: str, until: Until, done: CheckRun) -> bool:
        """Store a run of the check; return False where the user has set another one in the meantime, or none."""
        kept = False

        def change(info: SessionInfo) -> SessionInfo:
            nonlocal kept
            now = until_of(info)
            kept = now is not None and now.command == until.command
            return with_until(info, now.changed(last=done)) if now is not None and kept else info

        await self.store.update(session_id, change)
        return kept

    async def _ask(self, last: UserMessage, done: CheckRun, until: Until) -> None:
        """Store the failure as a request, marked as one of the program."""
        request = self.messages.request_like(last)
        failure = CheckFailure(exit=done.exit, turn=done.turn, turns=until.turns)
        result = "it was stopped" if done.exit is None else f"exit code {done.exit}"
        part = self.messages.text(request, FAILED.format(result=result))
        await self.store.writer(request.session_id).add_message(
            request, [part.changed(metadata={UNTIL_KEY: failure.to_dict()})]
        )


class SessionUntil(Struct, frozen=True):
    """Sets, removes and runs the checks of one folder's sessions on request."""

    store: SessionStore
    checks: SessionChecks
    runs: SessionRuns
    users: UserMessages
    go_on: Callable[[Run, SessionInfo, Prompter], Awaitable[MessageWithParts]]
    """Continues the conversation in a run."""

    async def set(self, session_id: str, request: SetCheck) -> SessionInfo:
        """Set the check, in place of any other; it first runs after the present or the next turn. Raises SessionError."""
        command = request.command.strip()
        if not command or "\0" in command:
            raise SessionError("the command of a check is empty or holds a NUL character; give a command line")
        return await self._change(session_id, Until(command=command, turns=request.turns))

    async def remove(self, session_id: str) -> SessionInfo:
        """Remove the check."""
        return await self._change(session_id, None)

    async def _change(self, session_id: str, until: Until | None) -> SessionInfo:
        await self.store.update(session_id, lambda info: with_until(info, until), touch=False)
        return await self.store.get(session_id)

    async def check(
        self, session_id: str, wish: RunCheck, *, prompter: Prompter, policy: Policy | None = None
    ) -> SessionInfo:
        """Run the check now and return the session; with `goes_on` after the turns that its failures started.

        Raises SessionError without a check, BusyError while the session is running, RunAborted when it was interrupted, and
        the error of a turn.
        """
        info = await self.store.get(session_id)
        until = until_of(info)
        if until is None:
            raise SessionError(f"session {session_id} has no check; set one with /until COMMAND")
        prompt = PromptInput(
            agent=wish.agent,
            model=wish.model,
            variant=wish.variant,
            parts=[TextInput(text=REQUEST_TEXT, synthetic=True)],
        )
        await self.store.refresh(session_id)
        target = await self.users.address(session_id, prompt)
        await self.runs.registry.ensure_idle(session_id)
        asked, _ = await self.users.new(
            session_id, prompt, target
        )  # not stored: what the messages of the check are like
        if is_default_title(info.title):
            title = f"Until {' '.join(until.command.split())}"[:TITLE_LENGTH].rstrip()
            await self.store.update(session_id, lambda found: found.changed(title=title), touch=False)

        async def body(run: Run) -> MessageWithParts:
            run.end_changes = partial(self.runs.end_changes, session_id)
            run.after_run = partial(self.runs.summarize, session_id)
            answer = await self._run(run, until, asked, target, prompter, goes_on=wish.goes_on)
            await self.runs.end_changes(session_id)
            return answer

        await self.runs.start(session_id, body, policy=policy or AskPerson()).answer()
        return await self.store.get(session_id)

    async def _run(
        self, run: Run, until: Until, asked: UserMessage, target: Target, prompter: Prompter, *, goes_on: bool
    ) -> MessageWithParts:
        checks, session_id = self.checks, asked.session_id
        if not goes_on:
            message = await checks.run_once(run, until, asked, target.agent)
            return with_parts(message, self.store.parts(session_id, message.id))
        done = await checks.run(run, until, asked, target.agent)
        if done is not None and done.end is None:
            return await self.go_on(run, await self.store.get(session_id), prompter)
        return next(
            one for one in reversed(await self.store.recent(session_id)) if isinstance(one.info, AssistantMessage)
        )


def tail_of(output: str) -> str:
    """Return the end of an output that the model reads, and how many lines before it are left out."""
    lines = output.splitlines()
    kept = lines[-TAIL_LINES:]
    while len(kept) > 1 and sum(map(len, kept)) + len(kept) > TAIL_CHARACTERS:
        del kept[0]
    text = "\n".join(kept)
    text = text if len(text) <= TAIL_CHARACTERS else f"…{text[-TAIL_CHARACTERS:]}"
    left_out = len(lines) - len(kept)
    return text if not left_out else f"({left_out} lines before are left out)\n{text}"


def _mark_of(ended: _Ended) -> str:
    """Return the same text for failures that differ in times and addresses only."""
    text = f"{ended.run.exit} {_CHANGING.sub('', ended.output)}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _end_of(done: CheckRun, until: Until, *, equal: int, turns: int) -> CheckEnd | None:
    """Return why no turn follows this run after `turns` turns, None where one does."""
    if done.has_passed:
        return "passed"
    if equal >= MAX_EQUAL:
        return "same"
    return "turns" if turns >= until.turns else None
