"""Objects in packs: what went in comes out, plain git can read it, damage is found."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui import cancellation
from opencode_tui.engine.snapshot.objects import store as store_module
from opencode_tui.engine.snapshot.objects.pack import DamagedPackError, PackBuilder, object_id, unpack
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter, StoreFullError
from opencode_tui.engine.snapshot.objects.tree import EXECUTABLE, FOLDER, LINK, PLAIN, decode, encode
from opencode_tui.schema.error import SnapshotError
from opencode_tui.storage.files import FileSystem
from tests.support.world.repo import run_git


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    store = ObjectStore(tmp_path / "git")
    store.prepare()
    return store


def test_a_tree_is_sorted_as_git_sorts_it() -> None:
    name = "0" * 40
    tree = {"a": (FOLDER, name), "a.b": (PLAIN, name), "a0": (PLAIN, name)}
    assert list(decode(encode(tree))) == ["a.b", "a", "a0"]


def stored(store: ObjectStore, *blobs: bytes) -> list[str]:
    writer = ObjectWriter(store)
    names = [writer.add("blob", blob) for blob in blobs]
    writer.flush()
    return names


def only_pack(store: ObjectStore) -> Path:
    (pack,) = (store.folder / "objects" / "pack").glob("*.pack")
    return pack


def test_another_process_reads_what_was_stored(store: ObjectStore):
    names = stored(store, b"one", b"", b"\0" * 100_000)
    other = ObjectStore(store.folder)
    other.refresh()
    assert [other.read(name, "blob") for name in names] == [b"one", b"", b"\0" * 100_000]


def test_plain_git_finds_nothing_wrong_and_reads_the_bytes(store: ObjectStore):
    (name,) = stored(store, b"one\r\n")
    assert run_git(store.folder, "fsck", "--strict") in ("", f"dangling blob {name}")
    assert run_git(store.folder, "cat-file", "-s", name) == "5"


def test_the_trees_read_last_are_kept_up_to_a_number_of_entries(store: ObjectStore, monkeypatch: pytest.MonkeyPatch):
    reads: list[str] = []

    class Files(FileSystem):
        def open(self, path: str, flags: int, mode: int = 0o777) -> int:
            reads.append(path)
            return super().open(path, flags, mode)

    writer = ObjectWriter(store)
    blob = writer.add("blob", b"x")
    one, two, three = (
        writer.add("tree", encode({f"{name}{number}": (PLAIN, blob) for number in range(2)})) for name in "abc"
    )
    writer.flush()
    monkeypatch.setattr(store_module, "MAX_TREE_ENTRIES", 4)
    other = ObjectStore(store.folder, files=Files())
    other.refresh()

    def count_reads(*names: str) -> int:
        reads.clear()
        for name in names:
            assert len(other.tree(name)) == 2
        return len(reads)

    assert count_reads(one, two, one, two, one) == 2
    assert count_reads(three) == 1
    assert count_reads(one, three) == 0
    assert count_reads(two) == 1


def test_what_is_stored_already_is_not_stored_again(store: ObjectStore):
    stored(store, b"one")
    size = store.size()
    stored(store, b"one")
    assert store.size() == size


def test_objects_over_the_limit_are_refused_and_leave_nothing(store: ObjectStore):
    writer = ObjectWriter(store, limit=10)
    writer.add("blob", b"12345678")
    with pytest.raises(StoreFullError):
        writer.add("blob", b"12345679")
    writer.discard()
    assert store.size() == 0


@pytest.mark.parametrize("at", [0, 14, -1])
def test_a_changed_byte_is_never_given_out(store: ObjectStore, at: int):
    (name,) = stored(store, b"precious" * 10)
    pack = only_pack(store)
    data = bytearray(pack.read_bytes())
    data[at] ^= 0xFF
    pack.write_bytes(data)
    other = ObjectStore(store.folder)
    other.refresh()
    with pytest.raises(SnapshotError, match="verify"):
        other.read(name, "blob")
    assert other.verify().damaged


def test_a_cut_pack_is_stored_again(store: ObjectStore):
    (name,) = stored(store, b"precious" * 10)
    pack = only_pack(store)
    pack.write_bytes(pack.read_bytes()[:20])
    other = ObjectStore(store.folder)
    other.refresh()
    assert stored(other, b"precious" * 10) == [name]
    assert other.read(name, "blob") == b"precious" * 10
    assert other.verify().damaged == ()


def test_left_overs_of_a_killed_process_are_removed(store: ObjectStore):
    left = store.folder / "objects" / "pack" / ".12345.1.tmp"
    left.write_bytes(b"half")
    store.prepare()
    assert not left.exists()


@given(st.binary(max_size=5000), st.sampled_from((0, 1)))
def test_packing_and_unpacking_gives_the_object_back(data: bytes, level: int):
    builder = PackBuilder(level)
    builder.add(object_id("blob", data), "blob", data)
    _, pack, _ = builder.finish()
    assert unpack(pack[12:-20]) == ("blob", data)


@given(st.binary(min_size=1, max_size=60))
def test_unpacking_anything_else_says_that_it_is_damaged(data: bytes):
    try:
        kind, _ = unpack(data)
    except DamagedPackError:
        return
    assert kind in ("blob", "tree")


_NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=8)


@pytest.mark.slow
@given(st.dictionaries(_NAMES, st.tuples(st.sampled_from((PLAIN, EXECUTABLE, LINK, FOLDER)), st.just("ab" * 20))))
def test_a_tree_reads_back_as_it_was_written(tree: dict[str, tuple[str, str]]):
    assert decode(encode(tree)) == tree


def test_a_pack_that_is_written_slowly_is_waited_for_longer_than_the_end_of_a_program_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, held = threading.Event(), threading.Event()

    class SlowFiles(FileSystem):
        def fsync(self, descriptor: int) -> None:
            held.set()
            goes_on.wait()
            super().fsync(descriptor)

    store = ObjectStore(tmp_path / "git", files=SlowFiles())
    store.prepare()
    monkeypatch.setattr(store_module, "FLUSH_BYTES", 1)
    monkeypatch.setattr(cancellation, "THREADS_S", 0.01)
    writer = ObjectWriter(store)
    writer.add("blob", b"one")
    held.wait()
    waiting = threading.Thread(target=writer.wait)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    goes_on.set()
    waiting.join()
    writer.flush()
    assert len(store.pack_sizes()) == 1
