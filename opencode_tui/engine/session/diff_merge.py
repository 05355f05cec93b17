"""Pure: changes of files one after another, told as one."""

from collections.abc import Iterable, Sequence
from typing import Literal

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.session import SessionSummary

TEXT_LIMIT = 1_000_000
"""Characters of a change's two texts together, above which only its numbers are kept: records hold these texts."""

TOO_LARGE = "too large to show"


def cut(changes: Sequence[FileDiff]) -> list[FileDiff]:
    """Return the changes without the texts of those that are too large."""
    return [
        change if len(change.before) + len(change.after) <= TEXT_LIMIT else _without_text(change) for change in changes
    ]


def merge(changes: Iterable[Sequence[FileDiff]]) -> list[FileDiff]:
    """Return each file's change from before the first to after the last, by name; what came to nothing is left out."""
    merged: dict[str, FileDiff] = {}
    for group in changes:
        for change in group:
            earlier = merged.pop(change.file, None)
            whole = change if earlier is None else _joined(earlier, change)
            if whole is not None:
                merged[change.file] = whole
    return [merged[file] for file in sorted(merged)]


def totals(changes: Sequence[FileDiff]) -> SessionSummary:
    """Return the lines and files that changed."""
    return SessionSummary(
        additions=sum(change.additions for change in changes),
        deletions=sum(change.deletions for change in changes),
        files=len(changes),
    )


def status_of(change: FileDiff) -> Literal["added", "deleted", "modified"]:
    """Return what became of a file; older records do not say it and are read by their texts."""
    if change.status is not None:
        return change.status
    if not change.before and change.after:
        return "added"
    return "deleted" if change.before and not change.after else "modified"


def _joined(first: FileDiff, second: FileDiff) -> FileDiff | None:
    existed, exists = status_of(first) != "added", status_of(second) != "deleted"
    if not existed and not exists:
        return None
    if _is_cut(first) or _is_cut(second):
        return _added_up(_without_text(first), _without_text(second), existed=existed, exists=exists)
    has_text = bool(first.before)
    if existed and exists and has_text and first.before == second.after and not (_is_bare(first) or _is_bare(second)):
        return None
    from opencode_tui.engine.snapshot.diff import count_lines  # only for a file that changed twice

    additions, deletions = count_lines(first.before, second.after)
    return second.changed(
        before=first.before,
        additions=additions,
        deletions=deletions,
        status=_status(existed=existed, exists=exists),
        note=second.note or first.note,
    )


def _added_up(first: FileDiff, second: FileDiff, *, existed: bool, exists: bool) -> FileDiff:
    return second.changed(
        additions=first.additions + second.additions,
        deletions=first.deletions + second.deletions,
        status=_status(existed=existed, exists=exists),
    )


def _status(*, existed: bool, exists: bool) -> Literal["added", "deleted", "modified"]:
    if existed and exists:
        return "modified"
    return "added" if exists else "deleted"


def _without_text(change: FileDiff) -> FileDiff:
    return change.changed(before="", after="", status=status_of(change), note=TOO_LARGE)


def _is_cut(change: FileDiff) -> bool:
    """Tell whether a change has numbers and no texts."""
    return not change.before and not change.after and bool(change.additions or change.deletions)


def _is_bare(change: FileDiff) -> bool:
    """Tell whether something else than the text changed: the mode, or bytes that are no text."""
    return change.before == change.after
