"""Copies for formatters that change the file that they name: what is found beside them, and what a hostile one cannot reach."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.format.file_copy import FileCopy, copy_file


def make(tmp_path: Path, name: str, *, is_plain: bool = False, directory: str = "") -> FileCopy:
    project = tmp_path / "project"
    for path, text in ((".rc", "top"), ("package.json", "{}"), ("src/.rc", "inner"), ("src/deep/b.js", "b")):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    return copy_file(
        project / name,
        b"text",
        worktree=project,
        directory=project / directory,
        is_plain=is_plain,
        scratch=tmp_path / "scratch",
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.js", {"../.rc": None, ".rc": "top", "package.json": "{}", "src/.rc": "inner"}),
        ("src/a.js", {".rc": "inner", "../.rc": "top", "../package.json": "{}", "deep/b.js": "b"}),
        ("src/deep/a.js", {"../.rc": "inner", "../../.rc": "top", "b.js": "b"}),
        ("src/deep/b.js", {"b.js": "text", "../../.rc": "top"}),
        ("new/folder/a.js", {"../../.rc": "top", "../../src/.rc": "inner"}),
        ("src/with space.js", {".rc": "inner"}),
    ],
)
def test_settings_are_found_by_path_from_the_copy(tmp_path: Path, name: str, found: dict[str, str | None]) -> None:
    copy = make(tmp_path, name)
    beside = {other: copy.path.parent / other for other in found}
    assert {other: path.read_text() if path.exists() else None for other, path in beside.items()} == found
    assert (copy.path.read_bytes(), copy.read(100), copy.path.is_symlink()) == (b"text", b"text", False)
    before = (tmp_path / "project/src/.rc").read_text()
    copy.delete()
    assert (list((tmp_path / "scratch").iterdir()), (tmp_path / "project/src/.rc").read_text()) == ([], before)


@pytest.mark.parametrize(("directory", "expected"), [("", ""), ("src", "src"), ("src/deep", ""), ("other", "")])
def test_a_program_starts_in_the_counterpart_of_the_working_folder(
    tmp_path: Path, directory: str, expected: str
) -> None:
    copy = make(tmp_path, "src/a.js", directory=directory)
    assert copy.folder == copy.root / expected


@pytest.mark.parametrize("name", ["src/$(touch x).js", "a;b/c.js", "src/`x`.js", "it's.js", "a b.js", "a.j|s"])
def test_a_path_that_means_something_to_a_shell_is_not_used_in_its_command(tmp_path: Path, name: str) -> None:
    copy = make(tmp_path, name, is_plain=True)
    assert copy.path.parent == copy.folder == copy.root
    assert copy.path.name in ("file.js", "file")


def test_what_replaces_the_copy_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret/a.js"
    secret.parent.mkdir()
    secret.write_text("SECRET")
    copy = make(tmp_path, "src/a.js")
    copy.path.unlink()
    copy.path.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        copy.read(100)
    copy.path.unlink()
    os.mkfifo(copy.path)
    assert copy.read(100) == b""
    copy.path.unlink()
    copy.path.parent.rename(copy.root / "moved")
    copy.path.parent.symlink_to(secret.parent)
    with pytest.raises(NotADirectoryError):
        copy.read(100)
    copy.delete()
    assert secret.read_text() == "SECRET"


def test_a_folder_with_many_entries_is_linked_in_part_settings_first(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(500):
        (project / f"{number}.js").touch()
    copy = make(tmp_path, "a.js")
    assert (copy.root / ".rc").read_text() == "top"
    assert 100 < len(list(copy.root.iterdir())) < 400


@pytest.mark.parametrize("name", ["../outside.js", "x" * 300 + ".js", f"src/{'x' * 300}/a.js", "a\0.js"])
def test_a_copy_that_fails_leaves_no_folder(tmp_path: Path, name: str) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = tmp_path / "outside.js" if name.startswith("..") else Path(name)
    with pytest.raises((OSError, ValueError)):
        make(tmp_path, str(path))
    assert list(scratch.iterdir()) == []
