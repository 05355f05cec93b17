import os

from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles


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
