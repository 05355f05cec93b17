"""Sessions of Codex: one rollout file for each, in folders by day; sessions of subagents name their parent.

Facts: files that Codex 0.169.0 wrote.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from opencode_tui.extras.importing.codex_items import Items, Thread, read_items, read_whole, threads_of
from opencode_tui.extras.importing.codex_messages import CodexMessages, newest_todos
from opencode_tui.extras.importing.conversation import Child, SessionRecords, fork_title
from opencode_tui.extras.importing.ids import derive_session_id
from opencode_tui.extras.importing.json_lines import JsonLines, as_folder, as_text, decode_object, first_object
from opencode_tui.extras.importing.source import (
    FoundSession,
    ImportedSession,
    Problem,
    Problems,
    short_title,
)
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo, SessionTime, Todo

_FILES = ("rollout-*.jsonl", "rollout-*.json")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"({_UUID})(?:_({_UUID}))?$")
_ARCHIVE = "archived_sessions"
_MAX_LINEAGE = 50


class CodexSource:
    """The sessions below a folder: `sessions` of Codex, the folder above it, the folder of a year or day; or one file.

    Beside `sessions` Codex keeps archived ones; they are archived here too.
    """

    tool: Literal["codex"] = "codex"
    label = "Codex"

    def __init__(self, path: Path) -> None:
        self.path = path / "sessions" if (path / "sessions").is_dir() else path
        self.problems: list[Problem] = []
        self._files: dict[str, list[Path]] | None = None
        self._known: dict[str, str] = {}

    def list(self) -> Iterator[FoundSession]:
        """Yield the sessions, oldest first, each before its children. Raises StorageError when the folder cannot be read."""
        self.problems.clear()
        self._files = None
        titles = _indexed_titles(self.path.parent / "session_index.jsonl")
        found: dict[str, list[FoundSession]] = {}
        for path in _rollouts(self.path):
            for one in self._list_file(path, titles):
                self._known[one.id] = one.session_id
                found.setdefault(one.parent, []).append(one)
        ids = {one.id for sessions in found.values() for one in sessions}
        waiting = [one for parent, sessions in found.items() for one in sessions if not parent or parent not in ids]
        seen: set[str] = set()
        while waiting:
            one = waiting.pop(0)
            if one.id not in seen:
                seen.add(one.id)
                yield one
                waiting = [*found.get(one.id, []), *waiting]

    def read(self, found: FoundSession) -> ImportedSession:
        """Return a session. Raises StorageError when its file is gone."""
        problems: list[Problem] = []
        items = self._open(Path(found.path), problems)
        key = found.id.partition("#")[2]
        thread = next((one for one in threads_of(items) if one.key == key), None)
        if thread is None:
            items.close()
            raise StorageError(f"{found.path} no longer has the conversation {found.id}")
        if key:
            problems.clear()  # they are listed with the first conversation of the file
        info = SessionInfo(
            id=found.session_id,
            version=found.version or "0",
            project_id="",
            directory=found.directory,
            title=found.title,
            time=SessionTime(created=found.created, updated=found.updated, archived=_archived(found)),
            parent_id=self._session_id(found.parent) if found.parent else None,
        )
        records = SessionRecords(found.session_id, found.directory, found.path, problems)
        messages = CodexMessages(items, records, problems, self._children(items))
        todos = [Todo.model_validate(todo) for todo in newest_todos(items, thread)]
        return ImportedSession(info, _closing(items, messages, thread), todos, problems=problems)

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _list_file(self, path: Path, titles: dict[str, str]) -> Iterator[FoundSession]:
        try:
            items = self._open(path, [])
        except StorageError as error:
            self.problems.append(Problem(str(path), "", str(error)))
            return
        items.close()
        facts = items.facts
        if not facts.is_talk:
            return
        source = _source_id(path)
        title = titles.get(facts.id) or facts.title or short_title(facts.prompt) or "Codex session"
        if facts.parent:
            title = f"{title} (@{facts.agent or 'general'} subagent)"
        is_later = len(items.files) > 1
        for number, thread in enumerate(thread for thread in threads_of(items) if thread.items):
            name = f"{source}#{thread.key}" if thread.key else source
            first = next((one for one in items.items if str(one.line) == thread.key), None)
            created = first.time if thread.key and first is not None else facts.created
            updated = max([created, *(items.items[at].time for at in thread.items)])
            yield FoundSession(
                name, derive_session_id("codex", name, created), as_folder(facts.directory) or "/",
                fork_title(title, number + is_later), created, updated, str(path), path.stat().st_size,
                facts.version, facts.parent,
            )  # fmt: skip

    def _open(self, path: Path, problems: Problems) -> Items:
        """Return the items of a file, after those of the files that it continues. Raises StorageError."""
        if path.suffix == ".json":
            return read_whole(path)
        with ExitStack() as opened:
            lineage: list[tuple[JsonLines, int | None]] = [(opened.enter_context(JsonLines(path, problems)), None)]
            base, end = _base_of(path)
            seen = {path}
            while base and len(lineage) < _MAX_LINEAGE:
                older = self._continued(base, end, seen)
                if older is None:
                    reason = f"its beginning is in a file of the session {base}, which is not there"
                    problems.append(Problem(str(path), "", reason))
                    break
                seen.add(older)
                lineage.insert(0, (opened.enter_context(JsonLines(older, [])), end))
                base, end = _base_of(older)
            items = read_items(lineage)
            opened.pop_all()  # the items read from the files
            return items

    def _continued(self, thread: str, end: int, seen: set[Path]) -> Path | None:
        """Return the newest file of a thread that has lines before an ordinal."""
        files = [one for one in self._by_thread().get(thread, []) if one not in seen]
        return next((one for one in reversed(files) if _first_ordinal(one) < end), None)

    def _by_thread(self) -> Mapping[str, Sequence[Path]]:
        if self._files is None:
            self._files = {}
            for path in _rollouts(self.path):
                self._files.setdefault(_source_id(path).partition("_")[0], []).append(path)
        return self._files

    def _session_id(self, thread: str) -> str | None:
        """Return the id here of a thread's first file."""
        if thread in self._known:
            return self._known[thread]
        path = next(iter(self._by_thread().get(thread, [])), None)
        if path is None:
            return None
        items = self._open(path, [])
        items.close()
        return derive_session_id("codex", _source_id(path), items.facts.created)

    def _children(self, items: Items) -> dict[str, Child]:
        """Return the sessions of the subagents that a session started, by their thread's id."""
        children: dict[str, Child] = {}
        for item in items.items:
            if item.type != "function_call" or items.payload(item).get("name") != "spawn_agent":
                continue
            output = items.outputs.get(item.call_id)
            value = decode_object(as_text(items.payload(output).get("output")).encode()) if output is not None else ""
            thread = as_text(as_object(value).get("agent_id"))
            path = next(iter(self._by_thread().get(thread, [])), None)
            if thread and path is not None:
                own = self._open(path, [])
                calls = [one for one in own.items if one.type in ("function_call", "custom_tool_call")]
                tools = [as_text(own.payload(one).get("name")) for one in calls]
                own.close()
                children[thread] = Child(derive_session_id("codex", _source_id(path), own.facts.created), tools)
        return children


def _closing(items: Items, messages: CodexMessages, thread: Thread) -> Iterator[MessageWithParts]:
    """Yield the messages, then close the files."""
    try:
        yield from messages.read(thread)
    finally:
        items.close()


def _rollouts(folder: Path) -> list[Path]:
    """Return the files of sessions, oldest first; their names begin with the time."""
    if folder.is_file():
        return [folder]
    folders = [folder, folder.parent / _ARCHIVE] if folder.name == "sessions" else [folder]
    found = (path for one in folders for pattern in _FILES for path in one.rglob(pattern))
    return sorted(found, key=lambda path: path.name)


def _archived(found: FoundSession) -> int | None:
    """Return when an archived session was used last, None for one that is not archived."""
    return found.updated if _ARCHIVE in Path(found.path).parts else None


def _source_id(path: Path) -> str:
    """Return the id of a session: that of its thread, with that of the file where a thread has several."""
    found = _NAME.search(path.stem)
    if found is None:
        return path.stem
    return f"{found[1]}_{found[2]}" if found[2] else found[1]


def _base_of(path: Path) -> tuple[str, int]:
    """Return the thread that a file continues and the ordinal of its own first line; an empty one for a file that begins."""
    base = as_object(as_object(first_object(path).get("payload")).get("history_base"))
    end = base.get("end_ordinal_exclusive")
    return (as_text(base.get("thread_id")), end) if isinstance(end, int) and end > 0 else ("", 0)


def _first_ordinal(path: Path) -> int:
    ordinal = first_object(path).get("ordinal")
    return ordinal if isinstance(ordinal, int) else 0


def _indexed_titles(path: Path) -> dict[str, str]:
    """Return the names that the user gave to sessions, by their ids."""
    titles: dict[str, str] = {}
    if path.is_file():
        with JsonLines(path, []) as file:
            for line in file.lines():
                titles[as_text(line.value.get("id"))] = as_text(line.value.get("thread_name"))
    return titles
