"""The journal of a revert in progress, next to the store: the next process that finds it rolls the revert back.

Written before the first change, removed after the last. It contains each path's state before (to restore it) and its target state
(to recognize the revert's own changes).
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from opencode_tui.engine.snapshot.entry import Entry
from opencode_tui.engine.snapshot.revert.plan import Plan, Step
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.undo import RevertReport
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.record_file import storage_error

_VERSION = 1


@dataclass(frozen=True, slots=True)
class RevertIntent:
    """A revert in progress: its steps, the states to return to, and the name of its temporary files.

    `key` is the name under which its report is stored when it is completed, empty without one.
    """

    temporary: str
    steps: tuple[Step, ...]
    folder_modes: dict[str, int] = field(default_factory=dict[str, int])
    made_folders: tuple[str, ...] = ()
    key: str = ""

    def reversed(self) -> Plan:
        """Return the plan that rolls the steps back."""
        steps = [Step(step.path, step.target, step.now) for step in self.steps]
        return Plan(steps=steps, folder_modes=self.folder_modes, removable=set(self.made_folders))


class Journal:
    """The journal file of a worktree, for at most one revert. Used under its lock; blocks."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()
        self._writer = AtomicWriter(self._files)

    def read(self) -> RevertIntent | None:
        """Return the unfinished revert, None without one; raises SnapshotError when it cannot be read."""
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        try:
            return _decode(json.loads(data))
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError(
                f"{self._path}: the journal of an unfinished revert is damaged; check your files, then remove it to go on"
            ) from error

    def begin(self, intent: RevertIntent) -> None:
        """Write the journal durably, before the first change; raises StorageError."""
        content = {
            "version": _VERSION,
            "temporary": intent.temporary,
            "steps": [
                {"path": step.path, "now": _plain(step.now), "target": _plain(step.target)} for step in intent.steps
            ],
            "folder_modes": intent.folder_modes,
            "made_folders": list(intent.made_folders),
            "key": intent.key,
        }
        try:
            self._writer.write(self._path, json.dumps(content).encode(), durable=True)
        except OSError as error:
            raise storage_error(error, "write", self._path) from error

    def end(self) -> None:
        """Remove the journal, after the revert was completed or rolled back; raises StorageError."""
        try:
            self._writer.remove(self._path)
            self._writer.sync()
        except OSError as error:
            raise storage_error(error, "remove", self._path) from error


def _plain(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else asdict(entry)


def _decode(content: dict[str, Any]) -> RevertIntent:
    if content["version"] != _VERSION:
        raise ValueError("another version")
    steps = tuple(Step(step["path"], _entry(step["now"]), _entry(step["target"])) for step in content["steps"])
    made = tuple(content["made_folders"])
    return RevertIntent(content["temporary"], steps, content["folder_modes"], made, content.get("key", ""))


def _entry(plain: dict[str, Any] | None) -> Entry | None:
    return None if plain is None else Entry(plain["kind"], plain["mode"], plain["id"])


class CompletedReverts:
    """The reports of reverts, by the keys that their callers chose (letters and digits)."""

    def __init__(self, folder: str, *, files: FileSystem | None = None) -> None:
        self._folder = folder
        self._files = files or FileSystem()
        self._writer = AtomicWriter(self._files)

    def keys(self) -> list[str]:
        """Return the keys of all stored reports; raises StorageError."""
        try:
            names = self._files.names(self._folder)
            return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(error, "read", self._folder) from error

    def has(self, key: str) -> bool:
        """Return whether a revert is completed."""
        return bool(key) and self._files.exists(self._path(key))

    def read(self, key: str) -> RevertReport | None:
        """Return the report of a revert, None when it was not completed; raises SnapshotError, StorageError."""
        path = self._path(key)
        try:
            data = self._files.read_whole(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "read", path) from error
        try:
            return RevertReport.model_validate(_renewed(json.loads(data)))
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError(
                f"{path}: the report of a completed undo is damaged; check your files, then remove it"
            ) from error

    def write(self, key: str, report: RevertReport) -> None:
        """Store the report of a completed revert durably; raises StorageError."""
        path = self._path(key)
        try:
            self._writer.write(path, report.to_json(), durable=True)
        except OSError as error:
            raise storage_error(error, "write", path) from error

    def delete(self, key: str) -> None:
        """Delete the report; raises StorageError."""
        path = self._path(key)
        try:
            self._writer.remove(path)
        except OSError as error:
            raise storage_error(error, "remove", path) from error

    def _path(self, key: str) -> str:
        if not key.isalnum():
            raise SnapshotError(f"{key!r} cannot name an undo; use letters and digits")
        return f"{self._folder}/{key}.json"


def _renewed(content: JsonObject) -> JsonObject:
    """Return a report in its present form; until version 0.2 it had another one, and one may wait for its session still."""
    if "conflicts" not in content:
        return content
    plain = {name: [{"path": path} for path in content[name]] for name in ("restored", "deleted")}
    return {**content, **plain, "kept": content["conflicts"]}
