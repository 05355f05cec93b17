"""The changes of one step, accumulated from its writes and from the intervals in which its commands ran.

A write knows the two states of its paths exactly. An interval knows them from a scan before and one after. Where both know a path
the write is believed, unless the scans show that a command changed the path as well. A path that somebody else changed between two
changes of the step is contested: undoing the step would undo the other one's change too. Pure; times are seconds of one clock.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from opencode_tui.engine.snapshot.entry import Entry, State, Unknown, folders_above
from opencode_tui.engine.snapshot.objects.changes import Change


@dataclass(frozen=True, slots=True)
class Interval:
    """A time in which commands ran: from the start of the scan before it to the start of the scan after it."""

    begun: float
    ended: float


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The changes of one write or of one interval: `folders` are those above the changed paths.

    `begun` and `ended` are the times at which a write was recorded and done; `whole` are the ids of the scans around an interval,
    None for a write; `skipped` are the paths that the scans leave out and that changed between them, with the reasons, and
    `skipped_before` their states before, and those of the folders above them.
    `beside` are the names of background commands that ran at the same time, `private` the changed paths that git ignores.
    `times` say when files had last been changed before, in ns.
    """

    changes: Mapping[str, Change]
    folders: Mapping[str, Change] = field(default_factory=dict[str, Change])
    begun: float = -math.inf
    ended: float = math.inf
    whole: tuple[str, str] | None = None
    contested: frozenset[str] = frozenset()
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])
    skipped_before: Mapping[str, State] = field(default_factory=dict[str, State])
    beside: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    times: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class StepTotals:
    """The changes of a step: the changed paths, sorted, with their states and those of the folders above them.

    `skipped` are the paths that changed without a record, `times` say when changed files had last been changed before the step.
    """

    files: list[str]
    before: dict[str, State]
    after: dict[str, State]
    contested: set[str]
    whole: tuple[str, str] | None
    skipped: dict[str, str]
    beside: set[str]
    private: frozenset[str] = frozenset()
    times: dict[str, int] = field(default_factory=dict[str, int])


class StepAccumulator:
    """The change sets of one step in the order in which they began."""

    def __init__(self) -> None:
        self._change_sets: dict[int, ChangeSet] = {}
        self._numbers = itertools.count(1)

    def add(self, change_set: ChangeSet) -> int:
        """Add a change set and return its number."""
        number = next(self._numbers)
        self._change_sets[number] = change_set
        return number

    def end(self, number: int, at: float) -> None:
        """Mark a write as done."""
        if number in self._change_sets:
            self._change_sets[number] = replace(self._change_sets[number], ended=at)

    def drop(self, number: int) -> None:
        """Remove a write that did not happen."""
        self._change_sets.pop(number, None)

    def written_since(self, time: float) -> set[str]:
        """Return the paths of the writes that were not done at a time."""
        return {path for _, change_set in self._writes(time) for path in change_set.changes}

    def add_commands(self, found: ChangeSet, seen: Mapping[str, Change], interval: Interval) -> None:
        """Add the changes between the scans around an interval; `seen` are both states of the paths that the step wrote."""
        foreign = {path for path, change in seen.items() if not self._explains(path, change, interval)}
        done = self._done_before({path: seen[path][0] for path in foreign}, interval)
        for number, change_set in self._writes(interval.begun):
            left = {
                path: change
                for path, change in change_set.changes.items()
                if path not in foreign or number <= done.get(path, 0)
            }
            self._change_sets[number] = replace(change_set, changes=left)
        own = seen.keys() - foreign
        changes = {path: change for path, change in found.changes.items() if path not in own}
        changes.update({path: seen[path] for path in foreign})
        self.add(replace(found, changes=changes, contested=found.contested - own))

    def total(self) -> StepTotals:
        """Return the changes of the whole step."""
        before: dict[str, State] = {}
        after: dict[str, State] = {}
        contested: set[str] = set()
        skipped: dict[str, str] = {}
        unrecorded: dict[str, State] = {}
        times: dict[str, int] = {}
        made: dict[str, State] = {}
        for change_set in self._change_sets.values():
            contested |= change_set.contested
            skipped.update(change_set.skipped)
            unrecorded = {**change_set.skipped_before, **unrecorded}
            for path, (old, new) in change_set.changes.items():
                if path in after and after[path] != old:
                    contested.add(path)
                if path not in before and path in change_set.times:
                    times[path] = change_set.times[path]
                # What a command left before, without a record, is not the state before the step.
                before.setdefault(path, unrecorded.get(path, None if path in made else old))
                after[path] = new
            made |= {path: new for path, (old, new) in change_set.folders.items() if old is None}
        _add_empty(made, before, after)
        files = sorted(path for path in before if before[path] != after[path])
        above = folders_above(files) - set(files)
        old, new = self._folders(above)
        return StepTotals(
            files,
            {**old, **{path: before[path] for path in files}},
            {**new, **{path: after[path] for path in files}},
            contested & set(files),
            self._whole(),
            skipped,
            {name for change_set in self._change_sets.values() for name in change_set.beside},
            frozenset(path for change_set in self._change_sets.values() for path in change_set.private) & before.keys(),
            {path: time for path, time in times.items() if before[path] != after[path]},
        )

    def _writes(self, since: float) -> list[tuple[int, ChangeSet]]:
        return [item for item in self._change_sets.items() if item[1].whole is None and item[1].ended >= since]

    def _done_before(self, states: Mapping[str, State], interval: Interval) -> dict[str, int]:
        """Return the number of the last write of each path that happened before the scan at the start of an interval.

        `states` are those of the scan. Such a write was recorded before the scan and reported as done after it.
        """
        return {
            path: number
            for number, change_set in self._writes(interval.begun)
            for path, (_, new) in change_set.changes.items()
            if change_set.begun <= interval.begun and path in states and states[path] == new
        }

    def _explains(self, path: str, change: Change, interval: Interval) -> bool:
        """Return whether the step's writes alone explain the difference between the two scans."""
        if any(isinstance(state, Unknown) for state in change):
            return True
        links = [(one.changes[path], one.ended) for _, one in self._writes(interval.begun) if path in one.changes]
        states = [state for link, _ in links for state in link]
        if any(state not in states for state in change):
            return False
        (_, last), ended = links[-1]
        return change[1] == last or ended > interval.ended

    def _folders(self, wanted: Iterable[str]) -> tuple[dict[str, State], dict[str, State]]:
        """Return the first and the last known states of folders; folders without a certain state are left out."""
        before: dict[str, State] = {}
        after: dict[str, State] = {}
        names = set(wanted)
        for change_set in self._change_sets.values():
            for path in change_set.skipped_before.keys() & names:
                before.setdefault(path, change_set.skipped_before[path])
            for path in change_set.folders.keys() & names:
                old, new = change_set.folders[path]
                # A folder that one write made was there already for the next one.
                if path not in before or old is None:
                    before[path] = old
                after[path] = new
        return _certain(before), _certain(after)

    def _whole(self) -> tuple[str, str] | None:
        """Return the scans around the only change set with a change, if it is an interval."""
        filled = [change_set for change_set in self._change_sets.values() if change_set.changes or change_set.skipped]
        return filled[0].whole if len(filled) == 1 else None


def _add_empty(made: Mapping[str, State], before: dict[str, State], after: dict[str, State]) -> None:
    """Add folders that were made for files that do not exist afterwards."""
    filled = folders_above(path for path in before if before[path] != after[path])
    for path, state in made.items():
        if path not in filled and path not in before and isinstance(state, Entry):
            before[path], after[path] = None, state


def _certain(states: Mapping[str, State]) -> dict[str, State]:
    return {path: state for path, state in states.items() if not isinstance(state, Unknown)}
