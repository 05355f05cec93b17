"""Moving sessions to the trash and back, whatever fails meanwhile. The benchmark `stress_trash` does all of it in full."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.schema.error import NotFoundError, SessionError, StorageError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.trash import DELETING, EMPTYING, MANIFEST, Trash
from tests.storage.trash_scenarios import FAULTS, MOVES, Scene, TwoDisks, open_trash
from tests.support.sessions.families import ROOT, files_in, misplaced, trashed_files, write_family

PLACES = 8
"""Calls that fail here, evenly spread, and the last one; every call in the benchmark."""


def places(calls: int, first: int) -> list[int]:
    """Return the numbers of the calls that fail; different moves and faults begin at different ones."""
    return sorted({*range(1 + first, calls + 1, max(1, calls // PLACES)), calls})


@pytest.mark.slow
@pytest.mark.parametrize("two_disks", [False, True], ids=["renamed", "copied"])
@pytest.mark.parametrize("move", MOVES)
def test_a_session_is_in_one_place_whichever_call_the_process_dies_at(paths: Paths, move: str, two_disks: bool):
    scene = Scene(paths, move, two_disks=two_disks)
    calls = scene.count_calls()
    assert calls > 40
    for at in places(calls, MOVES.index(move)):
        assert (at, scene.complaint_after_death(at=at)) == (at, None)


@pytest.mark.slow
@pytest.mark.parametrize("two_disks", [False, True], ids=["renamed", "copied"])
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_session_is_in_one_place_whichever_call_fails(paths: Paths, move: str, fault: str, two_disks: bool):
    scene = Scene(paths, move, two_disks=two_disks)
    calls = scene.count_calls()
    for at in places(calls, 2 + sorted(FAULTS).index(fault)):
        for lasting in (False, True):
            assert (at, scene.complaint_after_fault(at=at, fault=fault, lasting=lasting)) == (at, None)


@st.composite
def _parents(draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(draw(st.integers(0, number)) for number in range(draw(st.integers(0, 6))))


@pytest.mark.slow
@settings(max_examples=10)
@given(parents=_parents(), messages=st.integers(1, 5), two_disks=st.booleans())
def test_a_restored_tree_of_sessions_is_equal_to_the_last_byte(
    tmp_path_factory: pytest.TempPathFactory, parents: tuple[int, ...], messages: int, two_disks: bool
):
    paths = find_paths({"HOME": str(tmp_path_factory.mktemp("home"))})
    family = write_family(paths, parents=parents, messages=messages)
    trash = open_trash(paths, TwoDisks() if two_disks else None)
    entry = trash.put(family.infos)
    assert files_in(paths.storage) == {} and trashed_files(paths) == {entry.name: family.files}
    assert (entry.messages, entry.bytes) == (messages * len(family.infos), sum(map(len, family.files.values())))
    assert trash.restore(ROOT).session_ids == [info.id for info in family.infos]
    assert files_in(paths.storage) == family.files and trashed_files(paths) == {}


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_a_trash_on_another_file_system_gets_copies(paths: Paths, tmp_path: Path):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if os.stat(other).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("both folders are on one file system")
        paths.data.mkdir(parents=True)
        paths.trash.symlink_to(other)
        family = write_family(paths)
        open_trash(paths).put(family.infos)
        assert files_in(paths.storage) == {} and list(trashed_files(paths).values()) == [family.files]
        open_trash(paths).restore(ROOT)
        assert files_in(paths.storage) == family.files


@pytest.mark.parametrize("missing", ["record", "message", "part"])
def test_a_session_that_exists_again_is_not_overwritten(paths: Paths, missing: str):
    family = write_family(paths)
    entry = open_trash(paths).put(family.infos)
    name = next(name for name in family.files if name.startswith({"record": "session", **_SELF}[missing]))
    (paths.storage / name).parent.mkdir(parents=True, exist_ok=True)
    (paths.storage / name).write_text("{}")
    with pytest.raises(SessionError, match=r"exists again|is in the way") as refused:
        open_trash(paths).restore(entry.name)
    assert "\n" not in str(refused.value)
    assert files_in(paths.storage) == {name: b"{}"} and trashed_files(paths) == {entry.name: family.files}


_SELF = {"message": "message", "part": "part"}


def test_a_session_is_deleted_more_than_once(paths: Paths):
    first = write_family(paths, messages=2)
    open_trash(paths).put(first.infos)
    second = write_family(paths, messages=4)
    open_trash(paths).put(second.infos)
    old, new = sorted(entry.name for entry in open_trash(paths).entries())
    open_trash(paths).restore(new)
    assert files_in(paths.storage) == second.files and trashed_files(paths) == {old: first.files}
    open_trash(paths).put(second.infos)
    assert open_trash(paths).restore(ROOT).messages == 12
    assert [entry.name for entry in open_trash(paths).entries()] == [old]


def test_emptying_removes_what_is_named_and_nothing_else(paths: Paths):
    kept = open_trash(paths).put(write_family(paths, root="ses_kept").infos)
    gone = open_trash(paths).put(write_family(paths).infos)
    assert open_trash(paths).empty([gone.name, gone.name, "1-ses_unknown"]) == [gone]
    assert list(trashed_files(paths)) == [kept.name]
    with pytest.raises(NotFoundError):
        open_trash(paths).restore(ROOT)


def test_an_interrupted_removal_is_completed(paths: Paths):
    entry = open_trash(paths).put(write_family(paths).infos)
    (paths.trash / entry.name).rename(paths.trash / f"{entry.name}{EMPTYING}")
    assert open_trash(paths).entries() == [] and open_trash(paths).is_unfinished()
    assert open_trash(paths).recover() == [] and list(paths.trash.iterdir()) == []


def test_a_damaged_manifest_costs_nothing_but_its_facts(paths: Paths):
    family = write_family(paths)
    entry = open_trash(paths).put(family.infos)
    (paths.trash / entry.name / MANIFEST).write_text("{")
    [found] = open_trash(paths).entries()
    assert (found.session_id, found.title, len(found.session_ids)) == (ROOT, "the root", 3)
    open_trash(paths).restore(ROOT)
    assert files_in(paths.storage) == family.files


def test_what_cannot_be_recovered_stays_and_is_named(paths: Paths):
    family = write_family(paths)
    entry = open_trash(paths).put(family.infos)
    name = next(name for name in family.files if name.startswith("todo/"))
    (paths.trash / entry.name).rename(paths.trash / f"{entry.name}{DELETING}")
    (paths.storage / name).parent.mkdir(parents=True, exist_ok=True)
    (paths.storage / name).write_text("other")
    [failure] = open_trash(paths).recover()
    assert isinstance(failure, StorageError) and "another file" in str(failure)
    (paths.storage / name).unlink()
    assert open_trash(paths).recover() == [] and misplaced(paths, family, {}) is None


def test_every_move_changes_the_generation(paths: Paths):
    family = write_family(paths)
    seen = [open_trash(paths).generation()]
    entry = open_trash(paths).put(family.infos)
    seen.append(open_trash(paths).generation())
    open_trash(paths).restore(entry.name)
    seen.append(open_trash(paths).generation())
    assert len(set(seen)) == 3


def test_what_was_deleted_more_days_ago_is_expired(paths: Paths):
    day = 24 * 3600 * 1000
    now = [10 * day]
    trash = Trash(paths, locks=Locks(paths), clock=lambda: now[0])
    old = trash.put(write_family(paths, parents=()).infos)
    now[0] += day
    young = trash.put(write_family(paths, parents=(), root="ses_00000000000other").infos)
    assert trash.expired(1) == []
    now[0] += 1
    assert trash.expired(1) == [old.name]
    now[0] += day
    assert trash.expired(1) == [young.name, old.name]
