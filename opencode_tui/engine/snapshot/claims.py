"""Who changed what in a worktree: a journal that the file tools and shells of all sessions, in all processes, append to.

A line a claim, or the beginning or end of a shell command. A line that cannot be read is passed by. Times in ms.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.snapshot.entry import Entry, State
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.record_file import storage_error

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True, slots=True)
class Claim:
    """A session's file tool gave a path another state: ids of contents, "" for none or one that was not recorded."""

    session: str
    path: str
    before: str
    after: str
    time: int


@dataclass(frozen=True, slots=True)
class ShellRun:
    """A shell command of a session; `ended` None while it runs."""

    session: str
    started: int
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the journal says."""

    claims: list[Claim] = field(default_factory=list[Claim])
    shells: list[ShellRun] = field(default_factory=list[ShellRun])
    contested: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Paths that may be somebody else's change, by the id of the snapshot after it."""

    def claimed_by_others(self, session: str, *, since: int) -> set[str]:
        """Return the paths that other sessions' file tools changed since a time, and this session's did not."""
        recent = [claim for claim in self.claims if claim.time >= since]
        own = {claim.path for claim in recent if claim.session == session}
        return {claim.path for claim in recent if claim.session != session} - own

    def claimed_by(self, session: str, *, since: int) -> set[str]:
        """Return the paths that a session's file tools changed since a time."""
        return {claim.path for claim in self.claims if claim.session == session and claim.time >= since}

    def has_other_shell(self, session: str, *, since: int) -> bool:
        """Tell whether a shell of another session ran at any moment since a time."""
        return any(run.session != session and (run.ended is None or run.ended >= since) for run in self.shells)


class Claims:
    """The journal of one worktree; blocks."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()

    def add(self, session: str, path: str, *, change: tuple[State, State], time: int) -> None:
        """Note that a session changed a path from one state to another; raises StorageError."""
        before, after = (state.id if isinstance(state, Entry) else "" for state in change)
        self._append({"session": session, "path": path, "before": before, "after": after, "time": time})

    def begin_shell(self, session: str, *, time: int) -> str:
        """Note that a shell begins and return the key for its end; raises StorageError."""
        key = secrets.token_hex(8)
        self._append({"shell": key, "session": session, "started": time, "process": os.getpid()})
        return key

    def end_shell(self, key: str, *, time: int) -> None:
        """Note that a shell has ended; raises StorageError."""
        self._append({"shell": key, "ended": time})

    def contest(self, after: str, paths: Iterable[str], *, time: int) -> None:
        """Note that these changes, up to a snapshot, may be somebody else's as well; raises StorageError."""
        self._append({"contested": after, "paths": sorted(paths), "time": time})

    def read(self) -> Ledger:
        """Return what was noted; raises StorageError. A shell whose process died counts as ended when it began."""
        ledger = Ledger()
        running: dict[str, dict[str, Any]] = {}
        for line in self._lines():
            if line.get("contested") is not None:
                ledger.contested.setdefault(str(line["contested"]), set()).update(line.get("paths", ()))
            elif line.get("shell") is None:
                _take_claim(ledger, line)
            elif line.get("started") is not None:
                running[str(line["shell"])] = line
            elif (begun := running.pop(str(line["shell"]), None)) is not None:
                ledger.shells.append(ShellRun(str(begun["session"]), int(begun["started"]), int(line["ended"])))
        for line in running.values():
            ended = None if _is_alive(line.get("process")) else int(line["started"])
            ledger.shells.append(ShellRun(str(line["session"]), int(line["started"]), ended))
        return ledger

    def forget(self, *, before: int) -> None:
        """Drop what is older than a time; raises StorageError. Needs the worktree's lock."""
        kept = [line for line in self._lines() if max(_times(line), default=0) >= before]
        content = "".join(json.dumps(line) + "\n" for line in kept)
        try:
            if self._files.exists(self._path):
                AtomicWriter(self._files).write(self._path, content.encode())
        except OSError as error:
            raise storage_error(error, "write", self._path) from error

    def _append(self, line: Mapping[str, object]) -> None:
        data = memoryview((json.dumps(line) + "\n").encode())
        try:
            descriptor = self._files.open(self._path, _APPEND)
            try:
                while data:
                    data = data[self._files.write(descriptor, data) :]
            finally:
                self._files.close(descriptor)
        except OSError as error:
            raise storage_error(error, "write", self._path) from error

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        for line in data.split(b"\n"):
            try:
                content: object = json.loads(line)
            except ValueError:  # damaged, or the end of an unfinished write
                continue
            if isinstance(content, dict):
                yield content


def _take_claim(ledger: Ledger, line: dict[str, Any]) -> None:
    try:
        claim = Claim(line["session"], line["path"], line["before"], line["after"], int(line["time"]))
    except (KeyError, TypeError, ValueError):  # damaged, like a line that is no JSON
        return
    ledger.claims.append(claim)


def _times(line: dict[str, Any]) -> list[int]:
    return [int(line[name]) for name in ("time", "started", "ended") if isinstance(line.get(name), int)]


def _is_alive(process: object) -> bool:
    if not isinstance(process, int) or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
