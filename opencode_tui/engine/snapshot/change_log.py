"""The log of changes to a worktree, to which the file tools and shells of all sessions, in all processes, append.

Each JSON line is the beginning or end of a write (of a file tool, or an undo), of a shell command, or of a step with commands, a
list of contested paths, or the background commands that ran while others did.
Unreadable lines are skipped. Times in ms. A line is appended by one write, so that it needs no lock.
"""

import json
import os
import secrets
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.snapshot.entry import Entry, State
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.record_file import storage_error

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_WRITE_LASTS_MS = 60_000
"""How long a write without a recorded end (its process was killed) counts as in progress."""
_TRIM_BYTES = 512 * 1024
_TRIM_AGE_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class ToolWrite:
    """A change of a path by a session's file tool, or an undo: ids of the contents, "" for none or one that was not recorded."""

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
class OpenStep:
    """A session's step whose commands run: the snapshot before, and when it was made."""

    session: str
    before: str
    started: int


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """The parsed content of the log."""

    writes: list[ToolWrite] = field(default_factory=list[ToolWrite])
    shells: list[ShellRun] = field(default_factory=list[ShellRun])
    contested: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Paths that another session may have changed, by the id of the snapshot after the change."""
    steps: dict[str, OpenStep] = field(default_factory=dict[str, OpenStep])
    """Steps, by their messages, whose commands run, or ran when their process was killed."""
    beside: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Background commands that ran while a step's commands did, by the id of the snapshot after the step."""

    def has_other_shell(self, session: str, *, since: int) -> bool:
        """Return whether a shell of another session ran at any moment since a time."""
        return any(run.session != session and (run.ended is None or run.ended >= since) for run in self.shells)


class ChangeLog:
    """The change log of one worktree; every method blocks."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()

    def begin_write(self, session: str, changes: Mapping[str, tuple[State, State]], *, time: int) -> str:
        """Record that a session is about to change these paths, and return the key for `end_write`; raises StorageError."""
        key = secrets.token_hex(8)
        paths = {path: [_content(state) for state in change] for path, change in changes.items()}
        self._append({"write": key, "session": session, "paths": paths, "time": time})
        return key

    def end_write(self, key: str, *, done: bool, time: int, paths: Iterable[str] | None = None) -> None:
        """Record that a write is done, of all its paths or of these only, or that it will not happen; raises StorageError."""
        only = {} if paths is None else {"only": sorted(paths)}
        self._append({"written": key, "done": done, "time": time, **only})

    def begin_step(self, message: str, before: str, *, session: str, time: int) -> None:
        """Record that commands of a message's step start, and the snapshot before them; raises StorageError."""
        self._append({"step": message, "before": before, "session": session, "time": time})

    def end_step(self, message: str, *, time: int) -> None:
        """Record that the changes of a step's commands are stored; raises StorageError."""
        self._append({"step": message, "time": time})

    def begin_shell(self, session: str, *, time: int) -> str:
        """Record that a shell starts and return the key for `end_shell`; raises StorageError."""
        key = secrets.token_hex(8)
        self._append({"shell": key, "session": session, "started": time, "process": os.getpid()})
        return key

    def end_shell(self, key: str, *, time: int) -> None:
        """Record that a shell has ended; raises StorageError."""
        self._append({"shell": key, "ended": time})

    def mark_contested(self, after: str, paths: Iterable[str], *, time: int) -> None:
        """Record that another session may have made these changes, up to a snapshot, too; raises StorageError."""
        self._append({"contested": after, "paths": sorted(paths), "time": time})

    def record_beside(self, after: str, names: Iterable[str], *, time: int) -> None:
        """Record which background commands ran while a step's commands did, up to a snapshot; raises StorageError."""
        self._append({"beside": after, "names": sorted(names), "time": time})

    def read(self) -> ChangeHistory:
        """Return the parsed log; raises StorageError. A shell whose process was killed counts as ended at its start."""
        reading = _LogParser()
        for line in self._lines():
            try:
                reading.apply(line)
            except (KeyError, TypeError, ValueError):  # damaged, like a line that is not JSON
                continue
        return reading.finish()

    def trim(self, *, now: int) -> None:
        """Delete old lines from a large log: they matter only while a command runs. Needs the worktree's lock."""
        try:
            is_large = self._files.exists(self._path) and os.path.getsize(self._path) > _TRIM_BYTES
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        if is_large:
            self._keep(
                lambda line: (
                    "contested" in line or "beside" in line or max(_times(line), default=0) >= now - _TRIM_AGE_MS
                )
            )

    def expire(self, *, before: int, kept: Container[str] = ()) -> None:
        """Delete lines older than a time, except what is known of the snapshots `kept`. Needs the worktree's lock.

        Raises StorageError.
        """
        self._keep(
            lambda line: (
                str(line.get("contested") or line.get("beside")) in kept or max(_times(line), default=0) >= before
            )
        )

    def _keep(self, is_kept: Callable[[dict[str, Any]], bool]) -> None:
        kept = [line for line in self._lines() if is_kept(line)]
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


class _LogParser:
    """Parses the lines into a history."""

    def __init__(self) -> None:
        self._history = ChangeHistory()
        self._writes: dict[str, dict[str, Any]] = {}
        self._shells: dict[str, dict[str, Any]] = {}

    def apply(self, line: dict[str, Any]) -> None:
        """Parse the next line; raises KeyError, TypeError, ValueError when it is incomplete."""
        match line:
            case {"contested": after, "paths": paths}:
                self._history.contested.setdefault(str(after), set()).update(paths)
            case {"beside": after, "names": names}:
                self._history.beside[str(after)] = [str(name) for name in names]
            case {"step": message, "before": before}:
                step = OpenStep(str(line["session"]), str(before), int(line["time"]))
                self._history.steps.setdefault(str(message), step)
            case {"step": message}:
                self._history.steps.pop(str(message), None)
            case {"shell": key, "started": _}:
                self._shells[str(key)] = line
            case {"shell": key, "ended": ended}:
                begun = self._shells.pop(str(key), None)
                if begun is not None:
                    self._end_shell(begun, int(ended))
            case {"write": key, "paths": _}:
                self._writes[str(key)] = line
            case {"written": key, "done": done}:
                begun = self._writes.pop(str(key), None)
                if begun is not None and done:
                    self._claim(begun, int(line["time"]), only=line.get("only"))
            case _:  # an unknown kind of line, or a damaged one
                return

    def finish(self) -> ChangeHistory:
        """Return the history; an entry without an end gets one by its process and its time."""
        for line in self._writes.values():
            self._claim(line, int(line["time"]) + _WRITE_LASTS_MS)
        for line in self._shells.values():
            self._end_shell(line, None if _is_alive(line.get("process")) else int(line["started"]))
        return self._history

    def _claim(self, line: dict[str, Any], time: int, *, only: Container[str] | None = None) -> None:
        for path, (before, after) in line["paths"].items():
            if only is not None and path not in only:
                continue
            self._history.writes.append(ToolWrite(str(line["session"]), path, before, after, time))

    def _end_shell(self, line: dict[str, Any], ended: int | None) -> None:
        self._history.shells.append(ShellRun(str(line["session"]), int(line["started"]), ended))


def _content(state: State) -> str:
    return state.id if isinstance(state, Entry) else ""


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
