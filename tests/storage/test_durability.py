import os
import threading
from types import SimpleNamespace

import pytest

from opencode_tui.schema.error import StorageError
from opencode_tui.storage import storage as storage_module
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import CLOSE_S, Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.world.waiting import PATIENCE_S


def synced(files: FaultyFiles, paths: Paths) -> list[str]:
    """The paths that were synced, below the data folder, in order."""
    opened = dict[int, str]()
    found: list[str] = []
    for name, subject in files.log:
        if name == "open":
            opened[len(opened)] = str(subject)
        if name == "fsync":
            found.append(os.path.relpath(list(opened.values())[-1], paths.data))
    files.log.clear()
    return found


async def test_new_record_and_its_folders_are_synced_once_by_sync(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    await storage.write(("part", "m", "a"), b"1")
    await storage.write(("part", "m", "b"), b"1")
    await storage.write(("part", "m", "a"), b"2")
    assert synced(files, paths) == []
    await storage.sync()
    found = synced(files, paths)
    assert found[:2] == ["storage/part/m/a.json", "storage/part/m/b.json"]
    assert {"storage/part/m", "storage/part", "storage", "."} <= set(found[2:])
    await storage.sync()
    assert synced(files, paths) == []
    await storage.close()


async def test_replaced_record_is_not_synced_again(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    await storage.write(("todo", "a"), b"1")
    await storage.sync()
    files.log.clear()
    await storage.write(("todo", "a"), b"2")
    await storage.sync()
    assert synced(files, paths) == []
    await storage.close()


async def test_removed_record_stays_removed(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    await storage.write(("todo", "a"), b"1")
    await storage.sync()
    await storage.write(("todo", "b"), b"1")
    await storage.remove(("todo", "b"))
    files.log.clear()
    await storage.sync()
    assert synced(files, paths) == ["storage/todo"]
    await storage.close()


async def test_durable_write_is_synced_before_it_takes_its_name(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    await storage.write(("todo", "a"), b"1", durable=True)
    names = [name for name, _ in files.log]
    assert names.index("fsync") < names.index("replace")
    assert {".", "storage", "storage/todo"} <= set(synced(files, paths)[1:])
    await storage.close()


async def test_durable_replacement_syncs_the_name_too(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    await storage.write(("todo", "a"), b"1", durable=True)
    files.log.clear()
    await storage.write(("todo", "a"), b"2", durable=True)
    names = [name for name, _ in files.log]
    assert names.index("replace") < len(names) - 1 - names[::-1].index("fsync")
    assert synced(files, paths)[-1] == "storage/todo"
    await storage.close()


async def test_close_syncs_what_is_pending(paths: Paths):
    storage = Storage(paths, files=(files := FaultyFiles()))
    storage.write_behind(("todo", "a"), lambda: b"1")
    await storage.close()
    assert "storage/todo/a.json" in synced(files, paths)


class SlowFiles(FileSystem):
    """A disk that takes so many seconds to sync a file, by a clock of its own; each sync lasts until the clock was read."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.now, self.syncs, self.has_recovered = 0.0, 0, threading.Event()
        self._seconds = seconds
        self._was_read = threading.Event()

    def monotonic(self) -> float:
        if threading.current_thread() is threading.main_thread():
            self._was_read.set()
        return self.now

    def fsync(self, descriptor: int) -> None:
        self.now += self._seconds
        self.syncs += 1
        self._was_read.clear()
        end = PATIENCE_S
        while end > 0 and not self.has_recovered.is_set() and not self._was_read.wait(0.01):
            end -= 0.01
        super().fsync(descriptor)


@pytest.mark.slow
async def test_close_waits_for_a_disk_that_is_slow_with_many_files_but_ends_each(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
):
    files = SlowFiles(0.9 * CLOSE_S)
    monkeypatch.setattr(storage_module, "time", SimpleNamespace(monotonic=files.monotonic))
    monkeypatch.setattr(storage_module, "CLOSE_S", CLOSE_S)
    storage = Storage(paths, files=files)
    for name in "abc":
        await storage.write(("todo", name), b"1")
    await storage.close()
    assert files.syncs > 3 and (paths.storage / "todo" / "c.json").read_bytes() == b"1"


async def test_close_reports_a_disk_that_does_not_end_one_file(paths: Paths, monkeypatch: pytest.MonkeyPatch):
    files = SlowFiles(1.1 * CLOSE_S)
    monkeypatch.setattr(storage_module, "time", SimpleNamespace(monotonic=files.monotonic))
    monkeypatch.setattr(storage_module, "CLOSE_S", CLOSE_S)
    storage = Storage(paths, files=files)
    await storage.write(("todo", "a"), b"1")
    with pytest.raises(StorageError, match="the disk did not end the write within 3 s"):
        await storage.close()
    files.has_recovered.set()
