"""Imports sessions: chooses them, writes their records, and reports what was done. Blocks; runs in a thread.

A second import adds only what is new. A session that was continued there is completed; one that was continued both there and here
is left as it is, and listed. A killed import is completed by the next one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import msgspec
from msgspec import Struct

from opencode_tui.engine.session.records.imported import ImportedRecords, Written
from opencode_tui.extras.importing.allowed import allowed_project, allowed_session, left_out_of, without_child
from opencode_tui.extras.importing.source import FoundSession, ImportedSession, Problem, SessionSource
from opencode_tui.schema.api.importing import (
    IMPORTED_FROM,
    ImportedEntry,
    ImportOrigin,
    ImportReport,
    ImportStore,
    ImportTool,
    import_origin,
)
from opencode_tui.schema.api.project import GLOBAL_PROJECT, ProjectInfo, ProjectTime
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, OpencodeError, StorageError
from opencode_tui.schema.ids import Clock, is_identifier
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.newer import parse_stored_part
from opencode_tui.schema.session.part import AnyPart, PatchPart
from opencode_tui.schema.session.session import (
    COST_KEY,
    FORKED_FROM,
    UNDO_KEY,
    SessionInfo,
    is_default_title,
)
from opencode_tui.storage.keys import Key, is_segment
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

BATCH_RECORDS = 20_000
"""Records written before they are synced to the disk and their sessions appear."""

BATCH_SESSIONS = 500
MAX_PROBLEMS = 1_000
"""Problems that a report lists; the others are counted."""

FindProject = Callable[[str], ProjectInfo]
"""Returns the project of a folder, `global` for one that does not exist any more. Blocks."""

KeepStates = Callable[[ImportedSession, str, MessageWithParts], MessageWithParts]
"""Copies the states of files that a message of a session in a folder names, and returns the message with what can be undone."""

OWN_KEYS = frozenset({IMPORTED_FROM, FORKED_FROM, UNDO_KEY, COST_KEY})
"""Keys of `metadata` that refer to what is not here, or that are figures: silently left out."""

State = Literal["new", "newer", "same", "unreadable"]


class Selection(Struct, frozen=True):
    """Which sessions to import; children go with their parents. Times are milliseconds since 1970."""

    since: int | None = None
    sessions: frozenset[str] = frozenset()
    directory: str | None = None

    def chooses(self, found: FoundSession) -> bool:
        """Return whether a session that is no child is imported."""
        if self.since is not None and found.updated < self.since:
            return False
        return self.directory is None or _is_below(found.directory, self.directory)


class FolderMap(Struct, frozen=True):
    """Replaces the beginnings of folders, the longest first."""

    folders: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])

    def path(self, path: str) -> str:
        """Return a path with its beginning replaced."""
        for old in sorted(self.folders, key=len, reverse=True):
            if _is_below(path, old):
                return self.folders[old].rstrip("/") + path[len(old.rstrip("/")) :]
        return path

    def message(self, message: AnyMessage) -> AnyMessage:
        """Return a message with the folders of its step replaced."""
        if not self.folders or not isinstance(message, AssistantMessage):
            return message
        path = message.path.changed(cwd=self.path(message.path.cwd), root=self.path(message.path.root))
        return message.changed(path=path)

    def part(self, part: AnyPart) -> AnyPart:
        """Return a part with the files of a patch replaced."""
        if not self.folders or not isinstance(part, PatchPart):
            return part
        return part.changed(files=[self.path(file) for file in part.files])


def _is_below(path: str, folder: str) -> bool:
    top = folder.rstrip("/")
    return path == top or path.startswith(f"{top}/") or not top


@dataclass(slots=True)
class _Planned:
    """A session to look at, with its source and what is here of it."""

    found: FoundSession
    source: SessionSource
    state: State
    known: SessionInfo | None


@dataclass(slots=True)
class Outcome:
    """The report while it grows."""

    entries: list[ImportedEntry] = field(default_factory=list[ImportedEntry])
    written: Written = field(default_factory=Written)
    problems: list[Problem] = field(default_factory=list[Problem])
    left_out: Counter[str] = field(default_factory=Counter[str])
    same: int = 0
    is_cancelled: bool = False

    def report(self) -> ImportReport:
        """Return what was done."""
        states = [entry.state for entry in self.entries]
        return ImportReport(
            sessions=self.entries,
            new=states.count("new"),
            newer=states.count("newer"),
            same=self.same,
            skipped=states.count("skipped"),
            records=self.written.new,
            problems=[str(problem) for problem in self.problems[:MAX_PROBLEMS]],
            left_out=dict(self.left_out),
            omitted_problems=max(0, len(self.problems) - MAX_PROBLEMS),
            is_cancelled=self.is_cancelled,
        )


class Importer:
    """Imports from sources into one store. `progress` is called with the number of sessions done, of all, and a title.

    `stored` is called with sessions that are completely here from now on.
    `is_cancelled` is asked between two sessions; what was written until then stays, and is whole.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Clock,
        find_project: FindProject,
        progress: Callable[[int, int, str], None] = lambda done, total, title: None,
        stored: Callable[[Sequence[SessionInfo]], None] = lambda sessions: None,
        is_cancelled: Callable[[], bool] = lambda: False,
        keep_states: KeepStates = lambda session, directory, message: message,
    ) -> None:
        self._storage = storage
        self._records = ImportedRecords(storage)
        self._clock = clock
        self._find_project = find_project
        self._progress = progress
        self._stored = stored
        self._keep_states = keep_states
        self._is_cancelled = is_cancelled
        self._projects: set[str] = set()
        self._known: Mapping[str, Key] = {}
        self._planned: set[str] = set()

    def describe(self, source: SessionSource) -> ImportStore:
        """Return what a store has, and how much of it is not here yet; raises StorageError."""
        known = self._records.known_sessions()
        found = list(source.list())
        states = [self._compare(one, known)[0] for one in found]
        return ImportStore(
            tool=source.tool,
            label=source.label,
            path=str(source.path),
            sessions=len(found),
            new=states.count("new"),
            newer=states.count("newer"),
            problems=[str(problem) for problem in source.problems],
        )

    def run(
        self, sources: Sequence[SessionSource], selection: Selection, folders: FolderMap, *, dry_run: bool = False
    ) -> ImportReport:
        """Import the chosen sessions of these stores; where two have one session, the newer one is used.

        Raises StorageError when our store cannot be written, or a store cannot be read at all.
        """
        outcome = Outcome()
        planned = self._plan(sources, selection, outcome)
        batch = 0
        for number, one in enumerate(planned):
            if self._is_cancelled():
                outcome.is_cancelled = True
                break
            self._progress(number, len(planned), one.found.title)
            if one.state == "same":
                outcome.same += 1
                continue
            before = outcome.written.new
            entry = self._import(one, folders, outcome, dry_run=dry_run)
            if entry is None:
                outcome.same += 1
            else:
                outcome.entries.append(entry)
            batch += outcome.written.new - before
            if batch >= BATCH_RECORDS or (number + 1) % BATCH_SESSIONS == 0:
                batch = 0
                self._stored(self._records.sync())
        self._stored(self._records.sync())
        self._progress(len(planned), len(planned), "")
        return outcome.report()

    def _plan(self, sources: Sequence[SessionSource], selection: Selection, outcome: Outcome) -> list[_Planned]:
        """Return the chosen sessions, parents first, each with what is here of it."""
        best: dict[str, tuple[FoundSession, SessionSource]] = {}
        for source in sources:
            for found in source.list():
                other = best.get(found.session_id)
                if other is None or found.updated > other[0].updated:
                    best[found.session_id] = (found, source)
            outcome.problems += source.problems
        by_source_id: dict[tuple[ImportTool, str], FoundSession] = {
            (source.tool, found.id): found for found, source in best.values()
        }
        self._known = known = self._records.known_sessions()
        planned: list[_Planned] = []
        for found, source in best.values():
            if not is_identifier(found.session_id, "ses"):
                outcome.problems.append(Problem(found.path, found.id[:100], "its id cannot be the name of a session"))
            elif _is_chosen(found, source.tool, by_source_id, selection):
                planned.append(_Planned(found, source, *self._compare(found, known)))
        self._planned = {one.found.session_id for one in planned}
        return planned

    def _compare(self, found: FoundSession, known: Mapping[str, Key]) -> tuple[State, SessionInfo | None]:
        """Return what of a session is here: nothing, an older state, or all; or a record that cannot be read.

        A damaged record is replaced by what the store that it can have come from has. A file of a stranger replaces nothing.
        """
        key = known.get(found.session_id)
        if key is None:
            return "new", None
        try:
            path = self._storage.path_of(key)
            info = parse_session(self._storage.read_sync(key), path=path, project_id=key[1])
        except NotFoundError:
            return "new", None
        except StorageError as error:
            return ("new" if isinstance(error, CorruptRecordError) and not found.is_alone else "unreadable"), None
        origin = import_origin(info)
        have = info.time.updated if origin is None else origin.updated
        return ("same" if have is not None and found.updated <= have else "newer"), info

    def _import(self, one: _Planned, folders: FolderMap, outcome: Outcome, *, dry_run: bool) -> ImportedEntry | None:
        """Import one session and return its entry; None when it turns out to be the same."""
        entry = ImportedEntry(
            id=one.found.session_id,
            title=one.found.title,
            directory=folders.path(one.found.directory),
            tool=one.source.tool,
            state="new",
        )
        if one.state == "unreadable":
            reason = "a session with its id is here whose record cannot be read; it stays as it is"
            return entry.changed(state="skipped", reason=reason)
        try:
            session = one.source.read(one.found)
        except OpencodeError as error:
            return entry.changed(state="skipped", reason=str(error))
        if dry_run:
            count = sum(1 for _ in session.messages)
            outcome.problems += session.problems
            return entry.changed(state=one.state, messages=count)
        if one.known is not None and not _is_from_there(one.known, one.found):
            return entry.changed(state="skipped", reason="another session with its id is here, which stays as it is")
        outcome.left_out.update(left_out_of(session.info, own=OWN_KEYS))
        session = msgspec.structs.replace(session, info=self._allowed(session.info))
        if one.known is None:
            return self._write(one, session, folders, outcome, entry)
        return self._complete(one, one.known, session, folders, outcome, entry)

    def _allowed(self, info: SessionInfo) -> SessionInfo:
        """Return a session's record with what may be imported of it; its parent only where that came from there too."""
        kept = allowed_session(info)
        parent = kept.parent_id
        is_imported = parent is not None and (parent in self._planned or parent in self._known)
        return kept if is_imported and not self._is_own(parent) else kept.changed(parent_id=None)

    def _is_own(self, session_id: object) -> bool:
        """Return whether a session is here and was not imported."""
        key = self._known.get(session_id) if isinstance(session_id, str) else None
        return key is not None and self._origin(key) is None

    def _origin(self, key: Key) -> ImportOrigin | None:
        path = self._storage.path_of(key)
        try:
            return import_origin(parse_session(self._storage.read_sync(key), path=path, project_id=key[1]))
        except StorageError:
            return None

    def _free(self, messages: Iterator[MessageWithParts], outcome: Outcome, path: str) -> Iterator[MessageWithParts]:
        """Yield the messages whose ids no other session has, without references to sessions that were made here."""
        for message in messages:
            owner = self._records.owner_of(message.info.id)
            if owner not in (None, message.info.session_id):
                outcome.problems.append(Problem(path, message.info.id, "a message of another session has its id"))
                continue
            yield with_parts(message.info, [without_child(part, self._is_own) for part in message.parts])

    def _write(
        self, one: _Planned, session: ImportedSession, folders: FolderMap, outcome: Outcome, entry: ImportedEntry
    ) -> ImportedEntry:
        """Write a session that is not here."""
        count, is_open = 0, False
        directory = folders.path(session.info.directory)
        for given in self._free(_mapped(session.messages, folders), outcome, one.found.path):
            message = self._keep_states(session, directory, given) if session.snapshots else given
            count += 1
            is_open = is_open or _is_open(message)
            outcome.written += self._records.write_messages([message])
        info = self._with_project(session, folders)
        outcome.written += self._write_siblings(session)
        self._records.add_session(self._with_origin(info, one, is_open=is_open))
        outcome.written += Written(new=1)
        outcome.problems += session.problems
        return entry.changed(messages=count)

    def _complete(
        self,
        one: _Planned,
        known: SessionInfo,
        session: ImportedSession,
        folders: FolderMap,
        outcome: Outcome,
        entry: ImportedEntry,
    ) -> ImportedEntry | None:
        """Add what is new to a session that is here, unless it was continued here too."""
        directory = folders.path(session.info.directory)
        messages = [
            self._with_known_states(self._keep_states(session, directory, given))
            for given in self._free(_mapped(session.messages, folders), outcome, one.found.path)
        ]
        outcome.problems += session.problems
        here, there = self._records.message_ids(known.id), {message.info.id for message in messages}
        if self._is_continued(known, here - there):
            if there <= here:
                return None
            reason = "it was continued both here and there since its import; its new messages there are not added"
            return entry.changed(state="skipped", reason=reason)
        written = self._records.write_messages(messages) + self._write_siblings(session)
        outcome.written += written
        info = self._with_origin(_merged(known, session.info), one, is_open=any(map(_is_open, messages)))
        if written.new == 0 and _without_time(info) == _without_time(known):
            return None
        self._records.add_session(info)
        outcome.written += Written(new=1)
        return entry.changed(state="newer", messages=len(there - here))

    def _with_known_states(self, message: MessageWithParts) -> MessageWithParts:
        """Return a message whose patches keep the states that an earlier import found; they may be gone there now."""
        if not any(isinstance(part, PatchPart) and part.after is None for part in message.parts):
            return message
        return with_parts(message.info, [self._with_known_state(part) for part in message.parts])

    def _with_known_state(self, part: AnyPart) -> AnyPart:
        if not isinstance(part, PatchPart) or part.after is not None:
            return part
        try:
            known = parse_stored_part(self._storage.read_sync(("part", part.message_id, part.id)))
        except (StorageError, ValidationError):
            return part
        if isinstance(known, PatchPart) and known.hash == part.hash:
            return part.changed(after=known.after)
        return part

    def _is_continued(self, known: SessionInfo, own: set[str]) -> bool:
        """Return whether some of these messages were made here: after the import, or in a session that was never imported."""
        origin = import_origin(known)
        if origin is None:
            return bool(own)
        for name in own:
            try:
                record = msgspec.json.decode(self._storage.read_sync(("message", known.id, name)), type=_MessageRecord)
            except (StorageError, msgspec.DecodeError):
                continue
            if record.time.created >= origin.at:
                return True
        return False

    def _write_siblings(self, session: ImportedSession) -> Written:
        written = Written()
        for kind, items in (("todo", session.todos), ("session_diff", session.diffs)):
            if items:
                data = msgspec.json.format(msgspec.json.encode([item.to_dict() for item in items]), indent=2)
                written += self._records.write((kind, session.info.id), data)
        return written

    def _with_project(self, session: ImportedSession, folders: FolderMap) -> SessionInfo:
        """Return the session's record with its project, whose record is written unless it is here."""
        info = session.info.changed(directory=folders.path(session.info.directory))
        project = session.project
        is_global = not is_segment(info.project_id) or info.project_id == GLOBAL_PROJECT
        if is_global or info.directory != session.info.directory:
            here = self._find_project(info.directory)
            if is_global or here.id != GLOBAL_PROJECT:
                project = here
        if project is None:
            time = ProjectTime(created=info.time.created, updated=info.time.updated)
            project = ProjectInfo(id=info.project_id, worktree=info.directory, time=time)
        info = info.changed(project_id=project.id)
        if project.id not in self._projects:
            self._projects.add(project.id)
            key = ("project", project.id)
            if not self._storage.files.exists(self._storage.path_of(key)):
                self._records.write(key, allowed_project(project).to_json())
        return info

    def _with_origin(self, info: SessionInfo, one: _Planned, *, is_open: bool) -> SessionInfo:
        now = self._clock()  # a later time would keep the session on top of all lists
        time = info.time.changed(created=min(info.time.created, now), updated=min(info.time.updated, now))
        origin = ImportOrigin(
            tool=one.source.tool,
            path=one.found.path,
            id=one.found.id,
            version=one.found.version,
            at=now,
            updated=None if is_open else one.found.updated,
        )
        return info.changed(time=time, metadata={**(info.metadata or {}), IMPORTED_FROM: origin.to_dict()})


class _Created(Struct, frozen=True):
    """When a message was created, in milliseconds since 1970."""

    created: int


class _MessageRecord(Struct, frozen=True):
    """What is read of a message to know when it was created."""

    time: _Created


def _is_chosen(
    found: FoundSession,
    tool: ImportTool,
    by_source_id: Mapping[tuple[ImportTool, str], FoundSession],
    selection: Selection,
) -> bool:
    """Return whether a session is imported: its topmost parent decides, except that any of its line may be named."""
    line = [found]
    while (above := by_source_id.get((tool, line[-1].parent))) is not None and above not in line:
        line.append(above)
    if selection.sessions and not any({one.id, one.session_id} & selection.sessions for one in line):
        return False
    return selection.chooses(line[-1])


def _is_from_there(known: SessionInfo, found: FoundSession) -> bool:
    """Return whether a session that is here was imported from where it was found now."""
    origin = import_origin(known)
    return origin is not None and (origin.path == found.path or not found.is_alone)


def _mapped(messages: Iterator[MessageWithParts], folders: FolderMap) -> Iterator[MessageWithParts]:
    for message in messages:
        if folders.folders:
            yield with_parts(folders.message(message.info), [folders.part(part) for part in message.parts])
        else:
            yield message


def _is_open(message: MessageWithParts) -> bool:
    """Return whether an answer was still being written when it was read."""
    return isinstance(message.info, AssistantMessage) and message.info.time.completed is None


def _merged(known: SessionInfo, there: SessionInfo) -> SessionInfo:
    """Return our record of a session with what changed there; what the user changed here stays."""
    updated = max(known.time.updated, there.time.updated)
    title = there.title if is_default_title(known.title) else known.title
    return known.changed(
        time=known.time.changed(updated=updated),
        title=title,
        summary=there.summary or known.summary,
    )


def _without_time(info: SessionInfo) -> SessionInfo:
    """Return a session's record without the time of its import."""
    metadata = dict(info.metadata or {})
    origin = metadata.get(IMPORTED_FROM)
    if isinstance(origin, dict):
        metadata[IMPORTED_FROM] = {key: value for key, value in cast(JsonObject, origin).items() if key != "at"}
    return info.changed(metadata=metadata)
