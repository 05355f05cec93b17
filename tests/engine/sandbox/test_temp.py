"""The temp folders of sessions: deleted with what commands left in them."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.temp import KEEP_S, delete_abandoned, delete_temp, temp_folder
from opencode_tui.storage.paths import Paths
from tests.storage.test_safe_folder import make_chain

pytestmark = pytest.mark.slow


def make_paths(folder: Path) -> Paths:
    return Paths(folder / "home", folder / "data", folder / "config", folder / "state", folder / "cache")


def make_old(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_a_temp_folder_of_any_depth_is_deleted(tmp_path: Path) -> None:
    paths = make_paths(tmp_path)
    folder = make_old(temp_folder(paths, "ses_1"))
    make_chain(folder, 3_000)
    delete_temp(paths, "ses_1")
    assert not folder.exists()


def test_abandoned_folders_of_any_depth_are_deleted_and_links_removed(tmp_path: Path) -> None:
    paths = make_paths(tmp_path)
    folders = [make_old(temp_folder(paths, name)) for name in ("deep", "other")]
    make_chain(folders[0], 3_000)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    link = temp_folder(paths, "link")
    link.symlink_to(kept)
    for folder in (*folders, link):
        os.utime(folder, (KEEP_S, KEEP_S), follow_symlinks=False)
    delete_abandoned(paths)
    assert os.listdir(link.parent) == []
    assert os.listdir(kept) == ["file"]
