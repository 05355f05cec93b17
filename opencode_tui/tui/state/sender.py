"""Sends what the user writes and decides about a run: requests, commands, interruptions."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from opencode_tui.schema.api.request import CommandInput, FileInput, PromptInput, PromptPart, ShellInput, TextInput
from opencode_tui.schema.session.message import Delivery
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.state.controller import SessionController


class _Turn:
    """A request's turn to be stored; `end` may be called more than once."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._send_lock = lock
        self._is_held = False

    async def begin(self) -> None:
        """Wait for the requests before this one."""
        await self._send_lock.acquire()
        self._is_held = True

    def end(self) -> None:
        """Release the next request."""
        if self._is_held:
            self._is_held = False
            self._send_lock.release()


class Sender:
    """Sends requests of the shown session, which is created with the first one, in the order in which they were written."""

    def __init__(self, control: SessionController) -> None:
        self.delivery: Delivery = "steer"
        """When a request that is sent during a turn is read."""
        self.interrupts = 0
        """The number of runs that the user has interrupted."""
        self._control = control
        self._sends = 0
        """Requests that are not answered yet."""
        self._send_lock = asyncio.Lock()
        self._calls = 0
        self._unsent: dict[object, tuple[asyncio.Task[object] | None, float]] = {}
        """What was sent and is not with the engine yet, each with the task that sends it and the time of the loop."""
        self._given = asyncio.Event()

    @property
    def is_waiting(self) -> bool:
        """Return whether something was sent whose answer has not ended; its run may not have begun."""
        return self._calls > 0

    async def wait_given(self) -> None:
        """Wait until the engine has all that was sent so far: then it goes on without this screen."""
        while self._unsent:
            self._given.clear()
            await self._given.wait()

    def cancel_unsent(self, after_s: float) -> bool:
        """Cancel the tasks that send what the engine does not have after `after_s` seconds; return whether there was any."""
        latest = asyncio.get_running_loop().time() - after_s * 0.99  # the timer that names them may be early
        tasks = [task for task, since in self._unsent.values() if task is not None and since <= latest]
        for task in tasks:
            task.cancel()
        return bool(tasks)

    @contextmanager
    def _call(self, given: Callable[[], None]) -> Generator[Callable[[], None]]:
        """Count what is sent to the end of its answer; yield what is called just before the engine gets it, which calls `given`."""
        sent = object()
        self._calls += 1
        self._unsent[sent] = asyncio.current_task(), asyncio.get_running_loop().time()

        def give() -> None:
            if sent in self._unsent:
                del self._unsent[sent]
                self._given.set()
                given()

        try:
            yield give
        finally:
            give()
            self._calls -= 1

    async def send(
        self,
        text: str,
        attached: Sequence[PromptPart],
        *,
        stored: Callable[[str], None],
        given: Callable[[], None],
    ) -> None:
        """Send a request and wait for its answer; while a run works it is queued.

        `given` is called when the engine gets it, `stored` with its ID when it is on disk. Raises OpencodeError.
        """
        with self._call(given) as give:
            await self._send_in_turn(text, attached, stored, give)

    async def _send_in_turn(
        self, text: str, attached: Sequence[PromptPart], stored: Callable[[str], None], give: Callable[[], None]
    ) -> None:
        self._sends += 1
        turn = _Turn(self._send_lock)
        await turn.begin()

        def on_message_id(message_id: str) -> None:
            turn.end()
            stored(message_id)

        try:
            if self._control.is_alone and self._sends == 1:
                await self._control.reload_if_changed()
            await self._send(text, attached, on_message_id, give)
        finally:
            turn.end()
            self._sends -= 1

    async def _send(
        self, text: str, attached: Sequence[PromptPart], stored: Callable[[str], None], give: Callable[[], None]
    ) -> None:
        client, choice = self._control.client, self._control.choice
        session = await self._control.session()
        request = PromptInput(
            model=choice.model,
            agent=self._control.agent,
            variant=choice.variant,
            delivery=self._delivery,
            parts=[TextInput(text=text), *attached, *(await client.prompts.expand(text))[1:]],
        )
        give()
        await client.prompts.prompt(session.id, request, stored=stored)

    @property
    def _delivery(self) -> Delivery | None:
        return "queue" if self.delivery == "queue" and self._control.is_busy else None

    async def _session_in_turn(self) -> SessionInfo:
        """Return the session once the requests before this one are stored: the first of them creates it."""
        async with self._send_lock:
            return await self._control.session()

    async def command(
        self,
        name: str,
        arguments: str,
        attached: Sequence[FileInput] = (),
        *,
        stored: Callable[[str], None],
        given: Callable[[], None],
    ) -> None:
        """Run a custom slash command, with the callbacks of `send`. Raises OpencodeError."""
        with self._call(given) as give:
            choice = self._control.choice
            session = await self._session_in_turn()
            request = CommandInput(
                command=name,
                arguments=arguments,
                model=str(choice.model) if choice.model else None,
                agent=self._control.agent,
                variant=choice.variant,
                delivery=self._delivery,
                parts=list(attached) or None,
            )
            give()
            await self._control.client.prompts.command(session.id, request, stored=stored)

    async def shell(self, command: str, *, stored: Callable[[str], None], given: Callable[[], None]) -> None:
        """Run a shell command of the user, with the callbacks of `send`. Raises OpencodeError."""
        with self._call(given) as give:
            choice = self._control.choice
            session = await self._session_in_turn()
            request = ShellInput(command=command, agent=self._control.agent, model=choice.model, variant=choice.variant)
            give()
            await self._control.client.prompts.shell(session.id, request, stored=stored)

    async def interrupt(self) -> bool:
        """Interrupt the run of the shown session; return whether there was one."""
        self.interrupts += 1
        session_id = self._control.session_id
        return session_id is not None and await self._control.client.prompts.abort(session_id)

    async def send_now(self, message_id: str) -> bool:
        """Let the session read a request that waits at once; return False when it does not wait any more."""
        self.interrupts += 1  # a response that this ends did not fail
        session_id = self._control.session_id
        return session_id is not None and await self._control.client.prompts.send_now(session_id, message_id)
