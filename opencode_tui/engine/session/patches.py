"""What a stretch of a conversation did to files: its steps' patches, those of the agents that worked for it among them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.session.diff_merge import merge
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.engine.session.undo_range import changes_of, work_of
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.part import AnyPart, PatchPart

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

FOREIGN = "another program recorded this step; what it kept of the files is not here"
CLEANED = "what was kept of the files has been cleaned away"
_ALL = 1 << 30


class Usable(Struct, frozen=True):
    """Patches whose states are at hand, oldest first, and the files, with the reason, of those whose are not."""

    patches: list[Patch]
    lost: dict[str, str]


async def patches_of(store: SessionStore, parts: Sequence[AnyPart], *, seen: set[str] | None = None) -> list[Patch]:
    """Return the patches among these parts, oldest first; a child session's stand in the place of its call, each once."""
    seen = set[str]() if seen is None else seen
    found: list[Patch] = []
    for change in changes_of(parts):
        if isinstance(change, PatchPart):
            found.append(Patch(hash=change.hash, files=change.files, after=change.after))
            continue
        for message in work_of(change, await store.tail(change.session_id, _ALL)):
            if message.info.id not in seen:
                seen.add(message.info.id)
                found += await patches_of(store, message.parts, seen=seen)
    return found


async def usable(snapshots: "Snapshots", patches: Sequence[Patch]) -> Usable:
    """Return the patches without files that one of them cannot speak for: going back half of a file's way restores nothing."""
    if not patches:
        return Usable([], {})
    if snapshots.unavailable is not None:
        return Usable([], {file: snapshots.unavailable for patch in patches for file in patch.files})
    missing = await snapshots.missing({name for patch in patches for name in (patch.hash, patch.after) if name})
    lost: dict[str, str] = {}
    kept: list[Patch] = []
    for patch in patches:
        if missing.intersection((patch.hash, patch.after)):
            lost.update({file: CLEANED if patch.after else FOREIGN for file in patch.files})
        else:
            kept.append(patch)
    # A step of which only files without a state are left still tells what its states do not hold.
    return Usable([patch.changed(files=[file for file in patch.files if file not in lost]) for patch in kept], lost)


async def net_changes(snapshots: "Snapshots", patches: Sequence[Patch]) -> list[FileDiff]:
    """Return each file's change from before its first patch to after its last; of files without a state after nothing is told.

    Raises SnapshotError when a state is not at hand.
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
