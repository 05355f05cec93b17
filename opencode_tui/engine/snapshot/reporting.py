"""Previews and reports, made from plans and their outcomes."""

from collections.abc import Mapping, Sequence

from opencode_tui.engine.snapshot.entry import NOT_LOOKED, OWN_DATA, State, Unknown, parents
from opencode_tui.engine.snapshot.objects.diff import count_lines, text_of
from opencode_tui.engine.snapshot.objects.manifest import Manifest
from opencode_tui.engine.snapshot.objects.view import View, open_view
from opencode_tui.engine.snapshot.report import Patch, PathNote, Preview, Report
from opencode_tui.engine.snapshot.revert.plan import Plan, Step
from opencode_tui.engine.snapshot.skipped import keep_touched
from opencode_tui.engine.snapshot.worktree import Reverted, Worktree
from opencode_tui.schema.error import SnapshotError


def path_notes(reasons: Mapping[str, str]) -> list[PathNote]:
    """Return paths with their reasons, sorted; "" is the worktree itself."""
    return [PathNote(path=path or ".", reason=reason) for path, reason in sorted(reasons.items())]


def unrecorded_paths(tree: Worktree, patches: Sequence[Patch]) -> dict[str, str]:
    """Return the paths that the patches' steps changed without a record, relative to the worktree, with the reasons.

    Raises SnapshotError when a snapshot with files to revert is incomplete.
    """
    found: dict[str, str] = {}
    for patch in patches:
        before, after = _manifest(tree, patch.hash, patch), _manifest(tree, patch.after, patch)
        skipped = keep_touched({**before.skipped, **after.skipped}, after.touched)
        found.update({path: reason for path, reason in skipped.items() if reason not in (NOT_LOOKED, OWN_DATA)})
    return found


def _manifest(tree: Worktree, name: str | None, patch: Patch) -> Manifest:
    try:
        return open_view(tree.store, name).manifest if name else Manifest()
    except SnapshotError:
        if patch.files:
            raise
        return Manifest()


def preview_of(tree: Worktree, plan: Plan, unprotected: Mapping[str, str]) -> Preview:
    """Return the effect that a plan would have; raises SnapshotError when the store is damaged."""
    additions = deletions = 0
    steps = _reported_steps(plan.steps, plan)
    for step in steps:
        is_leaf = step.target is not None and step.target.kind != "folder"
        target = tree.store.read(step.target.id, "blob") if step.target is not None and is_leaf else b""
        before, after = text_of(tree.observe_path(step.path).data), text_of(target)
        if before is not None and after is not None:
            added, deleted = count_lines(before, after)
            additions, deletions = additions + added, deletions + deleted
    return Preview(
        restored=[tree.absolute(step.path) for step in steps if step.target is not None],
        deleted=[tree.absolute(step.path) for step in steps if step.target is None],
        conflicts=_absolute(tree, {**plan.conflicts, **plan.unreadable}),
        unprotected=_absolute(tree, {**unprotected, **plan.unprotected}),
        additions=additions,
        deletions=deletions,
    )


def report_of(tree: Worktree, reverted: Reverted, unprotected: Mapping[str, str]) -> Report:
    """Return the report of an executed revert."""
    outcome = reverted.outcome
    done = _reported_steps(outcome.done, reverted.plan)
    return Report(
        before=reverted.before.id,
        after=reverted.after.id,
        restored=sorted(tree.absolute(step.path) for step in done if step.target is not None),
        deleted=sorted(tree.absolute(step.path) for step in done if step.target is None),
        conflicts=_absolute(tree, {**reverted.plan.conflicts, **outcome.conflicts}),
        unprotected=_absolute(tree, {**unprotected, **reverted.plan.unprotected}),
        failed=_absolute(tree, {**reverted.plan.unreadable, **outcome.failed}),
    )


def combine(tree: Worktree, active: Report, report: Report) -> Report:
    """Return one report for a revert that replaced an active one: from before the first to after the second."""
    first, after = open_view(tree.store, active.before), open_view(tree.store, report.after)
    files = _inner(tree, [*active.restored, *active.deleted])
    # A path that failed may have been changed all the same, when only its verification failed.
    refused = _inner(tree, [remark.path for remark in active.failed])
    files |= {path for path in refused if not isinstance(first.state(path), Unknown)}
    own = _inner(tree, [*report.restored, *report.deleted])
    before = tree.overlay(open_view(tree.store, report.before), first, files)
    changed = [path for path in sorted(files | own) if before.state(path) != after.state(path)]
    changed = sorted({*changed, *_made_or_removed(files | own, changed, before, after)})
    return report.changed(
        before=before.id,
        restored=[tree.absolute(path) for path in changed if after.state(path) is not None],
        deleted=[tree.absolute(path) for path in changed if after.state(path) is None],
    )


def _made_or_removed(paths: set[str], changed: Sequence[str], before: View, after: View) -> set[str]:
    """Return the folders above these paths that appeared or disappeared without a changed path in them."""
    followed = {folder for path in changed for folder in parents(path)}
    return {
        folder
        for path in paths
        for folder in parents(path)
        if folder not in followed and _has_come_or_gone(before.state(folder), after.state(folder))
    }


def _has_come_or_gone(before: State, after: State) -> bool:
    return not isinstance(before, Unknown) and not isinstance(after, Unknown) and (before is None) != (after is None)


def _inner(tree: Worktree, files: Sequence[str]) -> set[str]:
    return {inner for file in files if (inner := tree.relative(file)) is not None}


def _reported_steps(steps: Sequence[Step], plan: Plan) -> list[Step]:
    """Return the steps without implied folders that contain another step's path."""
    above = {folder for step in steps for folder in parents(step.path)}
    return [step for step in steps if not (step.path in plan.implied and step.path in above)]


def _absolute(tree: Worktree, reasons: Mapping[str, str]) -> list[PathNote]:
    return [
        PathNote(path=tree.absolute(path) if path else tree.root, reason=why) for path, why in sorted(reasons.items())
    ]
