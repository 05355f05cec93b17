"""The changes between two states as texts and line counts."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Literal

from opencode_tui.engine.snapshot.entry import Entry, State, is_folder, is_leaf, is_special
from opencode_tui.engine.snapshot.objects.changes import Change
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.schema.session.diff import IGNORED, FileDiff, lines_of

_SAMPLE_BYTES = 8000
_MATCHED_LINES = 20_000
"""Above this many differing lines all count as replaced, because matching them would take seconds."""


def file_diffs(store: ObjectStore, changes: Mapping[str, Change]) -> list[FileDiff]:
    """Return the changed files, sorted; folders and paths without a recorded content are left out.

    Binary files have empty texts and no lines. A file that changed only its mode has equal texts. Raises SnapshotError.
    """
    return [diff_of(store, path, change) for path, change in sorted(changes.items()) if _has_text(change)]


def diff_of(store: ObjectStore, path: str, change: Change) -> FileDiff:
    """Return the change of one file; raises SnapshotError."""
    before, after = (_text(store, state) for state in change)
    is_binary = before is None or after is None
    if before is None or after is None:
        before = after = ""
    additions, deletions = count_lines(before, after)
    diff = FileDiff(
        file=path, before=before, after=after, additions=additions, deletions=deletions, status=_status(change)
    )
    return diff.changed(note=_note(change, is_binary=is_binary))


def name_changes(changes: Mapping[str, Change]) -> list[FileDiff]:
    """Return the changed files as `file_diffs` does, without their texts and lines."""
    return [
        FileDiff(file=path, status=_status(change)).changed(
            note=", ".join(filter(None, (_note(change, is_binary=False), IGNORED)))
        )
        for path, change in sorted(changes.items())
        if _has_text(change)
    ]


def count_lines(before: str, after: str) -> tuple[int, int]:
    """Return how many lines were added and how many deleted."""
    old, new = lines_of(before), lines_of(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) + len(new) > _MATCHED_LINES:
        return len(new), len(old)
    same = sum(block.size for block in SequenceMatcher(None, old, new).get_matching_blocks())
    return len(new) - same, len(old) - same


def text_of(data: bytes) -> str | None:
    """Return bytes as text, None when they are binary."""
    if b"\0" in data[:_SAMPLE_BYTES]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _status(change: Change) -> Literal["added", "deleted", "modified"]:
    existed, exists = (isinstance(state, Entry) and not is_folder(state) for state in change)
    if existed and exists:
        return "modified"
    return "added" if exists else "deleted"


def _note(change: Change, *, is_binary: bool) -> str | None:
    """Return the part of a change that the texts do not show: `binary`, `mode 644 → 755`, `link`, `file → fifo`."""
    old, new = (state if isinstance(state, Entry) else None for state in change)
    kinds = [state.kind for state in (old, new) if state is not None]
    notes: list[str] = []
    if any(kind not in ("file", "folder") for kind in kinds):
        notes.append(kinds[0] if len(set(kinds)) == 1 else " → ".join(kinds))
    if is_binary:
        notes.append("binary")
    if old is not None and new is not None and old.kind == new.kind == "file" and old.mode != new.mode:
        notes.append(f"mode {old.mode:o} → {new.mode:o}")
    return ", ".join(notes) or None


def _has_text(change: Change) -> bool:
    is_known = all(state is None or isinstance(state, Entry) for state in change)
    return is_known and any(is_leaf(state) or is_special(state) for state in change)


def _text(store: ObjectStore, state: State) -> str | None:
    """Return a file's text or a link's target, "" for anything else, None for a binary file and a large one."""
    if not is_leaf(state):
        return ""
    if store.kept.has(state.id):
        return None
    return text_of(store.read(state.id, "blob"))
