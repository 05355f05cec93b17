"""What a revert will do, decided from three states of each path: before the change, after it, and now.

A path is written only where now is what the change left. Whatever else stands there is somebody's work: a conflict, named and left
alone. Over several patches of one path each must begin where the one before ended. A path is deleted only where a snapshot proves
that it was absent. Source: SPEC, section 5.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from opencode_tui.engine.snapshot.entry import FOLDER_MODE, UNREADABLE, Entry, State, Unknown, parents
from opencode_tui.engine.snapshot.objects.changes import Change
from opencode_tui.engine.snapshot.objects.view import View

CHANGED_SINCE = "it was changed since"
CHANGED_BETWEEN = "it was changed by somebody else between two steps"
CONTESTED = "somebody else may have changed it at the same time"
NO_RECORD = "what the step left there was not recorded"
IN_THE_WAY = "a file or a link stands where its folder should be"


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
    """One path that will get another state; both are certain."""

    path: str
    now: Entry | None
    target: Entry | None


@dataclass(slots=True)
class Plan:
    """Steps in the order of their paths, and the paths that get none, with the reason; `paths` are all that were asked for.

    `refused`: paths that cannot be looked at now: another attempt may do them.
    `implied`: folders that nobody asked for, and that came or went with what is in them; where they cannot follow, nothing is said.
    `folder_modes`: modes for folders that may have to be made. `removable`: folders to remove if nothing is in them afterwards.
    """

    steps: list[Step] = field(default_factory=list[Step])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    unprotected: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    folder_modes: dict[str, int] = field(default_factory=dict[str, int])
    removable: set[str] = field(default_factory=set[str])
    paths: tuple[str, ...] = ()
    implied: frozenset[str] = frozenset()


def make_plan(
    chains: Mapping[str, Sequence[PathChange]], observe: Callable[[str], State], *, asked: frozenset[str]
) -> Plan:
    """Return the plan for these paths, each with its changes in the order in which they happened.

    `asked` are those of the paths that somebody asked for; the others are folders above them.

    Raises SnapshotError when a snapshot is damaged, OSError when the worktree cannot be read.
    """
    plan = Plan(paths=tuple(sorted(chains)), implied=frozenset(chains.keys() - asked))
    for path in sorted(chains):
        step = _decide(plan, path, chains[path], observe(path))
        if step is not None:
            plan.steps.append(step)
    for path in plan.implied:
        for told in (plan.conflicts, plan.unprotected, plan.unreadable):
            told.pop(path, None)
    _keep_folders(plan, chains)
    _drop_blocked(plan, observe)
    for step in plan.steps:
        _plan_folders(plan, step, chains[step.path])
    return plan


def _decide(plan: Plan, path: str, links: Sequence[PathChange], now: State) -> Step | None:
    """Return the step for a path; without one, note why if there is a reason."""
    changes = [link.change(path) for link in links]
    target, expected = changes[0][0], changes[-1][1]
    if now == target:
        return None
    if isinstance(target, Unknown):
        plan.unprotected[path] = target.reason
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
        return Step(path, now, target)
    return None


def _keep_folders(plan: Plan, chains: Mapping[str, Sequence[PathChange]]) -> None:
    """Let folders be that were not there at first and now get something back that somebody else had put into them."""
    needed = {above for step in plan.steps if step.target is not None for above in parents(step.path)}
    steps = [
        Step(step.path, step.now, _last_folder(chains[step.path], step.path))
        if step.target is None and step.path in needed
        else step
        for step in plan.steps
    ]
    plan.steps = [step for step in steps if step.now != step.target]


def _last_folder(links: Sequence[PathChange], path: str) -> Entry:
    """Return the folder as it was before the last change that met one there."""
    for link in reversed(links):
        state = link.before.state(path)
        if isinstance(state, Entry) and state.kind == "folder":
            return state
    return Entry("folder", FOLDER_MODE)


def _drop_blocked(plan: Plan, observe: Callable[[str], State]) -> None:
    """Turn steps into conflicts that need a folder where something stands that will stay."""
    targets = {step.path: step.target for step in plan.steps}
    kept: list[Step] = []
    for step in plan.steps:
        blocked = step.target is not None and any(_blocks(above, targets, observe) for above in parents(step.path))
        if blocked and step.path not in plan.implied:
            plan.conflicts[step.path] = IN_THE_WAY
        elif not blocked:
            kept.append(step)
    plan.steps = kept


def _blocks(folder: str, targets: Mapping[str, Entry | None], observe: Callable[[str], State]) -> bool:
    if folder in targets:
        target = targets[folder]
        return target is not None and target.kind != "folder"
    state = observe(folder)
    return state is not None and not (isinstance(state, Entry) and state.kind == "folder")


def _plan_folders(plan: Plan, step: Step, links: Sequence[PathChange]) -> None:
    """Note the modes of the folders above the step, should they have to be made."""
    for above in parents(step.path):
        before = links[0].before.state(above)
        if isinstance(before, Entry) and before.kind == "folder":
            plan.folder_modes[above] = before.mode
