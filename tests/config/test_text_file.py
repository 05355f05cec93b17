"""Reading small files that somebody else may have prepared."""

import os
from pathlib import Path

import pytest

from opencode_tui.config.sources.text_file import MAX_BYTES, UnreadableFileError, read_text


def reason(path: Path) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_text(str(path))
    return str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert read_text(str(path)) == "hello"


def test_other_encodings_are_named(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes("{}".encode("utf-16"))
    assert "UTF-16" in reason(path)
    path.write_bytes("{}".encode("utf-16-le"))
    assert "UTF-16" in reason(path)
    path.write_bytes(b'{"\xff":1}')
    assert "byte 2" in reason(path)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("missing")
    assert "a directory" in reason(tmp_path)
    assert "a named pipe" in reason(tmp_path / "pipe")
    assert "a device" in reason(Path("/dev/zero"))
    assert "cannot be read" in reason(tmp_path / "loop")
    assert "broken symlink" in reason(tmp_path / "nowhere")
    assert "cannot be read" in reason(tmp_path / "a\0b")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b" " * MAX_BYTES)
    assert len(read_text(str(path))) == MAX_BYTES
    path.write_bytes(b" " * (MAX_BYTES + 1))
    assert "too large" in reason(path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(str(tmp_path / "none"))
