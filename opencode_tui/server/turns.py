"""Turns that the server started: each belongs to the server, not to the HTTP request that started it.

A turn continues when its client disconnects; listeners see its end. A request is accepted when it is stored.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import CommandInput, PromptInput, ShellInput
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.server.answer import record_bytes, value_bytes
from opencode_tui.server.errors import describe_error
from opencode_tui.tasks import Tasks

logger = logging.getLogger(__name__)

END_GRACE_S = 0.5
"""Seconds that interrupted turns have to return their last message."""


SUCCEEDED, FAILED = value_bytes(True), value_bytes(False)
"""Whether a turn had an answer, as JSON."""

Send = Callable[[Callable[[str], None]], Awaitable[MessageWithParts]]
"""Sends a request and returns its response; calls its argument with the request's id when it is stored."""


class Turn:
    """One request from its arrival to the end of its response."""

    def __init__(self, client: Client, session_id: str, send: Send) -> None:
        self._client = client
        self._session_id = session_id
        self._send = send
        self._request_id: str | None = None
        self._stored = asyncio.Event()
        self._ended = asyncio.Event()
        self._answer: MessageWithParts | None = None
        self._error: Exception | None = None

    @property
    def session_id(self) -> str:
        """The session that it is a turn of."""
        return self._session_id

    @property
    def request_id(self) -> str | None:
        """The id of the request, once it is stored."""
        return self._request_id

    async def run(self) -> None:
        """Run the turn; its errors are kept for `wait_stored` and `answer`."""
        try:
            self._answer = await self._send(self._store)
        except OpencodeError as error:
            self._error = error
        except Exception as error:
            logger.exception("a turn of session %s failed", self._session_id)
            self._error = error
        finally:
            self._stored.set()
            self._ended.set()

    async def wait_stored(self) -> None:
        """Wait until the request is stored; raises the error of a refused request."""
        await self._stored.wait()
        if self._request_id is None and self._error is not None:
            raise self._error

    async def answer(self) -> bytes:
        """Wait for the end and return the last message of the answer; of a failed turn the message with its error.

        A request that waited for another one's turn and was not reached when that failed returns that one's last message.
        """
        await self._ended.wait()
        answer = self._answer
        if answer is None and self._error is not None:
            answer = await self._failed_message()
            if answer is None:
                return value_bytes(describe_error(self._error)[1])
        return b"" if answer is None else record_bytes(answer)

    async def success(self) -> bytes:
        """Wait for the end and return whether the turn had an answer."""
        await self._ended.wait()
        return SUCCEEDED if self._error is None else FAILED

    def _store(self, message_id: str) -> None:
        self._request_id = message_id
        self._stored.set()

    async def _failed_message(self) -> MessageWithParts | None:
        messages = await self._client.messages.list(self._session_id)
        answers = [one for one in reversed(messages) if isinstance(one.info, AssistantMessage)]
        own = [one for one in answers if _parent_of(one) == self._request_id]
        return next(iter(own or [one for one in answers[:1] if _has_failed(one)]), None)


def _parent_of(message: MessageWithParts) -> str | None:
    return message.info.parent_id if isinstance(message.info, AssistantMessage) else None


def _has_failed(message: MessageWithParts) -> bool:
    return isinstance(message.info, AssistantMessage) and message.info.error is not None


async def _logging_errors(work: Coroutine[object, object, None]) -> None:
    try:
        await work
    except OpencodeError as error:
        logger.warning("what follows a turn failed (%s)", error)


class Turns:
    """All turns of one server."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._running: dict[asyncio.Task[None], Turn] = {}
        self._following: set[asyncio.Task[None]] = set()

    async def prompt(self, client: Client, session_id: str, request: PromptInput) -> Turn:
        """Start a turn and return it when its request is stored; raises the error of a refused request."""
        return await self._begin(
            Turn(
                client,
                session_id,
                lambda stored: client.prompts.prompt(session_id, request, stored=stored, refuses_ids=True),
            )
        )

    async def command(self, client: Client, session_id: str, request: CommandInput) -> Turn:
        """Start the turn of a slash command, and return it like `prompt`."""
        return await self._begin(
            Turn(
                client,
                session_id,
                lambda stored: client.prompts.command(session_id, request, stored=stored, refuses_ids=True),
            )
        )

    async def shell(self, client: Client, session_id: str, request: ShellInput) -> Turn:
        """Run a shell command of the user, and return its turn like `prompt`."""
        return await self._begin(
            Turn(client, session_id, lambda stored: client.prompts.shell(session_id, request, stored=stored))
        )

    async def _begin(self, turn: Turn) -> Turn:
        task = self._tasks.start(turn.run(), name="turn")
        self._running[task] = turn
        task.add_done_callback(self._running.pop)
        await turn.wait_stored()
        return turn

    def follow(self, work: Coroutine[object, object, None]) -> None:
        """Do what follows a turn; the end of the server ends it."""
        task = self._tasks.start(_logging_errors(work), name="what follows a turn")
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    def has(self, session_id: str) -> bool:
        """Return whether a turn of a session runs or begins."""
        return any(turn.session_id == session_id for turn in self._running.values())

    def awaits(self, message_id: str) -> bool:
        """Return whether a request is still to be answered by the turn that it began."""
        return any(turn.request_id == message_id for turn in self._running.values())

    async def end(self) -> None:
        """Wait for the turns whose runs have been interrupted; one that does not end is canceled."""
        for task in self._following:
            task.cancel()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=END_GRACE_S)
            for task in late:
                task.cancel()
