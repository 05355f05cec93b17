"""Files as language servers name them."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.lsp.document import read_text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "file").write_text("public")
    return folder


def test_a_file_is_read(project: Path) -> None:
    read = read_text(project / "file")
    assert read is not None
    assert read[0] == "public"


@pytest.mark.parametrize("name", ["link", "folder/secret"])
def test_a_link_that_a_server_names_is_not_followed(project: Path, name: str) -> None:
    (project / "link").symlink_to(project.parent / "secret")
    (project / "folder").symlink_to(project.parent)
    assert read_text(project / name) is None


def test_a_pipe_does_not_stop_the_reader(project: Path) -> None:
    os.mkfifo(project / "pipe")
    assert read_text(project / "pipe") is None


def test_a_binary_file_has_no_text(project: Path) -> None:
    (project / "picture").write_bytes(b"P6\n\0\0\0")
    assert read_text(project / "picture") is None
