"""Notes about forks that are not copied whole: found again by any process, gone when the copies are done."""

import pytest

from opencode_tui.engine.session.records.fork_copy import PendingCopies
from opencode_tui.schema.error import StorageError
from opencode_tui.storage.locks import Locks
from tests.storage.load import fork, wait_for

ONE, TWO = "ses_one", "ses_two"


def notes(paths, **given):
    return PendingCopies(paths, locks=Locks(paths), **given)


def test_a_note_is_found_by_its_source_until_it_is_removed(paths):
    notes(paths).add(ONE, "ses_b")
    notes(paths).add(ONE, "ses_a")
    notes(paths).add(TWO, "ses_c")
    assert (notes(paths).of(ONE), notes(paths).of(TWO)) == (["ses_a", "ses_b"], ["ses_c"])
    notes(paths).remove(ONE, "ses_b")
    assert (notes(paths).of(ONE), notes(paths).of("ses_none")) == (["ses_a"], [])


def test_the_file_is_empty_when_no_copy_is_left(paths):
    for source in (ONE, TWO):
        notes(paths).add(source, "ses_a")
        notes(paths).remove(source, "ses_never")
    for source in (ONE, TWO):
        notes(paths).remove(source, "ses_a")
    assert (paths.lock / "forks").read_bytes() == b""
    assert notes(paths).of(ONE) == []


def test_a_line_that_was_cut_short_spoils_no_other(paths):
    notes(paths).add(ONE, "ses_a")
    with open(paths.lock / "forks", "ab") as file:
        file.write(b"\n+ ses_o")
    notes(paths).add(ONE, "ses_b")
    assert notes(paths).of(ONE) == ["ses_a", "ses_b"]


def test_processes_that_begin_and_end_copies_together_lose_no_note(paths):
    def work(number):
        for step in range(60):
            notes(paths).add(ONE, f"ses_{number}_{step}")
            if step % 2:
                notes(paths).remove(ONE, f"ses_{number}_{step}")

    for process in [fork(lambda number=number: work(number)) for number in range(3)]:
        assert wait_for(process) == 0
    assert len(notes(paths).of(ONE)) == 3 * 30


def test_a_name_that_would_write_another_line_is_refused(paths):
    with pytest.raises(StorageError):
        notes(paths).add(ONE, "ses_a\n+ ses_two ses_b")
