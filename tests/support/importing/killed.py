"""Imports in a child process that are killed, and what the store holds afterwards."""

import json
import random
import subprocess
import time
from pathlib import Path

from opencode_tui.storage.paths import find_paths
from tests.support.world.cli import CommandLine, kill_session

WAIT_S = 60.0


def killed_import(line: CommandLine, source: Path, *, records: int, chance: random.Random) -> bool:
    """Start an import and kill it once it has written some of its `records`; return whether it was still running."""
    storage = find_paths(line.environ).storage
    wanted = _count(storage) + chance.randint(1, max(2, records // 8))
    process = line.start("import", "opencode", str(source), stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + WAIT_S
    while process.poll() is None and _count(storage) < wanted and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(chance.random() * 0.01)
    is_running = process.poll() is None
    kill_session(process)
    return is_running


def complaints(environ: dict[str, str], *, partial: bool) -> list[str]:
    """Return what is wrong in a store: damaged records, and sessions that are listed without all their messages and parts.

    With `partial` sessions may be missing.
    """
    storage = find_paths(environ).storage
    found: list[str] = []
    for path in storage.rglob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            found.append(f"{path} is not JSON")
    for path in storage.glob("session/*/*.json"):
        messages = list((storage / "message" / path.stem).glob("*.json"))
        parts = [part for message in messages for part in (storage / "part" / message.stem).glob("*.json")]
        if (len(messages), len(parts)) != (4, 10):
            found.append(f"{path.stem} has {len(messages)} messages and {len(parts)} parts")
    if not partial and not list(storage.glob("session/*/*.json")):
        found.append("no session")
    return found


def session_count(environ: dict[str, str]) -> int:
    """Return how many sessions are listed."""
    return len(list(find_paths(environ).storage.glob("session/*/*.json")))


def _count(storage: Path) -> int:
    """Return the number of messages' folders, which grows with the import."""
    try:
        return len(list((storage / "part").iterdir()))
    except FileNotFoundError:
        return 0
