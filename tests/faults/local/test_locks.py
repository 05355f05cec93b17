"""A lock whose holder is suspended: who it is and what helps is said, and what waits goes on when it ends or continues."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot import snapshot
from opencode_tui.schema.error import BusyError, LockTimeoutError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, find_paths
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.waiting import suspend

pytestmark = pytest.mark.slow


HOLDS = """
import os, sys, time
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
locks, name = Locks(find_paths(os.environ)), sys.argv[1]
held = {"run": locks.session_run, "write": locks.session_write, "worktree": locks.worktree}[sys.argv[2]](name)
while not held.try_acquire():  # the engine may still sum up its last turn
    time.sleep(0.01)
print("held", flush=True)
time.sleep(600)
"""


class Holder:
    """A process that holds a lock and is suspended. Made on a thread: an engine of the test may have to release the lock first."""

    def __init__(self, environ: dict[str, str], session: str, kind: str) -> None:
        words = [sys.executable, "-c", HOLDS, session, kind]
        variables = {**environ, "PYTHONPATH": os.getcwd()}
        self.process = subprocess.Popen(words, env=variables, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"held\n"
        suspend(self.process)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def holders() -> Iterator[list[Holder]]:
    """Those of the test, which are killed at its end."""
    made: list[Holder] = []
    yield made
    for holder in made:
        holder.end()


async def test_a_session_that_a_suspended_process_runs_is_refused_at_once_and_goes_on_after_it(
    folder: Path, environ: dict[str, str], holders: list[Holder]
) -> None:
    async with opened(environ, folder, Answer(text="Hello.")) as world:
        session = await world.new_session()
        holders.append(await asyncio.to_thread(Holder, environ, session.id, "run"))
        pid = holders[0].process.pid
        with pytest.raises(BusyError) as refused:
            await world.prompt("hello", session=session)
        assert f"process {pid}" in str(refused.value)
        assert f"which is suspended (`kill -CONT {pid}` continues it)" in str(refused.value)
        assert await world.client.prompts.status() == {}
        holders[0].end()
        await world.prompt("hello", session=session)
        assert await world.answer(session) == "Hello."


async def test_a_lock_of_a_record_is_waited_for_until_its_deadline(
    environ: dict[str, str], paths: Paths, holders: list[Holder]
) -> None:
    holders.append(await asyncio.to_thread(Holder, environ, "ses_1", "write"))
    lock, pid = Locks(paths).session_write("ses_1"), holders[0].process.pid
    with pytest.raises(LockTimeoutError) as late:
        await lock.acquire(50)
    assert f"process {pid}, which is suspended (`kill -CONT {pid}` continues it) for more than 50 ms" in str(late.value)
    holders[0].end()
    async with lock:
        pass


async def test_a_worktree_that_another_process_scans_for_ever_costs_the_call_its_undo_only(
    folder: Path, environ: dict[str, str], holders: list[Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LOCK_WAIT_MS", 100)
    made = Answer(calls=(Call("bash", {"command": "echo made >> made.txt", "description": "Make"}),))
    async with opened(environ, folder, made, Answer(text="Hello."), settings={"permission": "allow"}) as world:
        session = await world.prompt("make")
        [lock] = find_paths(environ).data.rglob("*.worktree*")
        name = lock.name.partition(".worktree")[0]
        holders.append(await asyncio.to_thread(Holder, environ, name, "worktree"))
        world.server.script(made, Answer(text="went on"))
        await world.prompt("make", session=session)
        call = (await world.calls(session))[-1]
        assert call.state.status == "completed"
        assert (folder / "made.txt").read_text() == "made\nmade\n"
        assert call.state.metadata["unprotected"]
        assert await world.answer(session) == "went on"
