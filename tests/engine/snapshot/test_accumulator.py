import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.snapshot.entry import Entry, Unknown
from opencode_tui.engine.snapshot.record.accumulator import ChangeSet, Interval, StepAccumulator

A, B, C, D = (Entry("file", 0o644, letter * 40) for letter in "abcd")
FOLDER = Entry("folder", 0o755)
WHOLE = ("1" * 40, "2" * 40)
STRETCH = Interval(begun=10, ended=20)


def written(path, before, after, *, at=15.0, tally=None):
    tally = tally or StepAccumulator()
    tally.end(tally.add(ChangeSet({path: (before, after)})), at)
    return tally


def test_writes_of_one_path_add_up():
    tally = written("x", B, C, tally=written("x", A, B))
    total = tally.total()
    assert (total.files, total.before, total.after, total.contested) == (["x"], {"x": A}, {"x": C}, set())


def test_a_change_by_somebody_else_between_two_writes_is_contested():
    assert written("x", C, D, tally=written("x", A, B)).total().contested == {"x"}


def test_a_path_that_is_as_before_is_no_change():
    assert written("x", B, A, tally=written("x", A, B)).total().files == []


def test_a_write_that_did_not_happen_is_forgotten():
    tally = StepAccumulator()
    tally.drop(tally.add(ChangeSet({"x": (A, B)})))
    assert tally.total().files == []


def test_an_interval_alone_keeps_the_scans_around_it():
    tally = StepAccumulator()
    tally.add_commands(ChangeSet({"y": (None, C)}, whole=WHOLE), {}, STRETCH)
    assert (tally.total().files, tally.total().whole) == (["y"], WHOLE)


def test_a_write_during_an_interval_counts_once():
    tally = written("x", A, B)
    tally.add_commands(ChangeSet({"x": (A, B), "y": (None, C)}, whole=WHOLE), {"x": (A, B)}, STRETCH)
    total = tally.total()
    assert (total.files, total.after, total.contested, total.whole) == (["x", "y"], {"x": B, "y": C}, set(), None)


def test_a_path_that_a_command_changed_too_goes_back_to_before_both():
    tally = written("x", A, B)
    tally.add_commands(ChangeSet({"x": (A, C)}, whole=WHOLE), {"x": (A, C)}, STRETCH)
    total = tally.total()
    assert (total.before, total.after, total.contested) == ({"x": A}, {"x": C}, set())


@pytest.mark.parametrize("old", [None, A])
@pytest.mark.parametrize("new", [None, C])
def test_a_path_that_the_scan_met_already_written_goes_back_to_before_the_write(old, new):
    tally = written("x", old, B)
    tally.add_commands(ChangeSet({"x": (B, new), "y": (None, D)}, whole=WHOLE), {"x": (B, new)}, STRETCH)
    total = tally.total()
    files = ["x", "y"] if old != new else ["y"]
    assert (total.files, total.contested, total.before.get("x")) == (files, set(), old)
    assert total.after.get("x") == new and total.whole is None


def test_a_write_that_brings_back_what_the_scan_met_is_one_of_the_changes_after_it():
    tally = StepAccumulator()
    tally.end(tally.add(ChangeSet({"x": (B, A)}, begun=12)), 15)  # a command had changed A to B
    tally.add_commands(ChangeSet({"x": (A, C)}, whole=WHOLE), {"x": (A, C)}, STRETCH)
    assert (tally.total().before, tally.total().after, tally.total().contested) == ({"x": A}, {"x": C}, set())


def test_of_two_writes_the_scan_met_the_first():
    tally = written("x", B, C, tally=written("x", A, B))
    tally.add_commands(ChangeSet({"x": (B, D)}, whole=WHOLE), {"x": (B, D)}, STRETCH)
    assert (tally.total().before, tally.total().after, tally.total().contested) == ({"x": A}, {"x": D}, set())


def test_a_command_that_takes_a_write_back_leaves_no_change():
    tally = written("x", A, B)
    tally.add_commands(ChangeSet({}, whole=WHOLE), {"x": (A, A)}, STRETCH)
    assert tally.total().files == []


def test_a_write_that_the_scan_came_too_early_for_is_kept():
    tally = written("x", A, B, at=math.inf)
    tally.add_commands(ChangeSet({}, whole=WHOLE), {"x": (A, A)}, STRETCH)
    assert tally.total().after == {"x": B}


def test_a_write_that_was_done_before_the_interval_is_followed_by_it():
    tally = written("x", A, B, at=5)
    assert tally.written_since(STRETCH.begun) == set()
    tally.add_commands(ChangeSet({"x": (B, C)}, whole=WHOLE), {}, STRETCH)
    assert (tally.total().before, tally.total().after, tally.total().contested) == ({"x": A}, {"x": C}, set())


def test_what_a_scan_does_not_record_is_believed_of_the_write():
    tally = written("x", A, B)
    tally.add_commands(ChangeSet({}, whole=WHOLE), {"x": (Unknown("ignored"), Unknown("ignored"))}, STRETCH)
    assert (tally.total().before, tally.total().after) == ({"x": A}, {"x": B})


def test_commands_of_somebody_else_cast_doubt_on_what_no_tool_wrote():
    tally = written("x", A, B)
    found = ChangeSet({"x": (A, B), "y": (None, C)}, whole=WHOLE, contested=frozenset({"x", "y"}))
    tally.add_commands(found, {"x": (A, B)}, STRETCH)
    assert tally.total().contested == {"y"}


def test_a_folder_made_for_two_writes_at_once_was_not_there_before_either():
    tally = StepAccumulator()
    tally.add(ChangeSet({"n/b": (None, A)}, {"n": (FOLDER, FOLDER)}))
    tally.add(ChangeSet({"n/a": (None, B)}, {"n": (None, FOLDER)}))
    total = tally.total()
    assert (total.files, total.before["n"], total.after["n"]) == (["n/a", "n/b"], None, FOLDER)


def test_a_folder_made_for_a_file_of_which_nothing_came_is_a_change():
    tally = StepAccumulator()
    tally.end(tally.add(ChangeSet({"n/b": (None, A)}, {"n": (None, FOLDER)})), 1)
    tally.add_commands(ChangeSet({"n/b": (A, None)}, whole=WHOLE), {}, STRETCH)
    total = tally.total()
    assert (total.files, total.before, total.after) == (["n"], {"n": None}, {"n": FOLDER})


@pytest.mark.parametrize("state", [None, A, Unknown("untracked and over 2 MiB")])
def test_a_write_begins_with_the_state_before_a_change_without_a_record(state):
    tally = StepAccumulator()
    tally.add_commands(ChangeSet({}, whole=WHOLE, skipped={"x": "why"}, skipped_before={"x": state}), {}, STRETCH)
    total = written("x", B, C, at=25.0, tally=tally).total()
    assert (total.files, total.before, total.after) == (["x"], {"x": state}, {"x": C})


STATES = st.sampled_from([None, A, B, C])


@given(st.lists(st.tuples(st.sampled_from("xyz"), STATES, st.booleans()), max_size=12))
def test_the_sum_leads_from_the_first_state_to_the_last_unless_it_is_contested(acts):
    world, first, tally, touched_by_others = {}, {}, StepAccumulator(), set()
    for path, state, is_ours in acts:
        if is_ours:
            tally.end(tally.add(ChangeSet({path: (world.get(path), state)})), 1)
            first.setdefault(path, world.get(path))
        elif path in first and world.get(path) != state:
            touched_by_others.add(path)
        world[path] = state
    total = tally.total()
    for path in set(first) - touched_by_others:
        assert (path in total.files) == (first[path] != world[path])
        assert path not in total.contested
    for path in total.files:
        assert total.before[path] == first[path]


def test_a_folder_that_was_made_for_a_file_without_a_record_is_gone_before_the_step() -> None:
    tally = StepAccumulator()
    tally.add(ChangeSet({}, whole=WHOLE, skipped={"d/x": "too large"}, skipped_before={"d/x": None, "d": None}))
    tally.add(ChangeSet({"d/x": (A, B)}, {"d": (FOLDER, FOLDER)}, whole=WHOLE))
    total = tally.total()
    assert (total.before, total.after) == ({"d": None, "d/x": None}, {"d": FOLDER, "d/x": B})
