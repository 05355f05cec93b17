"""Random histories of a worktree: an agent's steps, edits of the user, undo, redo, crashes.

Checked after each: an undo restores the earlier state, what the user made is still there, and a redo restores every byte.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.scan.scan import LARGE_BYTES
from opencode_tui.schema.session.undo import RevertReport
from opencode_tui.storage.paths import find_paths
from tests.support.snapshot.fresh_edits import FreshEdits, edit
from tests.support.snapshot.guarded_repo import make_guarded
from tests.support.snapshot.worktree import Death, Fact, Fault, FaultyDisk, World
from tests.support.world.repo import make_repo

NAMES = (
    "a",
    "b",
    "d",
    "d/x",
    "d/y",
    "d/e",
    "d/e/z",
    "d/e/f/g",
    "ignored.log",
    "s.log/f",
    "s.log/build/f",
    "n",
    "n/.git",
    "n/h",
)
LIMIT = 6
"""Bytes of the largest ignored file that is recorded: one of the contents is larger."""

ACTS = st.tuples(
    st.sampled_from(
        (
            *("write", "write", "write", "large", "remove", "folder", "link"),
            *("pipe", "mode", "rename", "swap", "repository", "rules"),
        )
    ),
    st.sampled_from([name for name in NAMES if not name.endswith(".git")]),
    st.sampled_from(("one\n", "two\n", "three\r\n", "\0\1\2", "")),
    st.sampled_from((0o644, 0o755, 0o600, 0o640)),
)
_NEIGHBOURS = {0o644: "a", 0o755: "d", 0o600: "x", 0o640: "e"}
Act = tuple[str, str, str, int]
Facts = dict[str, Fact]


def do(root: Path, act: Act) -> None:
    """Do one act where it can be done."""
    kind, name, content, mode = act
    path = root / name
    try:
        _ACTS[kind](path, content, mode)
    except OSError:
        return


def _write(path: Path, content: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A pipe is an error, rather than a wait for its reader.
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK, 0o666)) as file:
        file.write(content.encode())


def _large(path: Path, content: str, mode: int) -> None:
    """Write more than is recorded of an untracked file."""
    _write(path, content + "\0" * LARGE_BYTES + "!", mode)


def _remove(path: Path, content: str, mode: int) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _folder(path: Path, content: str, mode: int) -> None:
    path.mkdir(parents=True)


def _link(path: Path, content: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("a" if content else "d")


def _pipe(path: Path, content: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path, mode)


def _mode(path: Path, content: str, mode: int) -> None:
    if not path.is_symlink():
        path.chmod(mode | 0o100 if path.is_dir() else mode)


def _rename(path: Path, content: str, mode: int) -> None:
    path.rename(path.with_name(path.name + "2"))


def _swap(path: Path, content: str, mode: int) -> None:
    """Exchange two entries of a folder, whatever they are."""
    other, aside = path.with_name(_NEIGHBOURS[mode]), path.with_name("aside")
    if path != other and os.path.lexists(path) and os.path.lexists(other):
        path.rename(aside)
        other.rename(path)
        aside.rename(other)


def _repository(path: Path, content: str, mode: int) -> None:
    if not path.exists():
        make_repo(path)


def _rules(path: Path, content: str, mode: int) -> None:
    """Ignore this name, in the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(".gitignore").write_text(f"{path.name}\n" if content else "*.log\n")


_ACTS: dict[str, Callable[[Path, str, int], None]] = {
    "write": _write,
    "large": _large,
    "remove": _remove,
    "folder": _folder,
    "link": _link,
    "pipe": _pipe,
    "mode": _mode,
    "rename": _rename,
    "swap": _swap,
    "repository": _repository,
    "rules": _rules,
}


@dataclass(frozen=True)
class Step:
    """A step of the agent: its patch and what was there before and after."""

    patch: Patch
    before: Facts
    after: Facts


class SnapshotMachine(RuleBasedStateMachine):
    """One worktree and its history."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="histories-"))
        (self.base / "home").mkdir()
        self.repo = make_guarded(self.base / "project")
        self.world = World(
            self.repo.path,
            find_paths({"HOME": str(self.base / "home")}),
            settings=SnapshotSettings(ignored_bytes=LIMIT),
        )
        self.steps: list[Step] = []
        self.reverted: tuple[RevertReport, Facts] | None = None
        self.edits = FreshEdits()
        self.is_touched = False

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    @rule(acts=st.lists(ACTS, min_size=1, max_size=4))
    def agent_works(self, acts: list[Act]) -> None:
        if self.reverted is not None:
            self.steps, self.reverted = [], None
        before = self.world.facts()
        patch = asyncio.run(self.world.step(*[lambda act=act: do(self.world.root, act) for act in acts]))
        self.steps.append(Step(patch, before, self.world.facts()))
        self.edits.keep(self.steps[-1].after)

    @rule(act=ACTS)
    def person_works(self, act: Act) -> None:
        before = self.world.facts()
        do(self.world.root, act)
        self.edits.keep(self.world.facts())
        self.is_touched |= self.world.facts() != before

    @precondition(lambda self: self.steps)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.steps) - 1))
        before = self.world.facts()
        patches = [step.patch for step in self.steps[number:]]
        active, first = self.reverted if self.reverted is not None else (None, before)
        report = asyncio.run(self.world.snapshots.revert(patches, active=active))
        after = self.world.facts()
        assert not report.failed
        named = self.world.inside([remark.path for remark in [*report.kept, *report.unprotected]])
        if not self.is_touched:
            compare_facts(after, self.steps[number].before, named)
        self._check_foreign(before, after, number)
        self.edits.check(after)
        self.reverted = (report, first)

    @precondition(lambda self: self.reverted is not None)
    @rule()
    def unrevert(self) -> None:
        assert self.reverted is not None
        (report, facts), self.reverted = self.reverted, None
        done = asyncio.run(self.world.snapshots.unrevert(report))
        self.edits.check(self.world.facts())
        if not self.is_touched:
            named = self.world.inside([remark.path for remark in [*done.kept, *done.unprotected, *report.unprotected]])
            compare_facts(self.world.facts(), facts, named)

    @precondition(lambda self: len(self.steps) > 1)
    @rule(data=st.data(), removals=st.lists(st.sampled_from((False, False, True)), min_size=1, max_size=3))
    def edits_come_between_undos(self, data: st.DataObject, removals: list[bool]) -> None:
        """Undo, edit what was undone, undo again, redo: each edit must not be taken for what an undo made."""
        for is_removal in removals:
            self.revert(data)
            self._edit_what_was_undone(data, is_removal)
        self.revert(data)
        self.unrevert()

    @precondition(lambda self: self.steps and self.reverted is None)
    @rule(at=st.integers(1, 60))
    def revert_is_killed(self, at: int) -> None:
        before = self.world.facts()
        root = os.path.realpath(self.world.root)
        dying = self.world.service(FaultyDisk(root, Fault(at, Death(), lasting=True)))
        try:
            report = asyncio.run(dying.revert([step.patch for step in self.steps]))
        except Death:
            self.world.reopen()
            asyncio.run(self.world.snapshots.preview([]))
            assert self.world.facts() == before
        else:
            self.reverted = (report, before)

    @rule()
    def another_process_comes(self) -> None:
        self.world.reopen()

    @invariant()
    def repository_is_as_it_was(self) -> None:
        self.repo.check()

    def _edit_what_was_undone(self, data: st.DataObject, is_removal: bool) -> None:
        assert self.reverted is not None
        report, before = self.reverted[0], self.world.facts()
        names = self.world.inside([*report.restored, *report.deleted]) or ["a"]
        edit(self.world.root, data.draw(st.sampled_from(names)), None if is_removal else self.edits.content())
        self.edits.wrote(before, self.world.facts())
        self.is_touched |= self.world.facts() != before

    def _check_foreign(self, before: Facts, after: Facts, number: int) -> None:
        """Every file that the undo changed or removed was exactly what a step of the agent had left there."""
        made = [facts for step in self.steps for facts in (step.before, step.after)]
        for path, fact in before.items():
            if fact[0] != "folder" and after.get(path) != fact and self.reverted is None:
                assert any(facts.get(path) == fact for facts in made), path


def compare_facts(found: Facts, wanted: Facts, named: list[str]) -> None:
    """Compare two states, without what was named and the folders above it."""

    def kept(facts: Facts) -> Facts:
        return {
            path: fact
            for path, fact in facts.items()
            if not any(path == name or path.startswith(f"{name}/") or name.startswith(f"{path}/") for name in named)
        }

    assert kept(found) == kept(wanted)
