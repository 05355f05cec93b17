"""Workers on this machine: a child process for each task.

The parent writes the order as one line to the child's standard input and keeps that open: its end, also by the death of the parent,
ends the child with its commands. The child writes lines of JSON: `{"cost": USD}` while the task runs, its result last.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from opencode_tui.batch.pool import OnCost
from opencode_tui.batch.task import TaskOrder, TaskResult, failed_result
from opencode_tui.cancellation import run_to_completion
from opencode_tui.client.task_repository import remove_leftovers
from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject, ValidationError

TASK_COMMAND = python_command("-m", "opencode_tui", "batch", "task")
"""The command that runs one task."""

END_S = 0.7
"""Seconds that an interrupted child has to end in order; then its process group is killed."""

_CHUNK = 1 << 16
_ERROR_BYTES = 2_000


class LocalWorkers:
    """Runs each task in a child process on this machine."""

    def __init__(self, environ: Mapping[str, str], *, jobs: int, command: Sequence[str] = TASK_COMMAND) -> None:
        self._environ = environ
        self._jobs = jobs
        self._command = command

    async def run(self, order: TaskOrder, on_cost: OnCost | None = None) -> TaskResult:
        """Run one task in a child process."""
        return await run_in_child(order, self._environ, on_cost, command=self._command)

    async def close(self) -> None:
        """Do nothing: every child ends with its `run`."""

    def describe(self) -> str:
        """Return one line for the terminal."""
        return f"{self._jobs} at once on this machine" if self._jobs > 1 else "one after the other on this machine"


async def run_in_child(
    order: TaskOrder,
    environ: Mapping[str, str],
    on_cost: OnCost | None = None,
    *,
    command: Sequence[str] = TASK_COMMAND,
) -> TaskResult:
    """Run a task in a child process with a process group of its own; return its result, a failed one when the child dies.

    Canceling ends the child within a second, and removes what it leaves.
    """
    begin = time.monotonic()
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=python_environ(environ),
        start_new_session=True,
    )
    errors = asyncio.create_task(_read_end(child))
    is_ended = False
    try:
        result = await _converse(child, order, on_cost)
        await child.wait()
        is_ended = result is not None
    finally:
        if not is_ended:
            await run_to_completion(_end(child, environ))
        await asyncio.wait({errors}, timeout=END_S)
        errors.cancel()
    if result is not None:
        return result.changed(seconds=round(time.monotonic() - begin, 3))
    return failed_result(order, _why(child, errors), seconds=time.monotonic() - begin)


async def _converse(child: asyncio.subprocess.Process, order: TaskOrder, on_cost: OnCost | None) -> TaskResult | None:
    """Write the order and read lines until the result or the end."""
    assert child.stdin is not None
    with suppress(ConnectionError):  # it has ended already
        child.stdin.write(msgspec.json.encode(order.to_dict()) + b"\n")
        await child.stdin.drain()
    async for line in _lines(child):
        with suppress(ValueError, ValidationError):
            value: JsonObject = msgspec.convert(load_json(line), type=JsonObject)
            if "status" in value:
                child.stdin.close()
                return TaskResult.model_validate(value)
            if on_cost is not None:
                on_cost(float(value.get("cost", 0)))
    return None


async def _lines(child: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    """Yield the whole lines of the child's output, of any length."""
    assert child.stdout is not None
    pieces: list[bytes] = []
    while chunk := await child.stdout.read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*pieces, line])
            pieces.clear()
        pieces.append(rest)


async def _read_end(child: asyncio.subprocess.Process) -> str:
    """Return the last line that the child writes to standard error."""
    assert child.stderr is not None
    end = b""
    while chunk := await child.stderr.read(_CHUNK):
        end = (end + chunk)[-_ERROR_BYTES:]
    lines = end.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("opencode-tui: ") if lines else ""


async def _end(child: asyncio.subprocess.Process, environ: Mapping[str, str]) -> None:
    """End a child in order by closing its input, else by force; remove the worktree that a killed one left."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await child.wait()
    except TimeoutError:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    await remove_leftovers(environ)


def _why(child: asyncio.subprocess.Process, errors: "asyncio.Task[str]") -> str:
    """Return why a child ended without a result."""
    code = child.returncode or 0
    said = errors.result() if errors.done() and not errors.cancelled() else ""
    if code < 0:
        name = signal.Signals(-code).name if -code in {*signal.Signals} else str(-code)
        return f"the process of the task was killed ({name}); its session has what it did until then"
    return said or f"the process of the task exited with {code} and without a result"
