"""Commands in the background: started by a call, read and stopped later, ended with their session or with the program.

Each has a task of its own, in which the command runs as a foreground one does: confined, its changes recorded, protected files
checked. Stopping it lets that task end in order; canceling the task ends the command as an interruption does. A long call of an
MCP server continues in the same way; its result is its output.
"""

from __future__ import annotations  # the method `list` hides the type

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.sandbox.environment import StreamRedactor
from opencode_tui.engine.snapshot.record.call import CallChanges
from opencode_tui.engine.snapshot.record.write import BackgroundProgram
from opencode_tui.engine.tool.process.process import Command, Ended, describe_failed_start
from opencode_tui.engine.tool.process.running_command import (
    CommandOutput,
    RunningCommand,
    continuation_bytes,
    unfinished_bytes,
)
from opencode_tui.engine.tool.tool import ToolContext, ToolResult
from opencode_tui.engine.tool.truncate import MAX_BYTES
from opencode_tui.schema.api.background import BackgroundCommand, BackgroundState, BackgroundText
from opencode_tui.schema.error import BusyError, NotFoundError, OpencodeError, ToolError
from opencode_tui.schema.event.event import Event
from opencode_tui.schema.event.folder_event import BackgroundUpdated
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.ids import Clock, is_before
from opencode_tui.schema.record import JsonObject

RUNNING_LIMIT = 16
"""Most background commands of a folder that run at the same time."""

KEPT_LIMIT = 32
"""Most commands that have ended and can still be read; the oldest is dropped first."""

TAIL_BYTES = 128 * 1024
READ_BYTES = MAX_BYTES
"""How much of an output one read returns: its end. A longer output is in a file, so what is left out can be read there."""

CLOSE_S = 5.0
_WAIT_S = 3_600.0
_START_S = 0.03
"""In this time a command that cannot be started fails."""
_LINE_CHARS = 200
_REPORT_CHARS = 8_000
"""The longest report of an agent that joins a request by itself."""

logger = logging.getLogger(__name__)


class BackgroundOutput(CommandOutput):
    """An output with several readers; each gets what it has not read yet. Memory holds its last 128 to 256 KB.

    `progress` is what a call without an output yet reports about itself.
    """

    def __init__(self, reserve: Callable[[], Path], *, redactor: StreamRedactor | None = None) -> None:
        super().__init__(reserve, redactor=redactor)
        self._recent = bytearray()
        self._seen = 0
        self._guard = threading.Lock()
        self.progress = ""

    def _add(self, data: bytes) -> None:
        super()._add(data)  # first, so that a long output has its file before a read leaves something out
        with self._guard:
            self._seen += len(data)
            self._recent += data
            if len(self._recent) > 2 * TAIL_BYTES:
                del self._recent[:-TAIL_BYTES]

    def add_all(self, text: str) -> None:
        """Add the whole output, in the place of the progress, and finish it; blocks."""
        self.progress = ""
        if text:
            self.feed(text.encode("utf-8", "replace"))
        self.close()

    def read(self, since: int, *, is_final: bool = False) -> tuple[str, int, int]:
        """Return the text from a position on, the bytes that are skipped before it, and the position after it.

        The text is at most the last `READ_BYTES`. A character whose end has not come yet is left to the next read, unless
        `is_final`.
        """
        with self._guard:
            new = max(0, self._seen - max(0, since))
            size = min(new, READ_BYTES, len(self._recent))
            data = bytes(self._recent[len(self._recent) - size :]) if size else b""
            seen = self._seen
        start = continuation_bytes(data) if size < new else 0
        end = len(data) if is_final else len(data) - unfinished_bytes(data)
        text = data[start:end].decode("utf-8", "replace").replace("\0", "\ufffd")
        return text, new - size + start, seen - (len(data) - end)

    @property
    def last_line(self) -> str:
        """The last line that is not blank, else the progress; shortened."""
        with self._guard:
            data = bytes(self._recent[-2048:])
        lines = [line for line in data.decode("utf-8", "replace").replace("\r", "\n").split("\n") if line.strip()]
        return (lines[-1].strip() if lines else self.progress)[:_LINE_CHARS]


class BackgroundStart(Struct, frozen=True):
    """A command to start: `run` runs it, as a job in the context that outlives its call, and returns lines for the model."""

    command: str
    description: str
    directory: Path
    context: ToolContext
    output: BackgroundOutput
    run: BackgroundWork


class BackgroundCall(Struct, frozen=True):
    """A call of a `tool` of an MCP server, or of an agent, that continues in the background: `task` is the call.

    `command` are its words. An agent records its own changes of files.
    """

    tool: str
    command: str
    context: ToolContext
    output: BackgroundOutput
    task: asyncio.Task[ToolResult]


class _RunningCall(Struct, frozen=True):
    """What the background needs of a running call; which files its server has open is not known."""

    task: asyncio.Task[ToolResult]

    def stop(self) -> None:
        """Cancel it, which its server learns."""
        self.task.cancel()

    def files_open_for_writing(self) -> frozenset[tuple[int, int]]:
        """Return nothing."""
        return frozenset()


class NewOutput(Struct, frozen=True):
    """What is new of an output since the model read it: the text, file parts without ids, and lines about it."""

    text: BackgroundText
    attachments: Sequence[JsonObject]
    messages: Sequence[str]


@dataclass(eq=False, slots=True)
class BackgroundJob:
    """A command with what only this program knows of it.

    `started` is set when its process runs, before which it is hidden, `recorded` when its changes of files are stored;
    `position` is up to where the model has read, `messages` are lines for the model, `attachments` what it has not read yet.
    """

    info: BackgroundCommand
    session_id: str
    output: BackgroundOutput
    owner: BackgroundCommands
    started: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    recorded: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    running: RunningCommand | _RunningCall | None = None
    failure: BaseException | None = None
    position: int = 0
    messages: list[str] = field(default_factory=list[str])
    attachments: Sequence[JsonObject] = ()
    is_unreported: bool = False
    stopped_by: str = ""

    async def follow(self, command: Command, output: CommandOutput) -> Ended:
        """Run the command of the job to its end. Raises ToolError when it cannot be started."""
        return await self.owner.follow(self, command, output)

    def report_undone(self, files: Sequence[str]) -> None:
        """Record and show protected files whose changes were undone because no one decided about them."""
        self.info = self.info.changed(undone=list(files))
        self.owner.warn(self.info.format_undone())

    @asynccontextmanager
    async def record_changes(self, changes: CallChanges | None) -> AsyncGenerator[None]:
        """Record the changes in the context as those of a command in the background, for the call that started it."""
        program = BackgroundProgram(program_name(self.info), self.open_files)
        try:
            async with nullcontext() if changes is None else changes.background(program):
                yield
        finally:
            self.recorded.set()

    def open_files(self) -> Collection[tuple[int, int]]:
        """Return device and inode of the files that it has open for writing; blocks, for any thread."""
        running = self.running
        return () if running is None else running.files_open_for_writing()


BackgroundWork = Callable[[BackgroundJob, ToolContext], Awaitable[Sequence[str]]]
"""Does what a job is for, in the context that outlives its call, and returns lines for the model."""


class BackgroundCommands:
    """The background commands of one folder's sessions. For one event loop."""

    def __init__(
        self, *, publish: Callable[[Event], None], clock: Clock, root_of: Callable[[str], Awaitable[str]]
    ) -> None:
        """`root_of` returns the top session above a session, which owns what its subagents start."""
        self._publish = publish
        self._clock = clock
        self._root_of = root_of
        self._jobs: dict[str, BackgroundJob] = {}
        self._count = 0

    async def start(self, request: BackgroundStart) -> BackgroundCommand:
        """Start a command and return it when its process runs. Raises ToolError when it cannot be started."""
        info = self._new_info(request.context, command=request.command, directory=request.directory)
        info = info.changed(description=request.description)
        return await self._begin(self._new_job(info, request.output), request.context, request.run)

    async def adopt(self, call: BackgroundCall) -> BackgroundCommand:
        """Let a running call continue, and return it when its changes of files are recorded as those of the background.

        Raises ToolError when too much runs already; the call is then left alone.
        """
        info = self._new_info(call.context, command=call.command, directory=call.context.directory)
        info = info.changed(tool=call.tool)

        async def work(job: BackgroundJob, context: ToolContext) -> Sequence[str]:
            await self._follow_call(job, context, call.task)
            return ()

        context = replace(call.context, watch=None) if info.is_agent else call.context
        return await self._begin(self._new_job(info, call.output), context, work)

    def _new_info(self, context: ToolContext, *, command: str, directory: Path) -> BackgroundCommand:
        if sum(job.info.is_running for job in self._jobs.values()) >= RUNNING_LIMIT:
            raise ToolError(f"{RUNNING_LIMIT} background commands run already; stop one of them first")
        self._count += 1
        return BackgroundCommand(
            id=f"bg{self._count}",
            session_id=context.session_id,
            message_id=context.message_id,
            call_id=context.call_id,
            command=command,
            description="",
            directory=str(directory),
            state="running",
            started=self._clock(),
        )

    def _new_job(self, info: BackgroundCommand, output: BackgroundOutput) -> BackgroundJob:
        return BackgroundJob(info, info.session_id, output, self)

    async def _begin(self, job: BackgroundJob, context: ToolContext, work: BackgroundWork) -> BackgroundCommand:
        """Run a job in a task of its own, and return it once it is `started`."""
        info = job.info
        self._jobs[info.id] = job
        job.task = asyncio.create_task(self._run(job, context, work), name=f"{info.noun} {info.id}")
        job.task.add_done_callback(lambda _task: job.started.is_set() or self._jobs.pop(info.id, None))
        begun = asyncio.create_task(job.started.wait())
        try:
            await asyncio.wait({job.task, begun}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            job.task.cancel()
            raise
        finally:
            begun.cancel()
        if not job.started.is_set():
            raise job.failure or ToolError("the command could not be started")
        return job.info

    async def list(self, session_id: str | None = None) -> Sequence[BackgroundCommand]:
        """Return the commands of a session and its subagents, or of all sessions: those that run first, then the newest."""
        owner = None if session_id is None else await self._root_of(session_id)
        found = [self._shown(job) for job in self._visible() if owner in (None, job.info.session_id)]
        return sorted(found, key=lambda info: (not info.is_running, -info.started, info.id))

    async def output(self, command_id: str, since: int = 0) -> BackgroundText:
        """Return the output of a command from a position on. Raises NotFoundError."""
        return self._text(self._job(command_id), since)

    async def stop(self, command_id: str) -> BackgroundCommand:
        """End a command for the user, and return it when its processes have ended. Raises NotFoundError."""
        return await self._stop(self._job(command_id), by="user")

    async def read_new(
        self, session_id: str, wanted: str, *, wait_s: float = 0, words: str = "", stop: bool = False
    ) -> NewOutput:
        """Return what a command of the session wrote since the last such read.

        Waits for its end at most `wait_s` seconds, and with `words` also for a line with them. Raises NotFoundError.
        """
        job = self._job(wanted)
        if job.info.session_id != await self._root_of(session_id):
            raise NotFoundError(f"this session has no background command {wanted!r}")
        if stop:
            await self._stop(job, by="model")
        else:
            await self._wait(job, wait_s, words)
        text = self._text(job, job.position)
        job.position = text.position
        if not job.info.is_running:
            job.is_unreported = False
        attachments, job.attachments = job.attachments, ()
        return NewOutput(text, attachments, tuple(job.messages))

    def consume_messages(self, session_id: str) -> list[str]:
        """Return, once, a line for each command of the session that has ended without the model knowing.

        A report of an agent follows its line, unless it is long.
        """
        found = [job for job in self._jobs.values() if job.is_unreported and job.info.session_id == session_id]
        return [self._news(job) for job in found]

    def _news(self, job: BackgroundJob) -> str:
        job.is_unreported = False
        text = self._text(job, job.position) if job.info.is_agent and not job.stopped_by else None
        if text is None or text.skipped or len(text.text) > _REPORT_CHARS:
            return format_end(job.info, by=job.stopped_by)
        job.position = text.position
        end = "failed" if job.info.failed else "has ended"
        return f"The {_name(job.info)} {end}.\n<task_result>\n{text.text}\n</task_result>"

    def interrupt(self, session_id: str, agents: Collection[str]) -> None:
        """Stop the agents of a session that run in the background, and all that these `agents` started; returns at once."""
        for job in self._jobs.values():
            if job.running is not None and (
                job.session_id in agents or (job.info.is_agent and job.session_id == session_id)
            ):
                job.stopped_by = "user"
                job.running.stop()

    def running(self) -> Sequence[BackgroundCommand]:
        """Return those that run now."""
        return [job.info for job in self._visible() if job.info.is_running]

    async def refuse_undo(self, session_id: str, first: str) -> None:
        """Raise BusyError when a command of the session that a message from `first` on started runs; wait for others' records.

        The messages of the session's agents count by the order of their ids, as its own do.
        """
        owner = await self._root_of(session_id)
        own = [job for job in self._jobs.values() if job.info.session_id == owner]
        for job in [job for job in own if not is_before(job.info.message_id, first)]:
            if job.info.is_running:
                raise BusyError(
                    f"the {job.info.noun} {program_name(job.info)}, which this would undo, still runs; "
                    "stop it first (/jobs)"
                )
            await job.recorded.wait()

    async def end(self, session_ids: Collection[str] | None = None) -> Sequence[BackgroundCommand]:
        """End the commands that these sessions own or started, or all, and drop them.

        Return those that ran, when their changes are recorded.
        """
        chosen = [
            job
            for job in self._jobs.values()
            if session_ids is None or job.session_id in session_ids or job.info.session_id in session_ids
        ]
        tasks = {job.task for job in chosen if job.task is not None and not job.task.done()}
        running = [job for job in chosen if job.task in tasks and job.started.is_set()]
        for job in chosen:
            job.stopped_by = job.stopped_by or "program"
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        for job in chosen:
            self._jobs.pop(job.info.id, None)
        return [job.info for job in running]

    async def close(self) -> None:
        """End all commands."""
        await self.end()

    async def _run(self, job: BackgroundJob, context: ToolContext, work: BackgroundWork) -> None:
        try:
            job.info = job.info.changed(session_id=await self._root_of(job.session_id))
            # The call is over, so nothing is shown there.
            around = partial(job.record_changes, context.watch)
            job.messages += await work(job, replace(context, around_commands=around, progress=_show_nothing))
        except asyncio.CancelledError:
            raise
        except OpencodeError as error:
            job.failure = error
        except Exception as error:
            logger.exception("background command %s failed", job.info.id)
            job.failure = error
        finally:
            job.recorded.set()
            if job.started.is_set():
                self._finish(job, "stopped", None)

    def warn(self, message: str) -> None:
        """Show a message about a command."""
        toast = {"title": "Background command", "message": message, "variant": "warning"}
        self._publish(ScreenToastShown.model_validate(toast))

    async def follow(self, job: BackgroundJob, command: Command, output: CommandOutput) -> Ended:
        """Run the command of a job to its end. Raises ToolError when it cannot be started."""
        try:
            async with RunningCommand(command, output) as running:
                ended = await running.wait(_START_S)
                job.running = running
                job.started.set()
                self._publish(BackgroundUpdated(info=job.info))
                while ended is None:
                    ended = await running.wait(_WAIT_S)
        except OSError as error:
            raise ToolError(describe_failed_start(command, error)) from error
        finally:
            job.running = None
        if ended.limit is not None:
            job.info = job.info.changed(limit=ended.limit)
        self._finish(job, "exited" if ended.reason == "exit" else "stopped", ended.exit_code)
        return ended

    async def _follow_call(self, job: BackgroundJob, context: ToolContext, task: asyncio.Task[ToolResult]) -> None:
        try:
            async with context.commands():
                job.running = _RunningCall(task)
                job.started.set()
                self._publish(BackgroundUpdated(info=job.info))
                await asyncio.wait({task})
                failure = None if task.cancelled() else task.exception()
                result = None if task.cancelled() or failure is not None else task.result()
                if result is not None:
                    job.attachments = result.attachments
                text = str(failure or "") if result is None else result.output or _list_kinds(result.attachments)
                await asyncio.to_thread(job.output.add_all, text)
                self._finish(job, "stopped" if task.cancelled() else "exited", None, failed=failure is not None)
        finally:
            job.running = None
            task.cancel()
            await run_to_completion(asyncio.wait({task}))

    def _finish(
        self, job: BackgroundJob, state: BackgroundState, exit_code: int | None, *, failed: bool = False
    ) -> None:
        """Mark a command as ended, once."""
        if not job.info.is_running:
            return
        changes = {} if exit_code is None else {"exit_code": exit_code}
        changes |= {"failed": True} if failed else {}
        job.info = self._shown(job).changed(state=state, ended=self._clock(), **changes)
        job.is_unreported = job.stopped_by not in ("model", "program")
        job.ended.set()
        self._publish(BackgroundUpdated(info=job.info))
        ended = [one.info.id for one in self._jobs.values() if one.task is not None and one.task.done()]
        for name in ended[:-KEPT_LIMIT]:
            del self._jobs[name]

    async def _stop(self, job: BackgroundJob, *, by: str) -> BackgroundCommand:
        if job.info.is_running and job.running is not None:
            job.stopped_by = by
            job.running.stop()
        await job.ended.wait()
        return self._shown(job)

    async def _wait(self, job: BackgroundJob, limit_s: float, words: str) -> None:
        deadline = asyncio.get_running_loop().time() + limit_s
        while not job.ended.is_set() and (left_s := deadline - asyncio.get_running_loop().time()) > 0:
            if words and words.casefold() in job.output.read(job.position)[0].casefold():
                return
            try:
                async with asyncio.timeout(min(left_s, 0.1) if words else left_s):
                    await job.ended.wait()
            except TimeoutError:
                continue

    def _visible(self) -> Iterator[BackgroundJob]:
        return (job for job in self._jobs.values() if job.started.is_set())

    def _job(self, wanted: str) -> BackgroundJob:
        job = self._jobs.get(wanted)
        if job is None or not job.started.is_set():
            known = ", ".join(one.info.id for one in self._visible()) or "none"
            raise NotFoundError(
                f"there is no background command {wanted!r} (known: {known}); they end with the program"
            )
        return job

    def _text(self, job: BackgroundJob, since: int) -> BackgroundText:
        text, skipped, position = job.output.read(since, is_final=not job.info.is_running)
        path = job.output.excerpt(is_final=False).path
        return BackgroundText(
            command=self._shown(job),
            text=text,
            position=position,
            skipped=skipped,
            path=None if path is None else str(path),
        )

    def _shown(self, job: BackgroundJob) -> BackgroundCommand:
        return job.info.changed(line=job.output.last_line)


def _show_nothing(_title: str | None, _metadata: dict[str, Any]) -> None:
    pass


def format_end(command: BackgroundCommand, *, by: str = "") -> str:
    """Return a line for the model about a command that has ended; `by` is who stopped it."""
    name = _name(command)
    if by == "user":
        return f"The user stopped the {name}."
    if command.limit is not None:
        return f"The {name} was {command.limit.words}; bash_output has its output."
    if command.tool is not None and command.state == "exited":
        return f"The {name} {'failed' if command.failed else 'has ended'}; bash_output has its result."
    if command.exit_code is None:
        return f"The {name} was ended."
    return f"The {name} ended with exit code {command.exit_code}; bash_output has its output."


def _name(command: BackgroundCommand) -> str:
    return f"{command.noun} {program_name(command)}"


def program_name(command: BackgroundCommand) -> str:
    """Return the ID of a command with the beginning of its words."""
    return f"{command.id} ({_short(command.command)})"


def _list_kinds(attachments: Sequence[JsonObject]) -> str:
    """Return a line about a result without a text, such as `(image/png)`."""
    return ", ".join(f"({one.get('mime')})" for one in attachments)


def _short(command: str) -> str:
    line = command.strip().split("\n")[0]
    return line if len(line) <= 60 else f"{line[:59]}…"
