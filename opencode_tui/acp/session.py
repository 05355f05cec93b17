"""One session of a client: its turns one after the other, the updates about it, the questions in it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import suppress

from acp.exceptions import RequestError
from acp.schema import PermissionOption, PromptResponse, RequestPermissionResponse, StopReason, ToolCallUpdate
from pydantic import ValidationError

from opencode_tui.acp.approval import (
    announced_call,
    answer_of,
    ask_question,
    asked_call,
    label_of,
    options_of,
    request_of,
)
from opencode_tui.acp.choices import COMPACT
from opencode_tui.acp.content import Block, Prompt, read_prompt
from opencode_tui.acp.editor import Editor
from opencode_tui.acp.errors import invalid, refused, reporting
from opencode_tui.acp.updates import SessionState, Update, message, replay, session_of, thought, updates_of
from opencode_tui.client.client import Client
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.question import Question, QuestionRequest
from opencode_tui.schema.api.request import CommandInput, PromptInput, PromptPart, TextInput
from opencode_tui.schema.error import OpencodeError, RunAborted, StorageError
from opencode_tui.schema.event.event import (
    Event,
    PermissionAsked,
    PermissionReplied,
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    SessionFailed,
    SessionStatusChanged,
)
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.model import parse_model_ref
from opencode_tui.schema.permission import PermissionRequest, ToolCallRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import BusyStatus, IdleStatus, Wait
from opencode_tui.schema.session.stored_error import (
    StoredAbortedError,
    StoredError,
    StoredOutputLengthError,
    describe_stored,
    is_refusal,
)
from opencode_tui.schema.tools import row_of
from opencode_tui.text.model_line import model_line
from opencode_tui.text.permission import sandbox_facts
from opencode_tui.text.wait import said_in, wait_line

_logger = logging.getLogger(__name__)

SHOWN_LIMIT_S = 2.0
"""Seconds that the answer to a prompt waits for the last events of its turn: they come another way."""

READY_LIMIT_S = 5.0
"""Seconds that the first turn waits for the client's MCP servers; a server that is later is used from the next turn on."""

_ABORT_AGAIN_S = 0.1
"""Seconds between two tries to interrupt a turn whose run has not started yet."""

Begun = Callable[[], Awaitable[None]]
"""Called when a turn begins."""

_LIMITS = ("length", "max_tokens")
_REFUSALS = ("content-filter", "content_filter", "refusal")


class OpenSession:
    """A session that the client has opened; `receive` gets its events and those of its subagents."""

    def __init__(self, client: Client, editor: Editor, state: SessionState) -> None:
        self.state = state
        self._client = client
        self._editor = editor
        self.ready = asyncio.Event()
        """Set when the client's MCP servers have started, or failed."""

        self._turns = asyncio.Lock()
        self._sending = asyncio.Lock()
        self._moved = asyncio.Event()
        self._turn: asyncio.Task[MessageWithParts | None] | None = None
        self._cancels = 0
        self._is_closed = False
        self._is_refused = False
        self._failure: StoredError | None = None
        """What ended the last turn, of this client or another."""
        self._waiting: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}

    @property
    def id(self) -> str:
        """Return its ID."""
        return self.state.session_id

    async def send(self, updates: Iterable[Update]) -> None:
        """Send updates in order; returns when the client's pipe has accepted them."""
        for update in updates:
            with suppress(ConnectionError):  # the client is gone: its turns are interrupted elsewhere
                await self._editor.session_update(self.id, update)

    def choose_mode(self, mode: str) -> None:
        """Use another agent from the next prompt on, with its own model if it has one. Raises RequestError for an unknown one."""
        choices = self.state.choices
        agent = next((one for one in choices.modes if one.name == mode), None)
        if agent is None:
            known = ", ".join(one.name for one in choices.modes)
            raise invalid(f"unknown mode {mode!r}; modes are {known}")
        self.state.mode = mode
        if agent.model is not None:
            self.state.model = str(agent.model)

    async def choose_model(self, model: str) -> None:
        """Use another model from the next prompt on, listed or not. Raises RequestError for one that does not exist."""
        if not self.state.choices.has_model(model):
            with reporting():
                await self._client.catalog.named_model(model)
        self.state.model = model

    async def load(self, *, is_shown: bool) -> None:
        """Read the stored messages; with `is_shown` send all of them, also those that were sent before. Raises NotFoundError."""
        await self._read(is_shown=is_shown, is_whole=is_shown)

    async def _read(self, *, is_shown: bool, is_whole: bool) -> None:
        async with self._sending:
            info = await self._client.sessions.get(self.id)
            messages = await self._client.messages.list(self.id)
            boundary = info.revert.message_id if info.revert is not None else None
            ids = [one.info.id for one in messages]
            if boundary in ids:
                messages = messages[: ids.index(boundary)]
            self.state.title = info.title
            if is_whole:
                self.state.clear_sent()
            for update in replay(messages, self.state, is_whole=is_whole):
                if is_shown:
                    await self.send([update])
            if is_shown:
                await self.send(self.state.usage_update())

    async def receive(self, event: Event) -> None:
        """Send what an event has to say, and ask what it asks."""
        async with self._sending:
            if session_of(event) in (self.id, None) or self.state.has_adopted(event) or model_line(event):
                await self.send(updates_of(event, self.state))
        match event:
            case SessionStatusChanged() if event.session_id == self.id:
                self._follow_wait(event.status.wait if isinstance(event.status, BusyStatus) else None)
                ended = self._last_stop_reason if isinstance(event.status, IdleStatus) else None
                if ended is None:
                    self._failure = None
                with suppress(ConnectionError):
                    await self._editor.state_changed(self.id, ended)
            case SessionFailed() if event.session_id == self.id:
                self._failure = event.error
            case PermissionAsked():
                self.ask(event)
            case QuestionAsked():
                self.ask(request_of(event))
            case PermissionReplied() | QuestionReplied() | QuestionRejected():
                if (task := self._asking.pop(event.request_id, None)) is not None:
                    task.cancel()
            case _:
                pass
        self._moved.set()

    def _follow_wait(self, wait: Wait | None) -> None:
        """Say once, as a thought of the agent, what is waited for when that lasts: the protocol has no status of a turn."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = None if wait is None else asyncio.create_task(self._say_wait(wait), name="a wait of a turn")

    async def _say_wait(self, wait: Wait) -> None:
        await asyncio.sleep(said_in(wait, system_clock()))
        async with self._sending:
            await self.send([thought(f"{wait_line(wait)}.\n")])

    async def read_again(self) -> None:
        """Read everything after events were lost, and send what is new. The requests that wait are the caller's to pass on."""
        await self._read(is_shown=True, is_whole=False)
        if self.id not in await self._client.prompts.status():
            self.state.is_busy = False
        self._moved.set()

    # Turns.

    async def prompt(
        self, blocks: Sequence[Block], *, message_id: str | None = None, begun: Begun | None = None
    ) -> PromptResponse:
        """Run a turn after those before it; return why it ended. Raises RequestError.

        `message_id` is the ID of the request, a new one without it; `begun` is called when those before it have ended. A task
        that is canceled in the meantime interrupts its turn, and gets the answer too: `$/cancel_request` cancels it.
        """
        given, cancels = read_prompt(blocks), self._cancels
        async with self._turns:
            if self._cancels != cancels:
                return PromptResponse(stop_reason="cancelled")
            await self._wait_ready()
            if self._cancels != cancels:
                return PromptResponse(stop_reason="cancelled")
            self._is_refused = False
            if begun is not None:
                await begun()
            self.state.begin_turn(given.text)
            self._turn = asyncio.create_task(self._send_request(given, message_id))
            is_interrupted = False
            try:
                await asyncio.wait({self._turn})
            except asyncio.CancelledError:
                if self._is_closed:
                    self._turn.cancel()
                    raise
                is_interrupted = True
                await self._interrupt()
            return await self._response(self._turn, is_canceled=is_interrupted or self._cancels != cancels)

    async def _wait_ready(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_LIMIT_S):
                await self.ready.wait()

    async def cancel(self) -> None:
        """Interrupt the turn, and let those that wait for it end; returns when it has ended."""
        self._cancels += 1
        self.ready.set()
        await self._interrupt()

    async def _interrupt(self) -> None:
        turn = self._turn
        while turn is not None and not turn.done():
            if waiting := self.state.waiting_own():
                await self._client.prompts.withdraw(self.id, waiting)
                turn.cancel()
            else:
                await self._client.prompts.abort(self.id)
            await asyncio.wait({turn}, timeout=_ABORT_AGAIN_S)

    async def close(self) -> None:
        """Interrupt the turn, let it be answered, and end what waits for the client; no event is received any more."""
        self._is_closed = True
        self._moved.set()
        await self.cancel()
        async with self._turns:
            pass
        for task in tuple(self._asking.values()):
            task.cancel()

    async def _send_request(self, given: Prompt, message_id: str | None) -> MessageWithParts | None:
        """Send a prompt or a command; return the last message of its answer, None for a command of this program."""
        state = self.state
        if given.command:
            known = [one.name for one in await self._client.catalog.commands()]
            if given.command in known:
                command = CommandInput(
                    command=given.command,
                    arguments=given.arguments,
                    message_id=message_id,
                    agent=state.mode,
                    model=state.model,
                    parts=list(given.files) or None,
                )
                return await self._client.prompts.command(self.id, command)
            if given.command == COMPACT:
                return await self._compact(given.arguments)
        parts: list[PromptPart] = [*given.files]
        if given.text:
            parts.insert(0, TextInput(text=given.text))
            parts += (await self._client.prompts.expand(given.text))[1:]
        model = parse_model_ref(state.model)
        prompt = PromptInput.trusted(
            message_id=message_id, model=model, agent=state.mode, delivery="queue", parts=parts
        )
        return await self._client.prompts.prompt(self.id, prompt)

    async def _compact(self, focus: str) -> None:
        report = await self._client.context.compact(self.id, CompactSession(focus=focus or None))
        tokens = f", {report.before} tokens before, {report.after} after" if report.after is not None else ""
        await self.send([message(f"A summary replaced {report.messages} messages{tokens}.")])

    async def _response(self, turn: "asyncio.Task[MessageWithParts | None]", *, is_canceled: bool) -> PromptResponse:
        """Return how a turn ended, after its last updates. Raises RequestError."""
        error = asyncio.CancelledError() if turn.cancelled() else turn.exception()
        answer = turn.result() if error is None else None
        await self._wait_shown(answer)
        self.state.expects_own = False
        usage = self.state.usage() if self.state.steps else None
        if is_canceled or isinstance(error, RunAborted | asyncio.CancelledError):
            return PromptResponse(stop_reason="cancelled", usage=usage)
        if error is not None:
            raise refused(error)
        info = answer.info if answer is not None else None
        said = info.failure if isinstance(info, AssistantMessage) else None
        if isinstance(info, AssistantMessage) and said is not None and (said is info.ending or is_refusal(said)):
            await self.send([message(describe_stored(said, info.provider_id, info.model_id))])
        return PromptResponse(stop_reason=self._stop_reason(info), usage=usage)

    async def _last_stop_reason(self) -> StopReason:
        """Return why the last turn ended, also one of another client. Raises RequestError for a failure."""
        if isinstance(self._failure, StoredAbortedError):
            return "cancelled"
        if self._failure is not None:
            raise refused(self._failure)
        with reporting():
            messages = await self._client.messages.list(self.id, 1)
        return self._stop_reason(messages[-1].info if messages else None)

    def _stop_reason(self, info: object) -> StopReason:
        """Return why a turn with this last message ended. Raises RequestError for a failure."""
        if self._is_refused:
            return "refusal"
        if not isinstance(info, AssistantMessage):
            return "end_turn"
        match info.error:
            case None:
                pass
            case error if is_refusal(error):
                return "refusal"
            case StoredAbortedError():
                return "cancelled"
            case StoredOutputLengthError():
                return "max_tokens"
            case _:
                raise refused(info.error)
        if info.finish in _LIMITS:
            return "max_tokens"
        if info.finish in _REFUSALS:
            return "refusal"
        most = next((one.steps for one in self.state.choices.agents if one.name == info.agent), None)
        return (
            "max_turn_requests" if most is not None and self.state.steps >= most and self._is_cut(info) else "end_turn"
        )

    def _is_cut(self, info: AssistantMessage) -> bool:
        return info.finish == "tool-calls"

    async def _wait_shown(self, answer: MessageWithParts | None) -> None:
        """Wait until the events of a turn up to this message were sent, or the session is closed, for a limited time."""
        state = self.state

        def is_shown() -> bool:
            if self._is_closed:
                return True
            if answer is None:
                return not state.is_busy
            seen = state.ended if not state.is_busy else state.finished
            return answer.info.id in seen

        await self._until(is_shown)

    async def _until(self, is_done: Callable[[], bool]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SHOWN_LIMIT_S):
                while not is_done():
                    self._moved.clear()
                    await self._moved.wait()

    # Questions.

    def ask(self, request: PermissionRequest | QuestionRequest) -> None:
        """Ask the client in a task of its own, unless it is asked already.

        What a turn of another client asks is for that client. A background command asks without a turn when it has written
        protected files; the first answer counts.
        """
        is_running = self._turn is not None and not self._turn.done()
        is_permission = isinstance(request, PermissionRequest)
        is_for_this = is_running or (is_permission and sandbox_facts(request).kind == "protected")
        if request.id in self._asking or not is_for_this:
            return
        task = asyncio.create_task(self._ask(request))
        self._asking[request.id] = task

        def remove(_: "asyncio.Task[None]") -> None:
            self._asking.pop(request.id, None)

        task.add_done_callback(remove)

    def keep_asking(self, waiting: Container[str]) -> None:
        """End the questions to the client whose requests do not wait any more."""
        for request_id, task in tuple(self._asking.items()):
            if request_id not in waiting:
                task.cancel()

    async def _ask(self, request: PermissionRequest | QuestionRequest) -> None:
        """Ask the client and send its answer to the engine.

        Without a client no one has answered: its turns are interrupted elsewhere, and other clients are still asked.
        """
        with suppress(ConnectionError):
            if isinstance(request, PermissionRequest):
                await self._ask_permission(request)
            else:
                await self._ask_questions(request)

    async def _choose(self, call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse | None:
        """Return the answer of the client, None for a failure or one that has not the form of an answer.

        Raises ConnectionError when the client is gone.
        """
        try:
            return await self._editor.request_permission(self.id, call, options)
        except (RequestError, ValidationError) as error:
            _logger.warning("the client did not answer what session %s asks: %s", self.id, error)
            await self.send([message("Your editor could not answer this question, so it counts as rejected.\n")])
            return None

    async def _ask_permission(self, request: PermissionRequest) -> None:
        part = await self._find_call(request.session_id, request.tool)
        root = self.state.root
        if request.session_id != self.id and part is not None and part.call_id not in self.state.adopted:
            self.state.adopt(part)
            await self.send([announced_call(part, root)])
        options = options_of(request)
        answer = answer_of(await self._choose(asked_call(request, part, root), options), options)
        if answer.declines:
            await self._decline(request)
        self._is_refused = self._is_refused or (request.permission == "doom_loop" and answer.reply == "reject")
        try:
            await self._client.permissions.reply(request.id, answer.reply, host=answer.host)
        except StorageError as error:  # it is allowed this once, but a host is not
            await self.send([message(f"{error}\n")])
        except OpencodeError:
            await self._client.permissions.reply(request.id, "reject")

    async def _decline(self, request: PermissionRequest) -> None:
        """End the suggestion of a rule; a failure to store that is shown, and the request is answered all the same."""
        try:
            await self._client.permissions.decline(request.id)
        except OpencodeError as error:
            await self.send([message(f"{error}\n")])

    async def _ask_questions(self, request: QuestionRequest) -> None:
        """Ask one question after the other; without an answer to one of them they are dismissed, which ends the turn."""
        part = await self._find_call(request.session_id, request.tool)
        answers: list[list[str]] = []
        for question in request.questions:
            label = await self._ask_question(question, part, request.id)
            if label is None:
                await self._client.questions.reject(request.id)
                return
            answers.append([label])
        await self._client.questions.reply(request.id, answers)

    async def _ask_question(self, question: Question, part: ToolPart | None, request_id: str) -> str | None:
        """Return the chosen label; None when the client gave none. A question without options is only shown."""
        if not question.options:
            await self.send([message(f"{question.question}\n")])
            return None
        is_plan = part is not None and row_of(part.tool).role == "plan"
        asked = ask_question(
            question,
            part.call_id if part is not None else request_id,
            plan=await self._plan(question) if is_plan else None,
        )
        return label_of(question, await self._choose(asked.call, asked.options))

    async def _plan(self, question: Question) -> str:
        """Return the text of the plan that a question is about; empty where it has no file."""
        if question.plan is None:
            return ""
        try:
            return (await self._client.files.read(question.plan)).content
        except OpencodeError:  # it is gone
            return ""

    async def _find_call(self, session_id: str, call: ToolCallRef | None) -> ToolPart | None:
        if call is None:
            return None
        try:
            found = await self._client.messages.get(session_id, call.message_id)
        except OpencodeError:
            return None
        calls = (part for part in found.parts if isinstance(part, ToolPart))
        return next((part for part in calls if part.call_id == call.call_id), None)
