"""What many processes do to one store at once, and what it must look like afterwards."""

import asyncio
import json
import os
import random
import time
from collections.abc import Callable

from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage

FENCE = ("session", "p", "ses_fence")
SHARED = ("part", "msg_shared", "prt_shared")
BODY = "x" * 9_000


def fork(work: Callable[[], object]) -> int:
    """Run `work` in a child and return its process id; the child ends with 0, or with 1 when `work` raises."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def wait_for(child: int) -> int:
    """Return the exit code of a child, negative for a signal."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


async def mixed_operations(paths: Paths, name: str, count: int) -> None:
    """Update, write, grow, read, list and remove on a shared store; leaves a report in `todo/{name}`."""
    storage, locks, rng = Storage(paths), Locks(paths), random.Random(name)
    longest = 0.0
    updates = 0
    for number in range(count):
        started = time.monotonic()
        match rng.choice(["update", "update", "shared", "read", "own", "grow", "list"]):
            case "update":
                await storage.update(FENCE, lambda record: _entered(record, name), locks.session_write("ses_fence"))
                updates += 1
            case "shared":
                await storage.write(SHARED, json.dumps({"by": name, "n": number, "body": BODY}).encode())
            case "read":
                shared = json.loads(await storage.read(SHARED))
                assert shared["body"] == BODY
            case "own":
                await storage.write(("todo", f"{name}_{number}"), b"[]")
                await storage.remove(("todo", f"{name}_{number}"))
            case "grow":
                storage.write_behind(("part", f"msg_{name}", "prt_1"), lambda: json.dumps(BODY).encode())
            case _:
                assert FENCE in await storage.list(("session",))
        longest = max(longest, time.monotonic() - started)
    await storage.write(("todo", name), json.dumps({"updates": updates, "longest_s": longest}).encode())
    await storage.close()


def run_processes(paths: Paths, *, processes: int, operations: int) -> dict[str, float]:
    """Let processes work on one store; return their exit codes, the updates lost and the longest wait in seconds."""
    asyncio.run(_prepare(paths))
    names = [f"worker{number}" for number in range(processes)]
    children = [fork(lambda name=name: asyncio.run(mixed_operations(paths, name, operations))) for name in names]
    failed = sum(1 for child in children if wait_for(child) != 0)
    storage = Storage(paths)
    fence = json.loads(storage.read_sync(FENCE))
    reports = {name: _report(storage, name) for name in names}
    lost = sum(abs(report["updates"] - fence["by"].get(name, 0)) for name, report in reports.items())
    lost += abs(fence["total"] - sum(report["updates"] for report in reports.values()))
    return {"failed": failed, "lost": lost, "longest_s": max(report["longest_s"] for report in reports.values())}


def _report(storage: Storage, name: str) -> dict[str, float]:
    try:
        return json.loads(storage.read_sync(("todo", name)))
    except NotFoundError:
        return {"updates": 0, "longest_s": 0.0}


def _entered(record: JsonObject, name: str) -> JsonObject:
    """Count an update: for all, and for the one who makes it."""
    return {"total": record["total"] + 1, "by": record["by"] | {name: record["by"].get(name, 0) + 1}}


async def _prepare(paths: Paths) -> None:
    storage = Storage(paths)
    await storage.write(FENCE, b'{"total":0,"by":{}}')
    await storage.write(SHARED, json.dumps({"by": "", "n": 0, "body": BODY}).encode())
    await storage.close()


async def acknowledge(paths: Paths, output: int) -> None:
    """Write and grow records without end; each acknowledged one is told on the descriptor `output`."""
    storage = Storage(paths)
    number = 0
    while True:
        key = ("message", "ses_kill", f"msg_{number % 40:02d}")
        await storage.write(key, json.dumps({"n": number, "body": BODY}).encode())
        os.write(output, number.to_bytes(8, "big"))
        storage.write_behind(("part", "msg_kill", "prt_1"), lambda: json.dumps({"body": BODY}).encode())
        number += 1


def kill_while_writing(paths: Paths, *, after_s: float) -> str | None:
    """Kill a writing process after some time; return what is wrong with the store then, None when nothing is."""
    reading, writing = os.pipe()
    child = fork(lambda: asyncio.run(acknowledge(paths, writing)))
    os.close(writing)
    time.sleep(after_s)
    os.kill(child, 9)
    wait_for(child)
    told = bytearray()
    while piece := os.read(reading, 65_536):
        told += piece
    os.close(reading)
    return _verify(paths, len(told) // 8 - 1)


def _verify(paths: Paths, acknowledged: int) -> str | None:
    storage = Storage(paths)
    found = -1
    for key in storage.list_sync(()):
        record = json.loads(storage.read_sync(key))
        if record["body"] != BODY:
            return f"{key} is torn"
        found = max(found, record.get("n", -1))
    return f"{acknowledged} was told, {found} is there" if found < acknowledged else None
