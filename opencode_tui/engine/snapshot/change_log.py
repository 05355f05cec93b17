"""The log of changes to a worktree, to which the file tools and shells of all sessions, in all processes, append.

Each JSON line is the beginning or end of a write (of a file tool, or an undo), of a shell command, or of a step with commands, a
list of contested paths, or the background commands that ran while others did. Unreadable lines are skipped.

The order of the lines is the order of what they record. Each has a number, one more than the line before it, that is given under
the log's own lock, which is held for one append or one trim and nothing else. What came first is decided by numbers alone; the
times in ms are the age of a line. A beginning names its process by id and start time; `close_left` records the end of those whose
process has ended.
"""

import json
import math
import os
import secrets
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from opencode_tui.engine.snapshot.entry import Entry, State
from opencode_tui.storage.files import AtomicWriter, FileSystem, append_line
from opencode_tui.storage.process_identity import ProcessIdentity, current_process, is_alive
from opencode_tui.storage.process_lock import ProcessLock
from opencode_tui.storage.record_file import storage_error

_TRIM_BYTES = 512 * 1024
_DAY_MS = 24 * 60 * 60 * 1000

_open_here: set[str] = set()
"""The keys of the shells and writes that this process has begun and not ended: of these it need not ask the log."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolWrite:
    """A change of a path by a session's file tool, or an undo: ids of the contents, "" for none or one that was not recorded.

    `ended` is the number of the line that says that it is done, None before that.
    """

    session: str
    path: str
    before: str
    after: str
    ended: int | None


@dataclass(frozen=True, slots=True)
class ShellRun:
    """A shell command of a session, by the numbers of its lines; `ended` None while it runs."""

    session: str
    begun: int
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A session's step whose commands run: the snapshot before, and the number of the line that says so."""

    session: str
    before: str
    begun: int


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """The parsed content of the log; `last` is the number of its last line, 0 for an empty one."""

    writes: list[ToolWrite] = field(default_factory=list[ToolWrite])
    shells: list[ShellRun] = field(default_factory=list[ShellRun])
    contested: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Paths that another session may have changed, by the id of the snapshot after the change."""
    steps: dict[str, OpenStep] = field(default_factory=dict[str, OpenStep])
    """Steps, by their messages, whose commands run, or ran when their process was killed."""
    beside: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Background commands that ran while a step's commands did, by the id of the snapshot after the step."""
    last: int = 0

    def written_since(self, number: int, *, but: str | None = None) -> set[str]:
        """Return the paths that were written at any moment after a line, by all sessions or all but one."""
        return {one.path for one in self.writes if one.session != but and (one.ended is None or one.ended > number)}

    def may_have_other_shell(self, session: str, *, since: int) -> bool:
        """Return whether a shell of another session may have run at any moment after a line; True where lines are lost."""
        if self.last < since:
            return True
        return any(run.session != session and (run.ended is None or run.ended > since) for run in self.shells)


class ChangeLog:
    """The change log of one worktree; every method blocks, and raises StorageError."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()
        self._lock = ProcessLock(f"{path}.lock")
        self._unwritten: list[Line] = []
        self._trimmed_bytes = 0

    def begin_write(self, session: str, changes: Mapping[str, tuple[State, State]], *, time: int) -> str:
        """Record that a session is about to change these paths, and return the key for `end_write`."""
        paths = {path: [_content(state) for state in change] for path, change in changes.items()}
        return self._begin("write", {"session": session, "paths": paths, "time": time})

    def end_write(self, key: str, *, done: bool, time: int, paths: Iterable[str] | None = None) -> None:
        """Record that a write is done, of all its paths or of these only, or that it will not happen."""
        only = {} if paths is None else {"only": sorted(paths)}
        self._end(key, {"written": key, "done": done, "time": time, **only})

    def begin_step(self, message: str, before: str, *, session: str, time: int) -> None:
        """Record that commands of a message's step start, and the snapshot before them."""
        self._append({"step": message, "before": before, "session": session, "time": time})

    def end_step(self, message: str, *, time: int) -> None:
        """Record that the changes of a step's commands are stored."""
        self._append({"step": message, "time": time})

    def begin_shell(self, session: str, *, time: int) -> str:
        """Record that a shell starts and return the key for `end_shell`."""
        return self._begin("shell", {"session": session, "started": time})

    def end_shell(self, key: str, *, time: int) -> None:
        """Record that a shell has ended."""
        self._end(key, {"shell": key, "ended": time})

    def mark_contested(self, after: str, paths: Iterable[str], *, time: int) -> None:
        """Record that another session may have made these changes, up to a snapshot, too."""
        self._append({"contested": after, "paths": sorted(paths), "time": time})

    def record_beside(self, after: str, names: Iterable[str], *, time: int) -> None:
        """Record which background commands ran while a step's commands did, up to a snapshot."""
        self._append({"beside": after, "names": sorted(names), "time": time})

    def read(self) -> ChangeHistory:
        """Return the parsed log."""
        return _parsed(self._lines()).finish()

    def position(self) -> int:
        """Return the number of the last line: what is appended from now on comes after it."""
        return _last_number(self._read())

    def close_left(self, *, now: int) -> None:
        """Record the end of the shells and writes whose process ended without recording it."""
        parsing = _parsed(self._lines())
        for line in parsing.open_lines:
            if not _is_running(line, now):
                ended = {"shell": line["shell"], "ended": now} if "shell" in line else _written(line, now)
                self._append(ended)

    def trim(self, *, now: int) -> None:
        """Drop lines older than a day from a large log: they matter only while a command runs."""
        size = max(_TRIM_BYTES, 2 * self._trimmed_bytes)
        try:
            is_large = self._files.exists(self._path) and os.path.getsize(self._path) > size
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        if is_large:
            self._keep(
                lambda line: "contested" in line or "beside" in line or _newest(line) >= now - _DAY_MS,
                open_kinds=("shell", "write", "step"),
            )
            self._trimmed_bytes = len(self._read())

    def expire(self, *, before: int, kept: Container[str] = ()) -> None:
        """Drop lines older than a time, except what is known of the snapshots `kept`."""
        self._keep(
            lambda line: str(line.get("contested") or line.get("beside")) in kept or _newest(line) >= before,
            open_kinds=("shell", "write"),
        )

    def _keep(self, is_kept: Callable[[Line], bool], *, open_kinds: Collection[str]) -> None:
        """Drop all other lines, but those of these kinds that say what is open, what came after an open shell, and the last one.

        A beginning stays with its end.
        """
        with self._lock:
            lines = self._lines()
            left = [line for line in _parsed(lines).open_lines if any(kind in line for kind in open_kinds)]
            oldest = min((_number(line) for line in left if "shell" in line), default=math.inf)
            names = {_name_of(line) for line in left}
            names |= {_name_of(line) for line in lines if is_kept(line) or _number(line) >= oldest}
            kept = [line for line in lines if _name_of(line) in names or line is lines[-1]]
            if len(kept) == len(lines):
                return
            content = "".join(json.dumps(line) + "\n" for line in kept)
            try:
                AtomicWriter(self._files).write(self._path, content.encode())
            except OSError as error:
                raise storage_error(error, "write", self._path) from error

    def _begin(self, kind: str, line: Mapping[str, object]) -> str:
        key, process = secrets.token_hex(8), current_process()
        _open_here.add(key)
        try:
            self._append(
                {kind: key, **line, "process": process.pid, "processStarted": process.started, "host": process.host}
            )
        except BaseException:
            _open_here.discard(key)
            raise
        return key

    def _end(self, key: str, line: Line) -> None:
        """Append an end; one that cannot be written now is written with the next line of this process."""
        _open_here.discard(key)
        try:
            self._append(line)
        except BaseException:
            self._unwritten.append(line)
            raise

    def _append(self, line: Mapping[str, object]) -> None:
        with self._lock:
            number = _last_number(self._read())
            pending = [*self._unwritten, line]
            text = "".join(json.dumps({**one, "n": number + at}) + "\n" for at, one in enumerate(pending, start=1))
            try:
                append_line(self._files, self._path, text.encode())
            except OSError as error:
                raise storage_error(error, "write", self._path) from error
            self._unwritten = self._unwritten[len(pending) - 1 :]

    def _read(self) -> bytes:
        try:
            return self._files.read_whole(self._path)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise storage_error(error, "read", self._path) from error

    def _lines(self) -> list[Line]:
        """Return the readable lines, each with its number.

        A line of a version without numbers gets that of the next line; 0 before the first line that has one.
        """
        found: list[Line] = []
        last = 0
        for data in self._read().split(b"\n"):
            line = _line_of(data)
            if line is not None and isinstance(line.get("n"), int):
                last = _number(line)
                found.append(line)
            elif line is not None:
                found.append({**line, "n": last and last + 1})
        return found


class _LogParser:
    """Parses the lines into a history."""

    def __init__(self) -> None:
        self._history = ChangeHistory()
        self._writes: dict[str, Line] = {}
        self._shells: dict[str, Line] = {}
        self._steps: dict[str, Line] = {}
        self._last = 0

    @property
    def open_lines(self) -> list[Line]:
        """The beginnings without an end, of shells, writes and steps."""
        return [*self._shells.values(), *self._writes.values(), *self._steps.values()]

    def apply(self, line: Line) -> None:
        """Parse the next line; raises KeyError, TypeError, ValueError when it is incomplete."""
        self._last = max(self._last, _number(line))
        match line:
            case {"contested": after, "paths": paths}:
                self._history.contested.setdefault(str(after), set()).update(paths)
            case {"beside": after, "names": names}:
                self._history.beside[str(after)] = [str(name) for name in names]
            case {"step": message, "before": before}:
                step = OpenStep(str(line["session"]), str(before), _number(line))
                self._history.steps.setdefault(str(message), step)
                self._steps.setdefault(str(message), line)
            case {"step": message}:
                self._history.steps.pop(str(message), None)
                self._steps.pop(str(message), None)
            case {"shell": key, "started": _}:
                self._shells[str(key)] = line
            case {"shell": key, "ended": _}:
                begun = self._shells.pop(str(key), None)
                if begun is not None:
                    self._end_shell(begun, _number(line))
            case {"write": key, "paths": _}:
                self._writes[str(key)] = line
            case {"written": key, "done": done}:
                begun = self._writes.pop(str(key), None)
                if begun is not None and done:
                    self._claim(begun, _number(line), only=line.get("only"))
            case _:  # an unknown kind of line, or a damaged one
                return

    def finish(self) -> ChangeHistory:
        """Return the history."""
        for line in self._writes.values():
            self._claim(line, None)
        for line in self._shells.values():
            self._end_shell(line, None)
        return replace(self._history, last=self._last)

    def _claim(self, line: Line, ended: int | None, *, only: Container[str] | None = None) -> None:
        for path, (before, after) in line["paths"].items():
            if only is not None and path not in only:
                continue
            self._history.writes.append(ToolWrite(str(line["session"]), path, before, after, ended))

    def _end_shell(self, line: Line, ended: int | None) -> None:
        self._history.shells.append(ShellRun(str(line["session"]), _number(line), ended))


def _parsed(lines: Sequence[Line]) -> _LogParser:
    parsing = _LogParser()
    for line in lines:
        try:
            parsing.apply(line)
        except (KeyError, TypeError, ValueError):  # damaged, like a line that is not JSON
            continue
    return parsing


def _name_of(line: Line) -> tuple[str, str]:
    """Return what the beginning and the end of something have in common, for any other line what it is about."""
    for kind, name in (("shell", "shell"), ("write", "write"), ("written", "write"), ("step", "step")):
        if kind in line:
            return name, str(line[kind])
    return "snapshot", str(line.get("contested") or line.get("beside"))


def _content(state: State) -> str:
    return state.id if isinstance(state, Entry) else ""


def _written(line: Line, now: int) -> Line:
    """Return the end of a write whose process ended before it could say whether it was done: it may be."""
    return {"written": line["write"], "done": True, "time": now}


def _line_of(data: bytes) -> Line | None:
    try:
        content: object = json.loads(data)
    except ValueError:  # damaged, or the end of an unfinished write
        return None
    return cast("Line", content) if isinstance(content, dict) else None


def _last_number(data: bytes) -> int:
    """Return the number of the last line that has one, 0 without any."""
    for one in reversed(data.split(b"\n")):
        line = _line_of(one) if b'"n"' in one else None
        if line is not None and isinstance(line.get("n"), int):
            return _number(line)
    return 0


def _number(line: Line) -> int:
    number = line.get("n")
    return number if isinstance(number, int) else 0


def _newest(line: Line) -> int:
    times = (line.get(name) for name in ("time", "started", "ended"))
    return max((time for time in times if isinstance(time, int)), default=0)


def _is_running(line: Line, now: int) -> bool:
    """Return whether what a line says has begun may still run; steps count as running until their session's next run.

    A line of a version that recorded no start time of its process has ended. What a process of another host does cannot be
    known; it counts as running for a day.
    """
    if "step" in line:
        return True
    pid, started, host = line.get("process"), line.get("processStarted"), line.get("host")
    if not (isinstance(pid, int) and isinstance(started, str) and isinstance(host, str)):
        return False
    process, here = ProcessIdentity(pid, started, host), current_process()
    if process == here:
        return (line.get("shell") or line.get("write")) in _open_here
    if host != here.host and _newest(line) < now - _DAY_MS:
        return False
    return pid > 0 and is_alive(process)
