import asyncio
import contextlib
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_fields

from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.engine.tool.files.read_guard import Stamp, stamp_of
from opencode_tui.engine.tool.files.transaction import Change, explain
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench, tree
from tests.support.world.waiting import PATIENCE_S


def stamp(path: Path) -> Stamp:
    return stamp_of(path.lstat())


async def replace(bench: Workbench, path: Path, text: str) -> None:
    file = await bench.files.read(path)
    assert isinstance(file, TextFile)
    await bench.files.apply([file.change(text)], bench.context)


async def test_new_content_keeps_mode_and_owner(bench: Workbench) -> None:
    path = bench.folder / "run.sh"
    path.write_text("old")
    path.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    await replace(bench, path, "new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


async def test_new_file_has_the_mode_of_the_umask(bench: Workbench) -> None:
    old = os.umask(0o027)
    try:
        await bench.files.apply([Change(bench.folder / "a" / "b", b"x", None)], bench.context)
    finally:
        os.umask(old)
    assert (bench.folder / "a" / "b").stat().st_mode & 0o777 == 0o640


async def test_read_only_file_is_left_alone(bench: Workbench) -> None:
    path = bench.folder / "a"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await replace(bench, path, "new")
    assert path.read_text() == "old"


async def test_file_that_changed_after_it_was_read_is_left_alone(bench: Workbench) -> None:
    path = bench.folder / "a"
    path.write_text("old")
    file = await bench.files.read(path)
    assert file is not None
    path.write_text("the user's")
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        await bench.files.apply([file.change("new")], bench.context)
    assert tree(bench.folder).keys() == {"a"}
    assert path.read_text() == "the user's"


async def test_file_that_appeared_meanwhile_is_left_alone(bench: Workbench) -> None:
    (bench.folder / "a").write_text("the user's")
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        await bench.files.apply([Change(bench.folder / "a", b"new", None)], bench.context)
    assert (bench.folder / "a").read_text() == "the user's"


async def test_hard_link_is_parted_and_said_so(bench: Workbench) -> None:
    path, other = bench.folder / "a", bench.folder / "b"
    path.write_text("old")
    other.hardlink_to(path)
    file = await bench.files.read(path)
    assert file is not None
    assert "1 other hard link" in file.note
    await bench.files.apply([file.change("new")], bench.context)
    assert (path.read_text(), other.read_text()) == ("new", "old")


async def test_link_that_was_made_just_now_is_refused(bench: Workbench) -> None:
    (bench.folder / "a").symlink_to("nowhere")
    with pytest.raises(ToolError, match="cannot be followed"):
        await bench.files.read(bench.folder / "a")


async def test_pipe_does_not_hang_a_read(bench: Workbench) -> None:
    os.mkfifo(bench.folder / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        await asyncio.wait_for(bench.files.read(bench.folder / "pipe"), PATIENCE_S)


async def test_full_disk_leaves_the_old_file_and_says_so(bench: Workbench) -> None:
    path = bench.folder / "a"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(ToolError, match="a: "):
            await replace(bench, path, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert tree(bench.folder).keys() == {"a"}


def is_there(path: Path) -> bool:
    return path.exists()


@dataclass
class Witness:
    """Records the calls, and whether the file was there; `spoil` runs before the write."""

    path: Path
    spoil: Callable[[], object] = lambda: None
    seen: list[tuple[object, bool]] = field(default_factory=list)

    async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
        self.seen.append(([(write.path.name, write.content) for write in writes], is_there(self.path)))
        self.spoil()

    async def after_write(self, *, done: bool) -> None:
        self.seen.append((done, is_there(self.path)))

    def commands(self) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()


async def test_a_watch_sees_a_file_directly_before_and_after(bench: Workbench) -> None:
    path = bench.folder / "a"
    witness = Witness(path)
    context = replace_fields(bench.context, watch=witness)
    await bench.files.apply([Change(path, b"x", None)], context)
    await bench.files.apply([Change(path, None, stamp(path))], context)
    assert witness.seen == [([("a", b"x")], False), (True, True), ([("a", None)], True), (True, False)]


async def test_a_watch_hears_of_the_mode_that_a_file_will_have_and_of_folders_made_for_it(bench: Workbench) -> None:
    recorded: list[tuple[int, list[str]]] = []

    class Listener(Witness):
        async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
            recorded.append((writes[0].mode, [path.name for path in made]))

    path = bench.folder / "new" / "deep" / "a"
    await bench.files.apply([Change(path, b"x", None)], replace_fields(bench.context, watch=Listener(path)))
    assert recorded == [(path.stat().st_mode & 0o7777, ["new", "deep"])]


async def test_of_several_changes_all_are_rolled_back_when_one_fails(bench: Workbench) -> None:
    for name in ("a", "b", "c"):
        (bench.folder / name).write_text(name)
    (bench.folder / "link").symlink_to("b")
    before = {name: stamp(bench.folder / name) for name in ("a", "b", "c", "link")}
    witness = Witness(bench.folder / "c", spoil=lambda: (bench.folder / "c").write_text("the user's"))
    changes = [
        Change(bench.folder / "a", b"new", before["a"]),
        Change(bench.folder / "new" / "d", b"new", None),
        Change(bench.folder / "b", None, before["b"]),
        Change(bench.folder / "link", None, before["link"]),
        Change(bench.folder / "c", b"new", before["c"]),
    ]
    with pytest.raises(ToolError, match="c changed on disk meanwhile"):
        await bench.files.apply(changes, replace_fields(bench.context, watch=witness))
    assert witness.seen[-1] == (False, True)
    texts = {path.name: path.read_text() for path in bench.folder.iterdir()}
    assert texts == {"a": "a", "b": "b", "c": "the user's", "link": "b"}
    kept = ("a", "b", "link")
    assert [stamp(bench.folder / name) for name in kept] == [before[name] for name in kept]


async def test_folder_that_becomes_a_link_leads_nowhere(bench: Workbench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret")
    inside = bench.folder / "sub"
    inside.mkdir()
    (inside / "a").write_text("secret")
    file = await bench.files.read(inside / "a")
    assert file is not None
    inside.rename(bench.folder / "moved")
    inside.symlink_to(outside)
    with pytest.raises(ToolError, match="became a symbolic link"):
        await bench.files.apply([file.change("new")], bench.context)
    with pytest.raises(ToolError, match="became a symbolic link"):
        await bench.files.read(inside / "a")
    assert (outside / "a").read_text() == "secret"


SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
"""


def start_swapping(first: Path, second: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SWAP, first, second])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="exchanging two names in one step is a Linux call")
async def test_swapping_a_folder_and_a_link_all_the_time_never_leads_out(bench: Workbench, tmp_path: Path) -> None:
    outside, inside, link = tmp_path / "outside", bench.folder / "sub", bench.folder / "link"
    outside.mkdir()
    inside.mkdir()
    (outside / "a").write_text("secret")
    (inside / "a").write_text("public")
    link.symlink_to(outside)
    swapper = start_swapping(inside, link)
    try:
        for number in range(200):
            with contextlib.suppress(ToolError):
                await bench.files.apply([Change(inside / f"f{number}", b"x", None)], bench.context)
            with contextlib.suppress(ToolError):
                file = await bench.files.read(inside / "a")
                assert file is not None
                assert file.text == "public"
    finally:
        swapper.kill()
        swapper.wait()
    assert [path.name for path in outside.iterdir()] == ["a"]


async def test_cancel_during_a_write_leaves_old_or_new(bench: Workbench) -> None:
    path = bench.folder / "a"
    for delay in range(0, 30, 3):
        path.write_text("old")
        task = asyncio.create_task(replace(bench, path, "new"))
        await asyncio.sleep(delay / 10_000)
        task.cancel()
        await asyncio.wait({task})
        assert path.read_text() in ("old", "new")
        assert tree(bench.folder).keys() == {"a"}
        assert (path.read_text() == "new") == (path in bench.edited)
        bench.edited.clear()


async def test_failed_write_leaves_no_new_folders(bench: Workbench) -> None:
    for path in (bench.folder / "new" / ("n" * 300), bench.folder / "new" / ("n" * 300) / "deeper"):
        with pytest.raises(ToolError, match="name is too long"):
            await bench.files.apply([Change(path, b"x", None)], bench.context)
    assert tree(bench.folder) == {}


async def test_failing_calls_become_one_line_for_the_model(bench: Workbench) -> None:
    (bench.folder / "a").write_text("x")
    with pytest.raises(ToolError, match="is a file, not a folder"):
        await bench.files.apply([Change(bench.folder / "a" / "b", b"x", None)], bench.context)
    with pytest.raises(ToolError, match="name is too long"):
        await bench.files.apply([Change(bench.folder / ("n" * 300), b"x", None)], bench.context)
    full = explain(OSError(errno.ENOSPC, "No space left on device"), Path("a"))
    assert str(full) == "a: the disk is full; free some space, then try again"


async def test_a_folder_made_for_a_write_that_became_a_link_is_not_removed_through_it(
    bench: Workbench, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    made = bench.folder / "new"

    class Swapper(Witness):
        async def before_write(self, writes: Sequence[FileWrite], made: Sequence[Path]) -> None:
            made[0].rename(bench.folder / "moved")
            made[0].symlink_to(outside)
            raise ToolError("refused")

    with pytest.raises(ToolError, match="refused"):
        await bench.files.apply(
            [Change(made / "deep/a", b"x", None)], replace_fields(bench.context, watch=Swapper(made / "deep/a"))
        )
    assert [path.name for path in outside.iterdir()] == ["deep"]
