"""Files that the user asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.client.user_files import append_line, write_new
from opencode_tui.schema.error import OpencodeError


def test_a_new_file_is_private_and_its_size_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "new/export.md"
    assert write_new(path, ["a", "é"]) == 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_or_a_link_in_the_place_of_a_new_file_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("missing")
    for name in ("file", "link"):
        with pytest.raises(OpencodeError, match="already exists"):
            write_new(tmp_path / name, ["x"])
    assert (tmp_path / "file").read_text() == "kept"
    assert not (tmp_path / "missing").exists()


def test_a_failed_export_deletes_its_own_file_only(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "begin"
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").symlink_to("other")
        raise OSError(28, "No space left on device")

    (tmp_path / "folder").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/export.md").write_text("kept")
    with pytest.raises(OpencodeError, match="the disk is full"):
        write_new(tmp_path / "folder/export.md", pieces())
    assert (tmp_path / "other/export.md").read_text() == "kept"
    assert list((tmp_path / "moved").iterdir()) == []


def test_a_line_is_appended_to_a_file_and_through_no_link(tmp_path: Path) -> None:
    append_line(tmp_path / "AGENTS.md", "- one")
    (tmp_path / "AGENTS.md").write_text("- one")
    append_line(tmp_path / "AGENTS.md", "- two")
    assert (tmp_path / "AGENTS.md").read_text() == "- one\n- two\n"
    (tmp_path / "link.md").symlink_to("AGENTS.md")
    with pytest.raises(OpencodeError, match="is a link"):
        append_line(tmp_path / "link.md", "- three")
    assert (tmp_path / "AGENTS.md").read_text() == "- one\n- two\n"
