"""The plan of a revert, made from three states of each path: before the change, after it, and now.

A path is changed only where its present state is the one that the change left. Any other state is a conflict, reported and left
unchanged. Over several patches of one path, each must begin with the state in which the previous one ended. A path is deleted only
where a snapshot proves that it was absent. Source: docs/internals/snapshots.md#plan.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from opencode_tui.engine.snapshot.entry import (
    FOLDER_MODE,
    HUGE,
    UNREADABLE,
    Entry,
    State,
    Unknown,
    above,
    folders_above,
    is_folder,
    unrestorable,
)
from opencode_tui.engine.snapshot.objects.changes import Change
from opencode_tui.engine.snapshot.objects.view import View

CHANGED_SINCE = "it was changed since"
CHANGED_BETWEEN = "changed outside the session"
CONTESTED = "possibly changed concurrently"
NO_RECORD = "no snapshot for this step"
IN_THE_WAY = "a file or a link is where its folder should be"
NOT_EMPTY = "the folder holds something else"


@dataclass(frozen=True, slots=True)
class PathChange:
    """One change of one path: its states in the snapshots before and after; `after` None: there is no such snapshot."""

    before: View
    after: View | None
    is_contested: bool = False

    def change(self, path: str) -> Change:
        """Return the two states."""
        return self.before.state(path), self.after.state(path) if self.after else Unknown(NO_RECORD)


@dataclass(frozen=True, slots=True)
class Step:
    """The change of one path from its present state to its target; both are certain.

    `time` is when a file of the target was changed last, in ns; None: unknown, the time of the revert.
    """

    path: str
    now: Entry | None
    target: Entry | None
    time: int | None = None


@dataclass(slots=True)
class Plan:
    """Steps in the order of their paths, and the paths without a step, with the reasons; `paths` are all requested ones.

    `unreadable`: paths that cannot be read now; another attempt may succeed.
    `implied`: folders that were not requested, and that appeared or disappeared with their content; failures are not reported.
    `folder_modes`: modes of folders that may have to be made. `removable`: folders to remove if they are empty afterwards.
    `private`: requested paths whose content is only for undo.
    """

    steps: list[Step] = field(default_factory=list[Step])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    unprotected: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    folder_modes: dict[str, int] = field(default_factory=dict[str, int])
    removable: set[str] = field(default_factory=set[str])
    paths: tuple[str, ...] = ()
    implied: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()


def make_plan(
    chains: Mapping[str, Sequence[PathChange]],
    observe: Callable[[str], State],
    list_names: Callable[[str], Sequence[str]],
    *,
    asked: frozenset[str],
) -> Plan:
    """Return the plan for these paths, each with its changes in the order in which they happened.

    `asked` are the requested paths; the others are folders above them. `list_names` returns what is in a folder now.

    Raises SnapshotError when a snapshot is damaged, OSError when the worktree cannot be read.
    """
    plan = Plan(paths=tuple(sorted(chains)), implied=frozenset(chains.keys() - asked))
    for path in sorted(chains):
        step = _decide(plan, path, chains[path], observe(path))
        if step is not None:
            plan.steps.append(step)
    for path in plan.implied:
        for reasons in (plan.conflicts, plan.unprotected, plan.unreadable):
            reasons.pop(path, None)
    _keep_folders(plan, chains)
    _drop_blocked(plan, observe)
    _keep_filled_folders(plan, list_names)
    _plan_folders(plan, chains)
    return plan


def _decide(plan: Plan, path: str, links: Sequence[PathChange], now: State) -> Step | None:
    """Return the step for a path; without one, add the reason, if there is one, to the plan."""
    changes = [link.change(path) for link in links]
    target, expected = changes[0][0], changes[-1][1]
    if now == target:
        return None
    if isinstance(target, Unknown):
        plan.unprotected[path] = target.reason
    elif (reason := _why_kept(target, expected)) is not None:
        plan.unprotected[path] = reason
    elif any(link.is_contested for link in links):
        plan.conflicts[path] = CONTESTED
    elif any(link.after is None for link in links):
        plan.conflicts[path] = NO_RECORD
    elif isinstance(expected, Unknown):
        plan.unprotected[path] = expected.reason
    elif any(first[1] != second[0] for first, second in itertools.pairwise(changes)):
        plan.conflicts[path] = CHANGED_BETWEEN
    elif now == Unknown(UNREADABLE):
        plan.unreadable[path] = UNREADABLE
    elif isinstance(now, Unknown) or now != expected:
        plan.conflicts[path] = CHANGED_SINCE
    else:
        return Step(path, now, target, _time_of(path, links[0]))
    return None


def _time_of(path: str, first: PathChange) -> int | None:
    return first.after.manifest.times.get(path) if first.after is not None else None


def _why_kept(target: State, expected: State) -> str | None:
    """Return why a path cannot go back to its target, or must stay because nothing would bring it back again."""
    reason = unrestorable(target)
    is_huge = isinstance(expected, Entry) and expected.kind == "huge"
    return HUGE if reason is None and target is None and is_huge else reason


def _keep_folders(plan: Plan, chains: Mapping[str, Sequence[PathChange]]) -> None:
    """Keep folders that the patches made and that have to contain a restored path of somebody else."""
    needed = folders_above(step.path for step in plan.steps if step.target is not None)
    steps = [
        Step(step.path, step.now, _last_folder(chains[step.path], step.path))
        if step.target is None and step.path in needed
        else step
        for step in plan.steps
    ]
    plan.steps = [step for step in steps if step.now != step.target]


def _last_folder(links: Sequence[PathChange], path: str) -> Entry:
    """Return the folder as it was before the last change that found a folder there."""
    for link in reversed(links):
        state = link.before.state(path)
        if is_folder(state):
            return state
    return Entry("folder", FOLDER_MODE)


def _drop_blocked(plan: Plan, observe: Callable[[str], State]) -> None:
    """Turn steps into conflicts whose folder cannot be made because a file or link remains in its path."""
    targets = {step.path: step.target for step in plan.steps}
    blocking = {"": False}
    kept: list[Step] = []
    for step in plan.steps:
        blocked = step.target is not None and _is_blocked(above(step.path), blocking, targets, observe)
        if blocked and step.path not in plan.implied:
            plan.conflicts[step.path] = IN_THE_WAY
        elif not blocked:
            kept.append(step)
    plan.steps = kept


def _keep_filled_folders(plan: Plan, list_names: Callable[[str], Sequence[str]]) -> None:
    """Turn removals of folders in which something else remains into conflicts, as the preview must name them."""
    removed = {step.path for step in plan.steps if step.target is None}
    kept: set[str] = set()
    for step in sorted(plan.steps, key=lambda step: -step.path.count("/")):
        is_removal = is_folder(step.now) and not is_folder(step.target)
        if is_removal and any(f"{step.path}/{name}" not in removed for name in list_names(step.path)):
            removed.discard(step.path)
            kept.add(step.path)
            if step.path not in plan.implied:
                plan.conflicts[step.path] = NOT_EMPTY
    plan.steps = [step for step in plan.steps if step.path not in kept]


def _is_blocked(
    folder: str,
    blocking: dict[str, bool],
    targets: Mapping[str, Entry | None],
    observe: Callable[[str], State],
) -> bool:
    """Return whether a folder, or one above it, will be something else; `blocking` keeps what was found."""
    missing: list[str] = []
    while folder not in blocking:
        missing.append(folder)
        folder = above(folder)
    found = blocking[folder]
    for inner in reversed(missing):
        state = targets[inner] if inner in targets else observe(inner)
        found = blocking[inner] = found or (state is not None and not is_folder(state))
    return found


def _plan_folders(plan: Plan, chains: Mapping[str, Sequence[PathChange]]) -> None:
    """Add the modes of the folders above the steps, in case they have to be made."""
    seen: set[tuple[int, str]] = set()
    for step in plan.steps:
        before = chains[step.path][0].before
        folder = above(step.path)
        while folder and (id(before), folder) not in seen:
            seen.add((id(before), folder))
            state = before.state(folder)
            if is_folder(state):
                plan.folder_modes[folder] = state.mode
            folder = above(folder)
