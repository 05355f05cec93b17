"""Three things done to a store on a file system that fails, and whether old or new state is left."""

import asyncio
import errno
import json
from collections.abc import Awaitable, Callable

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import SHORT_WRITE, FaultyFiles

FAULTS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES, "short write": SHORT_WRITE}
KEPT, CHANGED, GROWN, NEW = ("todo", "kept"), ("session", "p", "s"), ("part", "m", "grown"), ("message", "s", "new")
_OLD = {KEPT: b"[1]", CHANGED: b'{"n":1}', GROWN: b'"old"'}

Act = Callable[[Storage, Locks], Awaitable[object]]


async def _write_new(storage: Storage, _: Locks) -> None:
    await storage.write(NEW, b'"new"', durable=True)


async def _update(storage: Storage, locks: Locks) -> None:
    await storage.update(CHANGED, lambda record: {"n": record["n"] + 1}, locks.session_write("s"))
    await storage.sync()


async def _grow_and_remove(storage: Storage, _: Locks) -> None:
    storage.write_behind(GROWN, lambda: b'"grown"')
    await storage.flush()
    await storage.remove(GROWN)


SCENARIOS: dict[str, tuple[Act, list[dict[tuple[str, ...], bytes]]]] = {
    "write new": (_write_new, [_OLD, _OLD | {NEW: b'"new"'}]),
    "update": (_update, [_OLD, _OLD | {CHANGED: b'{"n":2}'}]),
    "grow, flush, remove": (
        _grow_and_remove,
        [_OLD, _OLD | {GROWN: b'"grown"'}, {key: data for key, data in _OLD.items() if key != GROWN}],
    ),
}
"""What is done, and the states that may be left."""


def count_calls(paths: Paths, scenario: str) -> int:
    """Return the number of file calls of a scenario without faults."""
    return _run(paths, scenario, FaultyFiles())[1]


def complaint(paths: Paths, scenario: str, *, at: int, fault: str, lasting: bool = False) -> str | None:
    """Run a scenario whose call number `at` fails; return what is wrong with the outcome, None when all is well."""
    error, _ = _run(paths, scenario, FaultyFiles(at=at, error=FAULTS[fault], lasting=lasting))
    storage = Storage(paths)
    state = {key: _compact(storage.read_sync(key)) for key in storage.list_sync(())}
    if state not in SCENARIOS[scenario][1]:
        return f"the state is {state}"
    if error is None and state != SCENARIOS[scenario][1][-1]:
        return "nothing was said and it is not done"
    if error is not None and (not str(error).startswith("cannot ") or "\n" in str(error)):
        return f"the error says {error}"
    left = list(paths.data.rglob("*.tmp"))
    for path in left:
        path.unlink()
    if left and not lasting:
        return f"temporary files stay: {left}"
    asyncio.run(_works_again(paths))
    return None


def _compact(data: bytes) -> bytes:
    return json.dumps(json.loads(data), separators=(",", ":")).encode()


def _run(paths: Paths, scenario: str, files: FaultyFiles) -> tuple[StorageError | None, int]:
    act = SCENARIOS[scenario][0]

    async def body() -> StorageError | None:
        healthy = Storage(paths)
        await healthy.remove_tree(("message",))
        for key, data in _OLD.items():
            await healthy.write(key, data)
        await healthy.close()
        storage = Storage(paths, files=files)
        try:
            await act(storage, Locks(paths))
        except StorageError as error:
            return error
        finally:
            files.heal()
            storage_calls.append(files.calls)
            await storage.close()
        return None

    storage_calls: list[int] = []
    return asyncio.run(body()), storage_calls[0]


async def _works_again(paths: Paths) -> None:
    """Raise when the store does not take a write after the fault has gone."""
    storage = Storage(paths)
    await storage.write(KEPT, b"[1]")
    await storage.close()
