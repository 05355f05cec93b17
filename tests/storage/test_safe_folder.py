"""Open folders: no link on the way is followed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.storage import safe_folder
from opencode_tui.storage.safe_folder import Disk, NotAFolderError, OpenFolder, open_folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path))
    (root / "real" / "inner").mkdir(parents=True)
    (root / "file").write_text("content")
    (root / "link").symlink_to("real")
    (root / "real" / "inner" / "link").symlink_to("../../file")
    return root


@pytest.mark.parametrize("folder", ["link", "link/inner", "file", "file/inner"])
def test_a_link_or_a_file_on_the_way_is_refused_with_its_path(tree: Path, folder: str):
    part = folder.split("/")[0]
    for opening in (open_folder(tree / folder, made=[]), Disk(str(tree)).open(folder)):
        with pytest.raises(NotAFolderError) as caught, opening:
            pytest.fail("the folder was opened")
        assert (caught.value.filename, caught.value.is_link) == (str(tree / part), part == "link")
    assert sorted(os.listdir(tree / "real")) == ["inner"]


def test_a_link_as_the_root_of_a_tree_is_refused(tree: Path):
    with pytest.raises(NotAFolderError), Disk(str(tree / "link")).open("inner"):
        pytest.fail("the folder was opened")


def test_a_link_as_an_entry_is_not_followed(tree: Path):
    with Disk(str(tree)).open("real/inner") as folder:
        assert folder.read_link("link") == b"../../file"
        with pytest.raises(OSError, match="Too many levels"):
            folder.read("link", 100)
        with pytest.raises(OSError, match="Too many levels"):
            folder.set_mode("link", 0o600)
        with pytest.raises(FileExistsError):
            folder.create("link")
        folder.make_hard_link("link", "second")
        assert folder.read_link("second") == b"../../file"
        folder.remove("link")
        assert folder.find("link") is None
    assert (tree / "file").read_text() == "content"


def test_a_folder_that_is_moved_while_open_is_the_one_that_is_changed(tree: Path):
    with open_folder(tree / "real") as folder:
        (tree / "real").rename(tree / "moved")
        (tree / "real").symlink_to("/")
        folder.close(folder.create("new"))
        assert sorted(folder.entries()) == ["inner/", "new"]
    assert (tree / "moved" / "new").exists()


def test_missing_folders_are_made_only_on_request(tree: Path):
    made: list[Path] = []
    with pytest.raises(FileNotFoundError), open_folder(tree / "real" / "a" / "b"):
        pytest.fail("the folder was opened")
    with open_folder(tree / "real" / "a" / "b", made=made) as folder:
        assert folder.entries() == []
    assert made == [tree / "real" / "a", tree / "real" / "a" / "b"]


def make_chain(folder: Path, levels: int) -> None:
    """Make folders in each other, deeper than a path can name, with a file in the last one."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        child = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = child
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


@pytest.mark.slow
def test_a_tree_of_any_depth_is_deleted(tree: Path):
    make_chain(tree / "real", 3_000)
    with open_folder(tree) as folder:
        assert folder.delete("real")
    assert sorted(os.listdir(tree)) == ["file", "link"]


def test_deleting_a_tree_follows_no_link(tree: Path):
    kept = tree / "kept"
    (kept / "inner").mkdir(parents=True)
    (kept / "inner/file").write_text("kept")
    for place in ("real/out", "real/inner/out"):
        (tree / place).symlink_to(kept)
    with open_folder(tree) as folder:
        assert folder.delete("link")
        assert folder.delete("real")
        assert folder.delete("missing")
    assert sorted(os.listdir(tree)) == ["file", "kept"]
    assert (kept / "inner/file").read_text() == "kept"


CLOSED_FOLDERS = """
import os, sys
from pathlib import Path
from opencode_tui.storage.safe_folder import open_folder
root = Path(sys.argv[1])
(root / "a/b/c").mkdir(parents=True)
for name in ("a/file", "a/b/file", "a/b/c/file"):
    (root / name).touch()
for name, mode in (("a/b/c", 0), ("a/b", 0o500), ("a", 0o100)):
    (root / name).chmod(mode)
with open_folder(root) as folder:
    print(folder.delete("a"), os.listdir(root))
"""


def run_without_rights(code: str, *arguments: str) -> str:
    """Run Python code as a user for whom the modes of files count, and return what it prints."""
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all"]
    command = [*(plain if os.geteuid() == 0 else []), sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_folders_without_rights_are_deleted_too(tmp_path: Path):
    assert run_without_rights(CLOSED_FOLDERS, os.path.realpath(tmp_path)) == "True []\n"


def test_deleting_goes_on_after_an_entry_that_stays(tree: Path):
    class Stubborn(OpenFolder):
        def remove(self, name: str) -> None:
            if name == "file-5":
                raise PermissionError(name)
            super().remove(name)

    class StubbornDisk(Disk):
        def wrap(self, path: str, descriptor: int) -> OpenFolder:
            return Stubborn(path, descriptor)

    for number in range(10):
        (tree / "real/inner" / f"file-{number}").touch()
    with StubbornDisk(str(tree)).open("") as folder:
        assert not folder.delete("real")
    assert [path.name for path in tree.rglob("file-*")] == ["file-5"]


def test_the_mode_of_a_file_without_rights_can_be_set(tree: Path):
    (tree / "file").chmod(0)
    with open_folder(tree) as folder:
        folder.set_mode("file", 0o640)
    assert (tree / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("folder", ["real", "real/inner", "link", "file/inner", "missing"])
def test_a_system_that_opens_paths_part_by_part_does_the_same(tree: Path, folder: str, monkeypatch: pytest.MonkeyPatch):
    def result() -> str:
        try:
            with open_folder(tree / folder) as opened:
                return f"{opened.path} {opened.status('.').st_ino}"
        except OSError as error:
            return f"{error!r} {error.filename}"

    at_once = result()
    monkeypatch.setattr(safe_folder, "_find_openat2", lambda: None)
    assert at_once == result()
