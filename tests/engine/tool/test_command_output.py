"""Claims about what is kept of an output."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.tool.process.running_command import FILE_BYTES, CommandOutput, Excerpt


def nowhere() -> Path:
    raise OSError(28, "No space left on device")


def collected(
    data: bytes, reserve: Callable[[], Path], cuts: list[int] | None = None, *, file_bytes: int = FILE_BYTES
) -> Excerpt:
    output = CommandOutput(reserve, file_bytes=file_bytes)
    places = [0, *sorted(cuts or []), len(data)]
    for start, end in itertools.pairwise(places):
        if end > start:
            output.feed(data[start:end])
    output.close()
    return output.excerpt(is_final=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "full"


UNITS = {
    "letters": b"x",
    "short lines": b"line\n",
    "empty lines": b"\n",
    "wide letters": "你好\n".encode(),
    "binary": b"\xff\x00",
    "long lines": b"y" * 3_000 + b"\n",
}


@settings(max_examples=60)
@given(
    unit=st.sampled_from(sorted(UNITS)),
    size=st.integers(0, 100_000),
    cuts=st.lists(st.integers(0, 100_000), max_size=8),
)
def test_how_an_output_is_cut_into_pieces_does_not_matter(unit: str, size: int, cuts: list[int]) -> None:
    data = (UNITS[unit] * (size // len(UNITS[unit]) + 1))[:size]
    whole = collected(data, nowhere)
    assert collected(data, nowhere, [min(cut, len(data)) for cut in cuts]) == whole
    if whole.removed is None:
        assert whole.head == data.decode("utf-8", "replace").replace("\0", "\ufffd")
    assert len(whole.preview()) <= 30_000


def test_the_limits_themselves_are_whole(file: Path) -> None:
    for data in (b"x" * 51_200, b"\n" * 2_000, b"\n" * 1_999 + b"x"):
        assert collected(data, lambda: file).removed is None
    assert not file.exists()


def test_both_ends_are_whole_lines(file: Path) -> None:
    data = b"".join(b"%06d %s\n" % (number, b"z" * 92) for number in range(1_000))
    excerpt = collected(data, lambda: file)
    assert [len(line) for line in excerpt.head.split("\n")] == [99] * 256
    assert [len(line) for line in excerpt.tail.rstrip("\n").split("\n")] == [99] * 255
    assert file.read_bytes() == data


def test_one_long_line_keeps_both_its_ends(file: Path) -> None:
    excerpt = collected(b"a" * 100_000 + b"b" * 100_000, lambda: file)
    assert (excerpt.head, excerpt.tail) == ("a" * 25_600, "b" * 25_600)
    assert excerpt.removed is not None
    assert excerpt.removed.marker == "...148800 bytes truncated..."


def test_characters_are_not_cut_apart(file: Path) -> None:
    excerpt = collected(b"." + "你".encode() * 50_000, lambda: file)
    assert "\ufffd" not in excerpt.head + excerpt.tail


def test_the_file_ends_at_its_bound_and_the_advice_says_so(file: Path) -> None:
    excerpt = collected(b"x" * 90_000, lambda: file, file_bytes=60_000)
    assert file.stat().st_size == 60_000
    assert "the file holds the first" in excerpt.for_model(may_delegate=False)


def test_a_full_disk_costs_only_the_file() -> None:
    text = collected(b"x" * 90_000, nowhere).for_model(may_delegate=True)
    assert text.endswith("\n\nThe full text could not be kept; run the command again with less output.")


def test_memory_stays_bounded(file: Path) -> None:
    output = CommandOutput(lambda: file, file_bytes=100_000)
    for _ in range(2_000):
        output.feed(b"x" * 60_000)
    output.close()
    assert output.size == 120_000_000
    assert sum(len(piece) for piece in (output._head, output._tail)) <= 150_000
