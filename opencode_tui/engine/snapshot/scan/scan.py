"""From the files of a worktree to a snapshot.

Only what changed since the last scan is read (`stat_cache`). `.git`, our own folders and temporary files are never part of it, and
temporary files that a killed process left are removed;
large and special files, and ignored ones beyond `kept`, are listed as skipped unless they are forced (`forced_paths`). Links are
never followed. Blocks; a stop flag is checked for every folder.
"""

import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Literal

from opencode_tui.engine.snapshot.entry import (
    EXECUTABLE_MODE,
    FOLDER_MODE,
    HUGE,
    IGNORED,
    IGNORED_MANY,
    LARGE,
    MADE_AGAIN,
    OUTSIDE,
    OWN_DATA,
    PLAIN_MODE,
    REPOSITORY,
    UNREADABLE,
    Entry,
    special_entry,
)
from opencode_tui.engine.snapshot.objects.manifest import Defaults, Manifest
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter, StoreFullError
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, EXECUTABLE, FOLDER, LINK, PLAIN, encode
from opencode_tui.engine.snapshot.objects.view import View, write_snapshot
from opencode_tui.engine.snapshot.scan.forced_paths import ForcedPaths
from opencode_tui.engine.snapshot.scan.git_index import exclude_text, is_repository
from opencode_tui.engine.snapshot.scan.ignore import LIMIT_BYTES, Rules, text_of_rules
from opencode_tui.engine.snapshot.scan.kept import MADE_BY, MARKERS, KeptBudget, KeptLimits
from opencode_tui.engine.snapshot.scan.stat_cache import (
    KnownFile,
    KnownFolder,
    Listing,
    Stamp,
    StatCache,
    young_since,
    young_stamp,
)
from opencode_tui.engine.snapshot.scan.stat_file import HUGE_BYTES
from opencode_tui.engine.snapshot.scan.stat_index import StatIndex
from opencode_tui.engine.snapshot.temporary import is_left_over, is_temporary
from opencode_tui.schema.error import SnapshotError
from opencode_tui.storage.safe_folder import OpenFolder, OpenFolders

Cover = Literal["plain", "kept", "private", "wanted"]
"""What a scan records in a folder.

Of a plain one all but what is ignored in it. Of an ignored one what the limits admit: in a private one nothing is tracked, in a
kept one something. Of another ignored one only forced paths.
"""

_COVER_MARKS: dict[Cover, str] = {"plain": "", "kept": "+", "private": "+p", "wanted": "!"}
"""What the key of a folder's rules in the stat cache ends in."""


@dataclass(slots=True)
class FolderFrame:
    """A folder during a scan; `is_made`: tools make it, and a `.gitignore` that they put into it says what git ignores there."""

    path: str
    rules: Rules
    repository: str
    mode: int
    known: KnownFolder
    cover: Cover = "plain"
    is_made: bool = False
    seen: KnownFolder = field(default_factory=KnownFolder)
    modes: Counter[int] = field(default_factory=Counter[int])
    pending: list[tuple[str, int | None, Cover]] = field(default_factory=list[tuple[str, int | None, Cover]])
    has_skipped: bool = False
    is_changed: bool = False

    def join(self, name: str) -> str:
        """Return an entry's path from the worktree."""
        return f"{self.path}/{name}" if self.path else name


full_stamp: Callable[[os.stat_result], Stamp] = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")
"""Return the stamp that identifies a file's content, if the file is old enough."""


def leads_outside(root: str, folder: str, target: str) -> bool:
    """Return whether a link in a folder leads out of the worktree, by its text alone."""
    path = os.path.normpath(os.path.join(root, folder, target))
    return path != root and not path.startswith(f"{root}/")


Allow = Callable[[str, int, int], None]
"""Called before a path that its mode closes to its owner gets another mode: its path, its mode, the other one."""

LARGE_BYTES = 2 * 1024 * 1024
"""The largest file that is recorded without being forced. Source: docs/internals/snapshots.md#scans."""


class FileRecorder:
    """Records new and changed files for one scan, which began at `started_ns`."""

    def __init__(
        self, root: str, *, writer: ObjectWriter, wanted: ForcedPaths, kept: KeptBudget, allow: Allow | None
    ) -> None:
        self.started_ns = 0
        self._kept = kept
        self._allow = allow
        self._root = root
        self._writer = writer
        self._wanted = wanted

    def reason_against(self, frame: FolderFrame, path: str, name: str, status: os.stat_result) -> str | None:
        """Return why a path that is no folder is not recorded, None when it is."""
        if frame.cover != "plain" or frame.rules.ignores(path, is_folder=False):
            reason = self._reason_against_ignored(frame, path, name, status)
            if reason is not None:
                return reason
        if not LARGE_BYTES < status.st_size <= HUGE_BYTES or not stat.S_ISREG(status.st_mode):
            return None
        if name in frame.seen.private:
            return None
        return None if self._wanted.wants(path, frame.repository) else LARGE

    def _reason_against_ignored(self, frame: FolderFrame, path: str, name: str, status: os.stat_result) -> str | None:
        """Return why an ignored file is not recorded, None when it is; add it to the private ones unless it is tracked."""
        frame.seen.ignored.add(name)
        if self._wanted.wants(path, frame.repository):
            is_shown = self._wanted.shows(path, frame.repository)
        elif frame.cover == "wanted":
            return IGNORED
        elif frame.cover == "plain" and self._wanted.was_visible(path, frame.repository):
            is_shown = True
        elif not self._kept.is_on:
            return IGNORED
        elif frame.is_made:
            return MADE_AGAIN
        else:
            is_shown = False
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            reason = self._kept.reason_against(size, frame.known.files.get(name))
            if reason is not None:
                return reason
        if not is_shown:
            frame.seen.private.add(name)
        return None

    def record(self, frame: FolderFrame, opened: OpenFolder, path: str, status: os.stat_result) -> None:
        """Record a file or link of an open folder. Raises OSError, StoreFullError."""
        name = path.rpartition("/")[2]
        old = frame.known.files.get(name)
        if old is not None and old[0] == full_stamp(status):
            # Only the rules have changed.
            frame.seen.files[name] = old
            if old[1] != LINK:
                frame.modes[stat.S_IMODE(status.st_mode)] += 1
            return
        if stat.S_ISLNK(status.st_mode):
            data = opened.read_link(name)
            if leads_outside(self._root, frame.path, os.fsdecode(data)):
                frame.seen.outside |= {name}
            git_mode = LINK
        else:
            try:
                data, status = _read_regular(name, opened, status)
            except PermissionError:
                data, status = self._read_locked(frame, opened, path)
            git_mode = EXECUTABLE if status.st_mode & 0o100 else PLAIN
            frame.modes[stat.S_IMODE(status.st_mode)] += 1
        file_id = self._writer.add("blob", data)
        stamp = young_stamp(status) if young_since(status, self.started_ns) else full_stamp(status)
        known: KnownFile = (stamp, git_mode, file_id)
        frame.seen.files[name] = known
        frame.is_changed |= old is None or old[1:] != known[1:]

    def _read_locked(self, frame: FolderFrame, opened: OpenFolder, path: str) -> tuple[bytes, os.stat_result]:
        """Read a file that its mode closes to its owner, if it was recorded before, or is new: a turn closed it."""
        name, allow = path.rpartition("/")[2], self._allow
        if allow is None or (name not in frame.known.files and not self._wanted.knows(path)):
            raise PermissionError(path)
        return opened.read_locked(name, HUGE_BYTES, lambda mode, given: allow(path, mode, given))


def _read_regular(name: str, folder: OpenFolder, status: os.stat_result) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a regular file in an open folder, and its status before they were read.

    `status` is the last known one; the next scan detects a change since. Raises FileNotFoundError when it is not a regular file.
    """
    descriptor = folder.open_to_read(name)
    try:
        data = os.read(descriptor, status.st_size + 1)
        if data and len(data) == status.st_size:
            return data, status
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(name)
        with open(descriptor, "rb", closefd=False) as file:
            return data + file.read(), status
    finally:
        os.close(descriptor)


_MANY = 512
_EXECUTABLE_BIT = 0o100


@dataclass(slots=True)
class ModeTable:
    """Modes of the folders by path, and how often each mode occurs among the files of a folder."""

    folders: dict[str, int] = field(default_factory=dict[str, int])
    files: dict[str, Counter[int]] = field(default_factory=dict[str, Counter[int]])

    def summarize(self, known: Mapping[str, KnownFolder]) -> tuple[Defaults, dict[str, int]]:
        """Return the usual modes and, by path, those of files and folders that differ; `known` contains the files."""
        counted: dict[int, int] = {}
        for modes in self.files.values():
            for mode, count in modes.items():
                counted[mode] = counted.get(mode, 0) + count
        defaults = Defaults(
            _usual({mode: count for mode, count in counted.items() if not mode & _EXECUTABLE_BIT}, PLAIN_MODE),
            _usual({mode: count for mode, count in counted.items() if mode & _EXECUTABLE_BIT}, EXECUTABLE_MODE),
            _usual(Counter(self.folders.values()), FOLDER_MODE),
        )
        unusual = {path: mode for path, mode in self.folders.items() if mode != defaults.folder}
        usual = {defaults.file, defaults.executable}
        for folder, found in self.files.items():
            if not found.keys() <= usual:
                unusual.update(_unusual(folder, known[folder], usual))
        return defaults, unusual


def _unusual(folder: str, known: KnownFolder, usual: set[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, (stamp, git_mode, _) in known.files.items():
        mode = stat.S_IMODE(stamp[0])
        if git_mode != LINK and mode not in usual:
            found[f"{folder}/{name}" if folder else name] = mode
    return found


def _usual(counts: Mapping[int, int], plain: int) -> int:
    """Return the mode that most have; `plain` in a small project, so that its snapshots do not change with every file."""
    mode = max(counts, key=lambda mode: (counts[mode], -mode), default=plain)
    return mode if counts.get(mode, 0) > _MANY else plain


_ENTERED = 0o500
"""The rights of a folder's owner that a scan needs."""
_UNKNOWN = KnownFolder(rules="?")
_GONE: KnownFile = ((), "", "")


class ScanStoppedError(Exception):
    """The stop flag was set."""


class Scan:
    """One walk through a worktree; used once, under the worktree's lock."""

    def __init__(
        self,
        folders: OpenFolders,
        *,
        store: ObjectStore,
        cache: StatCache,
        wanted: ForcedPaths,
        own_folders: Iterable[str] = (),
        room: int | None = None,
        kept: KeptLimits | None = None,
        has_room: bool = True,
        index: StatIndex,
    ) -> None:
        """`kept` are the limits for ignored files; without `has_room` the store gets no more of them."""
        self._folders = folders
        self._store = store
        self._writer = ObjectWriter(store, level=0 if not cache.folders else 1, limit=room)
        self._old = cache if _is_backed(cache, store) else StatCache()
        self._new = StatCache()
        self._wanted = wanted
        self._kept = KeptBudget(kept or KeptLimits(), self._old.folders.values(), has_room=has_room)
        self._intake = FileRecorder(
            folders.root, writer=self._writer, wanted=wanted, kept=self._kept, allow=folders.allow
        )
        self._private: list[str] = []
        self._own = frozenset(own_folders)
        self._stop = threading.Event()
        self._skipped: dict[str, str] = {}
        self._special: dict[str, Entry] = {}
        self._bare: list[str] = []
        self._modes = ModeTable()
        self._index = index

    def run(self, stop: threading.Event | None = None) -> tuple[View, StatCache]:
        """Return the snapshot and the cache for the next scan; `stop` ends it early.

        Raises SnapshotError when the worktree cannot be read, StorageError when the store cannot be written, StoreFullError, and
        ScanStoppedError.
        """
        self._stop = stop or self._stop
        self._intake.started_ns = time.time_ns()
        try:
            files = self._walk()
            self._index.end()
        except StoreFullError:
            self._writer.discard()
            raise
        finally:
            self._writer.wait()
        view = write_snapshot(self._store, self._writer, files, self._manifest())
        self._new.packs = self._store.holdings()
        return view, self._new

    def _walk(self) -> str:
        """Return the id of the files' tree; a folder is finished after its content."""
        top = self._root_frame()
        stack = [top]
        while True:
            frame = stack[-1]
            if frame.pending:
                child = self._enter(frame, *frame.pending.pop())
                if child is not None:
                    stack.append(child)
                continue
            stack.pop()
            self._leave(frame, stack[-1] if stack else None)
            if not stack:
                return top.seen.tree or EMPTY_TREE

    def _root_frame(self) -> FolderFrame:
        try:
            opened = self._folders.open("")
            self._index.begin(opened, self._intake.started_ns, self._stop)
            rules = Rules().with_text(exclude_text(opened), "")
            frame = FolderFrame("", rules, "", FOLDER_MODE, self._old.folders.get("", _UNKNOWN))
            self._list(frame, opened)
        except OSError as error:
            raise SnapshotError(
                f"{self._folders.root} cannot be read: {error.strerror}; make it readable, or work elsewhere"
            ) from error
        return frame

    def _enter(self, above: FolderFrame, name: str, mode: int | None, cover: Cover) -> FolderFrame | None:
        """Return the frame of a folder after listing it, None when it is left out, cannot be read or is gone.

        `mode` is None where its parent was not listed.
        """
        path = above.join(name)
        rules, repository = above.rules, above.repository
        known = self._old.folders.get(path, _UNKNOWN)
        listing = known.listing if known.rules == rules.key + _COVER_MARKS[cover] else None
        try:
            if listing is not None and (status := self._index.proves(path, listing)) is not None:
                frame = self._unchanged_frame(above, path, status.st_mode, listing, cover)
                if frame is not None:
                    return frame
            if mode is None:
                mode = self._folders.open(above.path, unlock=False).status(name).st_mode
            is_closed = bool(~mode & _ENTERED) and (name in above.known.folders or self._wanted.knows(path))
            opened = self._folders.open(path, unlock=is_closed)
            if listing is not None and (modes := self._modes_if_same(path, known, listing, opened)) is not None:
                frame = self._unchanged_frame(above, path, mode, listing, cover, modes)
                if frame is not None:
                    return frame
            if is_repository(opened):
                # Another repository has rules and an index of its own.
                rules, repository = Rules(key=path).with_text(exclude_text(opened), path), path
            if cover in ("kept", "private"):
                reason = self._reason_against_folder(opened)
                if reason is not None:
                    self._skip(above, name, reason)
                    if not self._wanted.wants_below(path, above.repository):
                        return None
                    cover = "wanted"
                elif cover == "kept" and not self._wanted.shows_below(path, above.repository):
                    # What is below needs no mark of its own.
                    self._private.append(path)
                    cover = "private"
            frame = FolderFrame(path, rules, repository, stat.S_IMODE(mode), known, cover, above.is_made)
            self._list(frame, opened)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self._skip(above, name, UNREADABLE if cover == "plain" else IGNORED)
            return None
        return frame

    def _reason_against_folder(self, opened: OpenFolder) -> str | None:
        """Return why nothing new in an ignored folder is recorded, None when what its limits admit is."""
        with opened.listing() as entries:
            names = [entry.name for entry in islice(entries, max(0, self._kept.entries_left) + 1)]
        if self._kept.admits(names):
            return None
        return IGNORED_MANY if MARKERS.isdisjoint(names) else MADE_AGAIN

    def _modes_if_same(self, path: str, known: KnownFolder, listing: Listing, opened: OpenFolder) -> list[int] | None:
        """Return the modes of the folders in a folder that still is what the last scan found, None for any other.

        Most folders are: without work in Python for each entry this costs little more than the calls of the system.
        """
        before = os.fstat(opened.descriptor)
        statuses = _statuses_if_same(listing, opened)
        if statuses is None:
            return None
        modes = [statuses[position].st_mode for position in listing.folders]
        if not all(map(stat.S_ISDIR, modes)):
            return None
        self._index.add(path, listing, known.files, before, statuses)
        return modes

    def _unchanged_frame(
        self,
        above: FolderFrame,
        path: str,
        mode: int,
        listing: Listing,
        cover: Cover,
        modes: Iterable[int] | None = None,
    ) -> FolderFrame | None:
        """Return the frame of an unchanged folder, as `_list` would leave it; None where the limits no longer admit what is in it.

        `modes` are those of the folders in it, where they were examined.
        """
        if self._stop.is_set():
            raise ScanStoppedError
        if cover == "private" and not self._kept.admits(listing.names):
            return None
        known = self._old.folders[path]
        seen = known
        if listing.folders:
            ignored, private = set(known.ignored), set(known.private)
            seen = KnownFolder(known.rules, files=known.files, ignored=ignored, private=private, listing=listing)
        frame = FolderFrame(
            path,
            above.rules,
            above.repository,
            stat.S_IMODE(mode),
            known,
            cover,
            above.is_made,
            seen,
            listing.modes,
        )
        for position, inner in zip(listing.folders, modes or [None] * len(listing.folders), strict=True):
            self._meet_folder(frame, listing.names[position], inner, is_same=True)
        return frame

    def _list(self, frame: FolderFrame, opened: OpenFolder) -> None:
        """List a folder: skip files with a known stamp, record the others, and add folders to `pending`."""
        if self._stop.is_set():
            raise ScanStoppedError
        with opened.listing() as entries:
            text = _ignore_text(opened)
            if text and frame.path:
                frame.is_made |= frame.path.rpartition("/")[2] in MADE_BY or _has_marker(opened)
            frame.rules = frame.rules.with_text(text, frame.path)
            frame.seen.rules = frame.rules.key + _COVER_MARKS[frame.cover]
            is_same = frame.known.rules == frame.seen.rules
            known_files = frame.known.files if is_same else {}
            files, modes, is_dir, bits = frame.seen.files, frame.modes, stat.S_ISDIR, stat.S_IMODE
            names: list[str] = []
            for entry in entries:
                name = entry.name
                names.append(name)
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                mode = status.st_mode
                if is_dir(mode):
                    self._meet_folder(frame, name, mode, is_same)
                    continue
                known = known_files.get(name)
                if known is not None and known[0] == (
                    mode,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                ):
                    files[name] = known
                    if known[1] != LINK:
                        modes[bits(mode)] += 1
                    continue
                self._meet_file(frame, opened, name, status)
        if is_same and frame.known.ignored:
            same = {name for name in frame.known.ignored if name in files and files[name] is known_files.get(name)}
            frame.seen.ignored |= same
            frame.seen.private |= frame.known.private & same
        if frame.path and ".gitignore" not in names:
            frame.seen.listing = _listing_of(frame, names)
            if frame.seen.listing is not None:
                self._index.count(frame.seen.listing)

    def _meet_folder(self, frame: FolderFrame, name: str, mode: int | None, is_same: bool) -> None:
        path = frame.join(name)
        if name == ".git":
            if frame.path:
                self._skip(frame, name, REPOSITORY)
            return
        if path in self._own:
            self._skip(frame, name, OWN_DATA)
            return
        if frame.cover != "plain" or (is_same and name in frame.known.ignored):
            is_ignored = True
        elif is_same and name in frame.known.folders:
            is_ignored = False
        else:
            is_ignored = frame.rules.ignores(path, is_folder=True)
        if not is_ignored:
            frame.pending.append((name, mode, "plain"))
            return
        frame.seen.ignored.add(name)
        is_made = frame.is_made or name in MADE_BY
        if frame.cover != "wanted" and self._kept.is_on and not is_made:
            frame.pending.append((name, mode, "private" if frame.cover == "private" else "kept"))
            return
        self._skip(frame, name, MADE_AGAIN if is_made else IGNORED)
        if self._wanted.wants_below(path, frame.repository):
            frame.pending.append((name, mode, "wanted"))

    def _meet_file(self, frame: FolderFrame, opened: OpenFolder, name: str, status: os.stat_result) -> None:
        """Record a new or changed file or link, or the reason why it is skipped."""
        path = frame.join(name)
        if name == ".git":
            if frame.path:
                self._skip(frame, name, REPOSITORY)
            return
        if is_temporary(name):
            if is_left_over(name, status, now_ns=self._intake.started_ns):
                with suppress(OSError):  # the next scan tries again
                    opened.remove(name)
            return
        reason = self._intake.reason_against(frame, path, name, status)
        whole = self._wanted.whole.get(path) if reason is None else None
        if whole is not None and whole[0] == full_stamp(status):
            frame.seen.files[name] = whole
            frame.modes[stat.S_IMODE(status.st_mode)] += 1
            frame.is_changed = True
            return
        special = special_entry(status, HUGE_BYTES) if reason is None else None
        if special is not None:
            self._special[path] = special
            frame.has_skipped = True
            reason = HUGE if special.kind == "huge" else None
        elif reason is None:
            try:
                self._intake.record(frame, opened, path, status)
            except FileNotFoundError:
                return
            except OSError:
                reason = UNREADABLE
        if reason is not None:
            self._skip(frame, name, reason)

    def _skip(self, frame: FolderFrame, name: str, reason: str) -> None:
        self._skipped[frame.join(name)] = reason
        frame.has_skipped = True

    def _leave(self, frame: FolderFrame, above: FolderFrame | None) -> None:
        """Make the tree of a finished folder, and add it to the folder above."""
        seen, known = frame.seen, frame.known
        is_same = seen is known or (
            not frame.is_changed
            and (seen.files is known.files or seen.files.keys() == known.files.keys())
            and seen.folders == known.folders
            and bool(known.tree)
        )
        if is_same:
            seen.tree = known.tree
        elif seen.files or any(seen.folders.values()):
            below = {name: (FOLDER, tree) for name, tree in seen.folders.items() if tree}
            files = {name: (mode, file_id) for name, (_, mode, file_id) in seen.files.items()}
            seen.tree = self._writer.add("tree", encode({**files, **below}))
        self._collect(frame, is_bare=not seen.files and not seen.folders and not frame.has_skipped)
        if above is not None:
            self._put(frame, above)

    def _put(self, frame: FolderFrame, above: FolderFrame) -> None:
        if frame.seen.tree or frame.cover != "wanted":
            above.seen.folders[frame.path.rpartition("/")[2]] = frame.seen.tree

    def _collect(self, frame: FolderFrame, *, is_bare: bool) -> None:
        """Collect a finished folder's data for the manifest."""
        seen, known = frame.seen, frame.known
        if known.outside:
            seen.outside |= {name for name in known.outside if seen.files.get(name, _GONE) is known.files.get(name)}
        for name in seen.outside:
            self._skipped[frame.join(name)] = OUTSIDE
        self._new.folders[frame.path] = seen
        self._modes.files[frame.path] = frame.modes
        if seen.private:
            if seen is not known:
                seen.kept = sum(max(0, seen.files[name][0][1]) for name in seen.private if name in seen.files)
            if frame.cover != "private":
                self._private += [frame.join(name) for name in seen.private]
        if frame.path and (seen.tree or frame.cover != "wanted"):
            self._modes.folders[frame.path] = frame.mode
            if is_bare and frame.cover != "wanted":
                self._bare.append(frame.path)

    def _manifest(self) -> Manifest:
        defaults, modes = self._modes.summarize(self._new.folders)
        return Manifest(
            defaults,
            modes,
            frozenset(self._bare),
            self._skipped,
            special=self._special,
            private=frozenset(self._private),
        )


def _listing_of(frame: FolderFrame, names: list[str]) -> Listing | None:
    """Return the listing of a folder in which everything is recorded alike, and no file so young that it must be read again."""
    seen = frame.seen
    is_alike = (
        not seen.ignored if frame.cover == "plain" else frame.cover == "private" and seen.private == seen.files.keys()
    )
    if not is_alike or frame.has_skipped or len(seen.files) + len(frame.pending) != len(names):
        return None
    folders = {name for name, _, _ in frame.pending}
    stamps = [None if name in folders else seen.files[name][0] for name in names]
    if any(stamp is not None and stamp[1] < 0 for stamp in stamps):
        return None
    return Listing(names, stamps, [at for at, stamp in enumerate(stamps) if stamp is None], frame.modes)


def _statuses_if_same(listing: Listing, opened: OpenFolder) -> list[os.stat_result] | None:
    """Return the status of each entry of a folder that has the names of its listing, and its files their stamps; else None."""
    with opened.listing() as found:
        entries = list(found)
        if [entry.name for entry in entries] != listing.names:
            return None
        try:
            statuses = [entry.stat(follow_symlinks=False) for entry in entries]
        except FileNotFoundError:
            return None
    stamps: list[Stamp | None] = list(map(full_stamp, statuses))
    for position in listing.folders:
        stamps[position] = None
    return statuses if stamps == listing.stamps else None


def _has_marker(folder: OpenFolder) -> bool:
    return any(folder.find(name) is not None for name in MARKERS)


def _ignore_text(folder: OpenFolder) -> str:
    """Return the text of the ignore file in a folder; "" for anything else, as git does."""
    try:
        return text_of_rules(folder.read(".gitignore", LIMIT_BYTES)[0])
    except OSError:
        return ""


def _is_backed(cache: StatCache, store: ObjectStore) -> bool:
    """Return whether all objects of the cache are stored, in the same packs or in merged ones."""
    if cache.packs.items() <= store.holdings().items():
        return True
    return all(store.contains(bytes.fromhex(name)) for name in cache.names())
