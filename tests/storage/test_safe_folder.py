"""Open folders: no link on the way is followed."""

import os
from pathlib import Path

import pytest

from opencode_tui.storage.safe_folder import Disk, NotAFolderError, open_folder


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
