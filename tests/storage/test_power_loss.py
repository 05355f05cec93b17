"""What the store promises after a power cut; 50,000 states: `python -m benchmarks.stress_power_loss`."""

import random
from pathlib import Path

import pytest

from opencode_tui.storage.files import AtomicWriter
from tests.support.faults.power import RecordedDisk, restore_state
from tests.support.faults.power_cuts import cut_power


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 472134358])
def test_what_was_synced_is_there_after_a_power_cut(tmp_path: Path, seed: int):
    wrong, _ = cut_power(tmp_path, 150, random.Random(seed))
    assert wrong == []


class Unsynced(RecordedDisk):
    """A disk whose sync does nothing."""

    def fsync(self, descriptor: int) -> None:
        pass


def contents_after(disk: RecordedDisk, folder: Path) -> set[bytes | None]:
    """Return what a file `home/a` may contain after a cut at the end, None where it is missing."""
    found = set[bytes | None]()
    for number in range(60):
        state = folder / f"state{number}"
        state.mkdir()
        restore_state(disk.changes, state, random.Random(number))
        found.add((state / "a").read_bytes() if (state / "a").exists() else None)
    return found


@pytest.mark.parametrize(
    ("kind", "durable", "left"),
    [
        (RecordedDisk, True, {b"new!"}),
        (RecordedDisk, False, {None, b"", b"\0\0\0\0", b"ne", b"new!"}),
        (Unsynced, True, {None, b"", b"\0\0\0\0", b"ne", b"new!"}),
    ],
)
def test_the_model_loses_what_is_not_synced(
    tmp_path: Path, kind: type[RecordedDisk], durable: bool, left: set[bytes | None]
):
    (tmp_path / "home").mkdir()
    disk = kind(tmp_path / "home")
    AtomicWriter(disk).write(str(tmp_path / "home" / "a"), b"new!", durable=durable)
    assert contents_after(disk, tmp_path) == left


@pytest.mark.parametrize(("durable", "left"), [(True, {b"new!"}), (False, {b"old", b"new!"})])
def test_replaced_file_is_old_or_new_and_new_if_durable(tmp_path: Path, durable: bool, left: set[bytes | None]):
    (tmp_path / "home").mkdir()
    disk = RecordedDisk(tmp_path / "home")
    writer, path = AtomicWriter(disk), str(tmp_path / "home" / "a")
    writer.write(path, b"old", durable=True)
    writer.write(path, b"new!", durable=durable)
    assert contents_after(disk, tmp_path) == left
