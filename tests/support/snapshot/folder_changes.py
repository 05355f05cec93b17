"""The changes that a folder can have: whatever is not looked at again must still notice each of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def rewrite(path: Path) -> None:
    """Write other bytes of the same number, and give the file its time back."""
    status = path.stat()
    path.write_bytes(b"#" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def exchange(root: Path) -> None:
    os.rename(root / "a", root / "c")
    os.rename(root / "b", root / "a")
    os.rename(root / "c", root / "b")


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("b")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner").write_text("new")


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("new")


def move_aside(path: Path) -> None:
    """Put another folder of the same names in a folder's place."""
    shutil.copytree(path, path.with_name("copy"))
    rewrite(path.with_name("copy") / "x")
    os.rename(path, path.parent.parent / "aside")
    os.rename(path.with_name("copy"), path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file of the same size and time": lambda folder: rewrite(folder / "a"),
    "the mode of a file": lambda folder: (folder / "a").chmod(0o600),
    "two files change their names": exchange,
    "a file is removed": lambda folder: (folder / "a").unlink(),
    "a file is added": lambda folder: (folder / "new").write_text("new"),
    "a file is renamed": lambda folder: os.rename(folder / "a", folder / "A"),
    "a link for a file": lambda folder: replace_by_link(folder / "a"),
    "a folder for a file": lambda folder: replace_by_folder(folder / "a"),
    "a file for a folder": lambda folder: replace_by_file(folder / "sub"),
    "a folder is removed": lambda folder: shutil.rmtree(folder / "sub"),
    "the mode of a folder": lambda folder: (folder / "sub").chmod(0o700),
    "the mode of the folder itself": lambda folder: folder.chmod(0o700),
    "a file further down": lambda folder: rewrite(folder / "sub/x"),
    "another folder of the same names": lambda folder: move_aside(folder / "sub"),
    "a pipe": lambda folder: os.mkfifo(folder / "pipe"),
    "an empty folder": lambda folder: (folder / "empty").mkdir(),
    "a file that many names have": lambda folder: os.link(folder / "a", folder / "hard"),
}
