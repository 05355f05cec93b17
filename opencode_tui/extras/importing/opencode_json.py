"""Reads the store of OpenCode up to 1.1.65: a folder of JSON records, which has our own layout.

Older layouts are brought up to date in a temporary folder by our own migrations; the store itself is never changed. Sharing
secrets, permissions and credentials are not read.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from opencode_tui.extras.importing.opencode import found_session, parents_first, read_items, snapshot_stores
from opencode_tui.extras.importing.source import FoundSession, ImportedSession, Problem, Problems, check_message
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.ids import moment, spans_wrap
from opencode_tui.schema.json_text import JsonError, decode_foreign
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo, Todo
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key, record_path
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.migrations import MIGRATIONS, ListRootCommits, Migrations
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader
from opencode_tui.storage.session_record import parse_session


class OpenCodeJson:
    """The JSON store in a data folder of OpenCode (the one that holds `storage`)."""

    tool: Literal["opencode"] = "opencode"

    def __init__(self, data: Path, *, list_root_commits: ListRootCommits) -> None:
        self.problems: Problems = []
        self.label = "OpenCode"
        self._data = data
        self._list_root_commits = list_root_commits
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    @property
    def path(self) -> Path:
        """The folder of the records."""
        return self._data / "storage"

    def list(self) -> Iterator[FoundSession]:
        """Yield the sessions, a parent before its children; sets the version in `label`."""
        found: dict[str, FoundSession] = {}
        for store in self._stores:
            for key in store.reader.list(("session",)):
                if len(key) != 3 or key[-1] in found:
                    continue
                try:
                    info = self._session(store, key)
                except StorageError as error:
                    self.problems.append(Problem(str(self.path), "/".join(key), describe(error)))
                else:
                    found[info.id] = found_session(info, store.path(key))
        newest = max(found.values(), key=lambda one: one.updated, default=None)
        if newest is not None and "." in newest.version:
            self.label = f"OpenCode {newest.version.rpartition('.')[0]}"
        yield from parents_first(found)

    def titles_besides(self, known: Collection[str]) -> Sequence[str]:
        """Return the titles of sessions that are not among these ids, newest first; reads sessions only if there are any."""
        keys = (key for store in self._stores for key in store.reader.list(("session",)) if len(key) == 3)
        if all(key[-1] in known for key in keys):
            return []
        left = [one for one in self.list() if one.id not in known]
        return [one.title for one in sorted(left, key=lambda one: one.updated, reverse=True)]

    def read(self, found: FoundSession) -> ImportedSession:
        """Return a session; its messages are read one by one."""
        key = ("session", Path(found.path).parent.name, found.id)
        store = next(one for one in self._stores if one.path(key) == found.path)
        info = self._session(store, key)
        problems: Problems = []
        todos = self._sibling("todo", found.id, problems)
        diffs = self._sibling("session_diff", found.id, problems)
        return ImportedSession(
            info=info,
            messages=self._messages(found.id, problems),
            todos=read_items(todos, Todo, path=str(self.path), line=f"todo/{found.id}", problems=problems),
            diffs=read_items(diffs, FileDiff, path=str(self.path), line=f"session_diff/{found.id}", problems=problems),
            problems=problems,
            snapshots=snapshot_stores(self._data, info.project_id),
            project=self._project(info.project_id),
        )

    def close(self) -> None:
        """Remove what was migrated."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.cleanup()

    @cached_property
    def _stores(self) -> "list[_Records]":
        """The folders of records; a record of the first hides that of the second: what was migrated, then the store."""
        if not self.path.is_dir() and not (self._data / "project").is_dir():
            raise StorageError(f"{self.path} is not a store of OpenCode: there is no such folder")
        store = _Records(str(self.path))
        return [store] if store.counter() >= MIGRATIONS else [self._migrate(), store]

    def _migrate(self) -> "_Records":
        """Run our migrations over a copy of the session records, and over a link to the older layout, which they only read."""
        self._scratch = tempfile.TemporaryDirectory(prefix="opencode-tui-import-")
        top = Path(self._scratch.name)
        paths = Paths(home=top, data=top / "data", config=top / "config", state=top / "state", cache=top / "cache")
        paths.storage.mkdir(parents=True)
        if (self.path / "session").is_dir():
            shutil.copytree(self.path / "session", paths.storage / "session")
        if (self.path / "migration").is_file():
            shutil.copy(self.path / "migration", paths.storage / "migration")
        if (self._data / "project").is_dir():
            (paths.data / "project").symlink_to(self._data / "project", target_is_directory=True)
        migrations = Migrations(paths, locks=Locks(paths), list_root_commits=self._list_root_commits)
        self.problems += [Problem(str(self._data), "", warning) for warning in migrations.run_sync()]
        return _Records(str(paths.storage))

    def _session(self, store: "_Records", key: Key) -> SessionInfo:
        def worktree() -> str:
            project = self._project(key[1])
            return project.worktree if project else ""

        return parse_session(store.reader.read(key), path=store.path(key), project_id=key[1], worktree=worktree)

    def _project(self, project_id: str) -> ProjectInfo | None:
        for store in self._stores:
            try:
                return ProjectInfo.model_validate_json(store.reader.read(("project", project_id)))
            except (StorageError, ValidationError):
                continue  # the importer finds the project by the session's folder
        return None

    def _messages(self, session_id: str, problems: Problems) -> Iterator[MessageWithParts]:
        found = self._keys(("message", session_id))
        messages = self._checked(found.items(), problems)
        if spans_wrap([key[-1] for key in found]):
            yield from sorted(messages, key=lambda message: moment(message.info.id, message.info.time.created))
        else:
            yield from messages

    def _checked(self, found: "Iterable[tuple[Key, _Records]]", problems: Problems) -> Iterator[MessageWithParts]:
        for key, store in found:
            info = self._object(store, key, problems)
            if info is None:
                continue
            parts: list[tuple[str, JsonObject]] = []
            for part_key, part_store in self._keys(("part", key[-1])).items():
                part = self._object(part_store, part_key, problems)
                parts += [("/".join(part_key), part)] if part is not None else []
            message = check_message(info, parts, path=str(self.path), line="/".join(key), problems=problems)
            if message is not None:
                yield message

    def _keys(self, prefix: Key) -> "dict[Key, _Records]":
        """Return the keys of all records with a prefix in order, each with the store to read it from."""
        found = {key: store for store in reversed(self._stores) for key in store.reader.list(prefix)}
        return {key: found[key] for key in sorted(found)}

    def _object(self, store: "_Records", key: Key, problems: Problems) -> JsonObject | None:
        try:
            return store.reader.read_object(key)
        except StorageError as error:
            problems.append(Problem(str(self.path), "/".join(key), describe(error)))
            return None

    def _sibling(self, kind: str, session_id: str, problems: Problems) -> object:
        for store in self._stores:
            try:
                return decode_foreign(store.reader.read((kind, session_id)))
            except NotFoundError:
                continue
            except (StorageError, JsonError) as error:
                problems.append(Problem(str(self.path), f"{kind}/{session_id}", describe(error)))
        return []


class _Records:
    """One folder of records."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.reader = RecordReader(FileSystem(), root)

    def path(self, key: Key) -> str:
        """Return the file of a record."""
        return record_path(self._root, key)

    def counter(self) -> int:
        """Return how many migrations were done."""
        try:
            with open(os.path.join(self._root, "migration"), encoding="ascii", errors="replace") as file:
                return int(file.read(100))
        except (OSError, ValueError):
            return 0


def describe(error: Exception) -> str:
    """Return the reason why a record of another program could not be read, without a remedy for ours."""
    return f"damaged: {error.reason}" if isinstance(error, CorruptRecordError) else str(error)
