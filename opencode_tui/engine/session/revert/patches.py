"""The changes of files by a range of a conversation: the patches of its steps and of the agents that they started.

Their net change per file is stored as the summary of a session and reverted by an undo. Every run computes it, so nothing of
the snapshots is imported here before a file has changed.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.range import UncoveredCall, changes_of, work_of
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.part import AnyPart, PatchPart
from opencode_tui.schema.session.session import SessionSummary

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

TEXT_LIMIT = 1_000_000
"""Maximum characters of a change's two texts together; above it only the counts of lines are stored."""

TOO_LARGE = "too large to show"

FOREIGN = "another program recorded this step; its snapshots are not available here"
CLEANED = "the snapshots have been cleaned up"
_ALL = 1 << 30


class RevertablePatches(Struct, frozen=True):
    """Patches with available snapshots, oldest first, and all other changed files with the reason."""

    patches: list[Patch]
    lost: dict[str, str]


async def patches_of(store: SessionStore, parts: Sequence[AnyPart]) -> list[Patch]:
    """Return the patches among these parts, oldest first; those of a child session replace its call, each once."""
    return [change for change in await changes_in(store, parts) if isinstance(change, Patch)]


async def changes_in(
    store: SessionStore, parts: Sequence[AnyPart], *, seen: set[str] | None = None
) -> list[Patch | UncoveredCall]:
    """Return the changes of these parts and of the child sessions that they started; messages in `seen` are skipped."""
    seen = set[str]() if seen is None else seen
    found: list[Patch | UncoveredCall] = []
    for change in changes_of(parts):
        if isinstance(change, PatchPart):
            found.append(Patch(hash=change.hash, files=change.files, after=change.after))
        elif isinstance(change, UncoveredCall):
            found.append(change)
        else:
            for message in work_of(change, await store.tail(change.session_id, _ALL)):
                if message.info.id not in seen:
                    seen.add(message.info.id)
                    found += await changes_in(store, message.parts, seen=seen)
    return found


async def usable(snapshots: "Snapshots", patches: Sequence[Patch]) -> RevertablePatches:
    """Return the patches without files for which one of them has no snapshot: reverting part of a file's changes is useless."""
    if not patches:
        return RevertablePatches([], {})
    if snapshots.unavailable is not None:
        return RevertablePatches([], {file: snapshots.unavailable for patch in patches for file in patch.files})
    missing = await snapshots.missing({name for patch in patches for name in (patch.hash, patch.after) if name})
    lost: dict[str, str] = {}
    available: list[Patch] = []
    for patch in patches:
        if missing.intersection((patch.hash, patch.after)):
            lost.update({file: CLEANED if patch.after else FOREIGN for file in patch.files})
        else:
            available.append(patch)
    # A step with only files without a snapshot left still reports what its snapshots do not contain.
    return RevertablePatches(
        [patch.changed(files=[file for file in patch.files if file not in lost]) for patch in available], lost
    )


async def net_changes(snapshots: "Snapshots", patches: Sequence[Patch]) -> list[FileDiff]:
    """Return each file's change from before its first patch to after its last, without files that have no snapshot after it.

    Raises SnapshotError when a snapshot is not available.
    """
    ends: dict[str, tuple[str, str | None]] = {}
    for patch in patches:
        for file in patch.files:
            ends[file] = (ends.get(file, (patch.hash,))[0], patch.after)
    groups: dict[tuple[str, str], list[str]] = {}
    for file, (before, after) in ends.items():
        if after is not None:
            groups.setdefault((before, after), []).append(file)
    return merge([await snapshots.diff(before, after, files) for (before, after), files in groups.items()])


def truncate(changes: Sequence[FileDiff]) -> list[FileDiff]:
    """Return the changes, without texts where these are too large."""
    return [
        change if len(change.before) + len(change.after) <= TEXT_LIMIT else _without_text(change) for change in changes
    ]


def merge(changes: Iterable[Sequence[FileDiff]]) -> list[FileDiff]:
    """Return each file's change from before the first to after the last, by name, without files that did not change."""
    merged: dict[str, FileDiff] = {}
    for group in changes:
        for change in group:
            earlier = merged.pop(change.file, None)
            whole = change if earlier is None else _joined(earlier, change)
            if whole is not None:
                merged[change.file] = whole
    return [merged[file] for file in sorted(merged)]


def totals(changes: Sequence[FileDiff]) -> SessionSummary:
    """Return the counts of changed lines and files."""
    return SessionSummary(
        additions=sum(change.additions for change in changes),
        deletions=sum(change.deletions for change in changes),
        files=len(changes),
    )


def status_of(change: FileDiff) -> Literal["added", "deleted", "modified"]:
    """Return the kind of a change; derived from the texts in older records, which do not store it."""
    if change.status is not None:
        return change.status
    if not change.before and change.after:
        return "added"
    return "deleted" if change.before and not change.after else "modified"


def _joined(first: FileDiff, second: FileDiff) -> FileDiff | None:
    existed, exists = status_of(first) != "added", status_of(second) != "deleted"
    if not existed and not exists:
        return None
    if _is_truncated(first) or _is_truncated(second):
        return _added_up(_without_text(first), _without_text(second), existed=existed, exists=exists)
    has_text = bool(first.before)
    if (
        existed
        and exists
        and has_text
        and first.before == second.after
        and not (_is_textless(first) or _is_textless(second))
    ):
        return None
    from opencode_tui.engine.snapshot.objects.diff import count_lines  # only for files that changed twice

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


def _is_truncated(change: FileDiff) -> bool:
    """Return whether a change has counts of lines and no texts."""
    return not change.before and not change.after and bool(change.additions or change.deletions)


def _is_textless(change: FileDiff) -> bool:
    """Return whether something other than text changed: the mode, or binary content."""
    return change.before == change.after
