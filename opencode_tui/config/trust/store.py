"""The trusted folders, with the fingerprints of the reviewed content.

Trust applies to the real folder of a worktree and to the fingerprint of each of its items (`review.py`). Items that change or are
added later are not trusted. The home folder and its parents are rejected: they would cover every clone.
"""

import json
import os
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.config.trust.review import ReviewItem
from opencode_tui.schema.error import TrustError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.task_folders import task_origin

Verdict = Literal["trusted", "changed", "unknown"]


class TrustedFolder(Struct, frozen=True):
    """A worktree, when it was trusted (ms), and the fingerprint of each item by its name relative to the worktree."""

    worktree: str
    time: int
    content: dict[str, str]


class TrustStore:
    """The file of trusted folders; writers use a lock, readers see a complete file."""

    def __init__(self, *, paths: Paths, clock: Clock = system_clock) -> None:
        self._paths = paths
        self._clock = clock

    def folders(self) -> list[TrustedFolder]:
        """Return the trusted folders, sorted; raises TrustError when the file is damaged. Blocks."""
        entries = self._read()
        return [_to_folder(worktree, entries[worktree]) for worktree in sorted(entries)]

    def find(self, worktree: Path) -> TrustedFolder | None:
        """Return the trusted content of a worktree, None when it was never trusted. Raises TrustError. Blocks.

        A batch task's worktree has the trust of the one that it was made from: the same content counts in both.
        """
        origin = task_origin(self._paths, worktree)
        entry = self._read().get(str(worktree) if origin is None else origin)
        return None if entry is None else _to_folder(str(worktree), entry)

    def grant(self, worktree: Path, items: list[ReviewItem]) -> None:
        """Trust the current content of these items, in addition to earlier items of the worktree. Blocks.

        Raises TrustError for the home folder, for unreadable content, and when it cannot be stored.
        """
        check_trustable(worktree, self._paths.home)
        content: dict[str, str] = {}
        for item in items:
            fingerprint = item.fingerprint()
            if fingerprint is None:
                raise TrustError(f"{item.path} refers to files that cannot be read; fix or remove them first")
            content[item.name] = fingerprint
        with self._lock():
            entries = self._read()
            before = _to_folder(str(worktree), entries.get(str(worktree), {}))
            entries[str(worktree)] = {"time": self._clock(), "content": {**before.content, **content}}
            self._write(entries)

    def revoke(self, worktree: Path) -> bool:
        """Revoke the trust of a folder and return whether it was trusted. Raises TrustError. Blocks."""
        with self._lock():
            entries = self._read()
            if entries.pop(str(worktree), None) is None:
                return False
            self._write(entries)
        return True

    def _lock(self) -> Any:
        return Locks(self._paths).store()

    def _read(self) -> dict[str, JsonObject]:
        try:
            loaded: Any = json.loads(read_text(str(self._paths.trust)) or "{}")
        except FileNotFoundError:
            return {}
        except (UnreadableFileError, ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, UnreadableFileError) else "not valid JSON"
            raise TrustError(
                f"{self._paths.trust}: {reason}; no folder is trusted until it is fixed or removed"
            ) from None
        if not isinstance(loaded, dict) or not all(
            isinstance(one, dict) for one in cast("JsonObject", loaded).values()
        ):
            raise TrustError(
                f"{self._paths.trust}: not an object of folders; no folder is trusted until it is fixed or removed"
            )
        return cast("dict[str, JsonObject]", loaded)

    def _write(self, entries: dict[str, JsonObject]) -> None:
        data = json.dumps(entries, indent=2).encode()
        try:
            AtomicWriter(FileSystem()).write(os.path.realpath(self._paths.trust), data, durable=True)
        except OSError as error:
            raise TrustError(f"{self._paths.trust} cannot be written, and is unchanged: {cause_of(error)}") from error


def judge(folder: TrustedFolder | None, item: ReviewItem) -> Verdict:
    """Return whether an item is trusted, changed (or was added) since, or its folder is not trusted. Blocks."""
    if folder is None:
        return "unknown"
    known = folder.content.get(item.name)
    return "trusted" if known is not None and known == item.fingerprint() else "changed"


def check_trustable(worktree: Path, home: Path) -> None:
    """Raise TrustError for the home folder and its parents."""
    real_home = Path(os.path.realpath(home))
    if real_home.is_relative_to(worktree):
        name = "your home folder" if worktree == real_home else "a folder that contains your home folder"
        raise TrustError(f"{worktree}: {name} can't be trusted; trust a single project instead")


def _to_folder(worktree: str, entry: JsonObject) -> TrustedFolder:
    time, content = entry.get("time"), entry.get("content")
    pairs = cast("JsonObject", content).items() if isinstance(content, dict) else ()
    texts = {name: value for name, value in pairs if isinstance(value, str)}
    return TrustedFolder(worktree, time if isinstance(time, int) else 0, texts)
