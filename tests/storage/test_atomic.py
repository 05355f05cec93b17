import errno
import os
from pathlib import Path

import pytest

from opencode_tui.storage.files import AtomicWriter, FileSystem, temporary_owner
from tests.support.faults.file_system import FaultyFiles


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "folder" / "below" / "record.json")


def test_a_write_makes_missing_folders_and_replaces_the_file(path: str):
    writer = AtomicWriter(FileSystem())
    writer.write(path, b"old")
    writer.write(path, b"new")
    assert Path(path).read_bytes() == b"new"
    assert os.listdir(os.path.dirname(path)) == ["record.json"]


@pytest.mark.parametrize("call", ["open", "write", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path: str, call: str):
    AtomicWriter(FileSystem()).write(path, b"old")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number follows
        AtomicWriter(FaultyFiles(at=1, error=errno.ENOSPC, only=call)).write(path, b"new")
    assert caught.value.errno == errno.ENOSPC
    assert Path(path).read_bytes() == b"old"
    assert os.listdir(os.path.dirname(path)) == ["record.json"]


def test_a_durable_write_syncs_the_file_before_it_gets_its_name(path: str):
    files = FaultyFiles()
    AtomicWriter(files).write(path, b"data", durable=True)
    names = [name for name, _ in files.log if name in ("fsync", "replace")]
    assert names[:2] == ["fsync", "replace"]
    assert "fsync" in names[2:]  # the folder with the new name


def test_sync_reaches_each_new_file_once(path: str):
    files = FaultyFiles()
    writer = AtomicWriter(files)
    writer.write(path, b"data")
    assert [name for name, _ in files.log].count("fsync") == 0
    writer.sync()
    reached = [name for name, _ in files.log].count("fsync")
    writer.sync()
    assert [name for name, _ in files.log].count("fsync") == reached > 0


def test_a_temporary_file_that_a_dead_process_left_is_not_used(path: str):
    os.makedirs(os.path.dirname(path))
    left = Path(os.path.dirname(path), f".{os.getpid()}.1.tmp")
    left.write_bytes(b"half")
    AtomicWriter(FileSystem()).write(path, b"data")
    assert (Path(path).read_bytes(), left.read_bytes()) == (b"data", b"half")
    assert (temporary_owner(left.name), temporary_owner("record.json")) == (os.getpid(), None)


def test_removing_a_tree_does_not_follow_its_links(path: str, tmp_path: Path):
    writer = AtomicWriter(FileSystem())
    writer.write(path, b"data")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    os.symlink(outside, f"{os.path.dirname(path)}/link")
    writer.remove_tree(str(tmp_path / "folder"))
    writer.remove_tree(str(tmp_path / "folder"))
    assert sorted(os.listdir(tmp_path)) == ["outside"] and os.listdir(outside) == ["kept"]
