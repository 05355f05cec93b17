from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.tool.truncate import MAX_BYTES, MAX_LINES, Cut, Limits, Truncator, cut, remove_old_outputs
from opencode_tui.schema.ids import Identifier
from opencode_tui.storage.paths import Paths, find_paths

DAY_MS = 24 * 3_600_000


class Now:
    def __init__(self, ms: int) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def now() -> Now:
    return Now(1_780_000_000_000)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths({"HOME": str(tmp_path)})


@pytest.fixture
def truncator(paths: Paths, now: Now) -> Truncator:
    return Truncator(folder=paths.tool_output, identifier=Identifier(now))


def lines(count: int) -> str:
    return "\n".join(f"line{number}" for number in range(count))


def test_limits_are_those_of_the_source() -> None:
    assert (MAX_LINES, MAX_BYTES) == (2000, 51200)
    assert cut(lines(2000)).removed == 0
    assert cut(lines(2001)).marker == "...1 lines truncated..."
    assert cut("x" * 51200).removed == 0


def test_head_and_tail_keep_whole_lines() -> None:
    assert cut(lines(100), limits=Limits(lines=10)) == Cut(lines(10), 90, "lines")
    assert cut(lines(10), "tail", Limits(lines=3)) == Cut("line7\nline8\nline9", 7, "lines")


def test_bytes_stop_before_the_line_that_does_not_fit() -> None:
    assert cut("aaaa\nbbbb\ncccc", limits=Limits(size_bytes=10)) == Cut("aaaa\nbbbb", 5, "bytes")


def test_one_huge_line_leaves_a_preview() -> None:
    assert cut("é" * 600, limits=Limits(size_bytes=101)) == Cut("é" * 50, 1100, "bytes")
    assert cut("é" * 600, "tail", Limits(size_bytes=101)) == Cut("é" * 50, 1100, "bytes")


@pytest.mark.slow
@given(
    st.text(alphabet="aé\n😀", max_size=80), st.integers(1, 8), st.integers(4, 60), st.sampled_from(["head", "tail"])
)
def test_what_is_kept_is_within_the_limits_and_from_that_end(text: str, count: int, size: int, direction: str) -> None:
    piece = cut(text, direction, Limits(count, size))  # pyright: ignore[reportArgumentType] - sampled literals
    assert len(piece.kept.encode()) <= size
    assert piece.kept.count("\n") < count
    assert text.startswith(piece.kept) if direction == "head" else text.endswith(piece.kept)
    assert bool(piece.removed) == (piece.kept != text)


async def test_short_text_makes_no_file(truncator: Truncator, paths: Paths) -> None:
    result = await truncator.truncate("short")
    assert (result.text, result.truncated, result.output_path) == ("short", False, None)
    assert not paths.tool_output.exists()


async def test_full_text_is_readable_by_the_user_alone(truncator: Truncator) -> None:
    text = lines(3000)
    result = await truncator.truncate(text)
    assert result.output_path is not None
    assert result.output_path.name.startswith("tool_")
    assert result.output_path.read_text() == text
    assert result.output_path.stat().st_mode & 0o777 == 0o600
    assert result.text.startswith("line0\n")
    assert "\n\n...1000 lines truncated...\n\nThe call succeeded" in result.text
    assert str(result.output_path) in result.text


async def test_tail_has_its_preview_last(truncator: Truncator) -> None:
    result = await truncator.truncate(lines(3000), direction="tail")
    assert result.text.startswith("...1000 lines truncated...")
    assert result.text.endswith("line2999")


@pytest.mark.parametrize("may_delegate", [True, False])
async def test_task_is_advised_only_to_those_who_may_use_it(truncator: Truncator, may_delegate: bool) -> None:
    text = (await truncator.truncate(lines(3000), may_delegate=may_delegate)).text
    assert ("Task tool" in text) == may_delegate
    assert "Grep" in text


async def test_text_that_cannot_be_kept_is_still_shown_and_said_so(truncator: Truncator, paths: Paths) -> None:
    paths.tool_output.mkdir(parents=True)
    (paths.tool_output).rmdir()
    paths.tool_output.write_text("a file in the way")
    result = await truncator.truncate(lines(3000))
    assert result.output_path is None
    assert "could not be kept" in result.text


def test_texts_older_than_seven_days_are_removed(paths: Paths, now: Now) -> None:
    inner = paths.tool_output_of(Path("/project"))
    inner.mkdir(parents=True)
    kept: list[Path] = []
    for days in (10, 3):
        made = Identifier(Now(now.ms - days * DAY_MS)).ascending("tool")
        kept.append(paths.tool_output / made)
        kept[-1].write_text("x")
        (inner / made).write_text("x")
    (paths.tool_output / "other").write_text("x")
    assert remove_old_outputs(paths.tool_output, now) == 2
    assert {path.name for path in paths.tool_output.iterdir()} == {kept[1].name, "other", inner.name}
    assert [path.name for path in inner.iterdir()] == [kept[1].name]


def test_age_is_right_across_the_wrap_of_the_ids(paths: Paths) -> None:
    wrap = 25 << 36
    paths.tool_output.mkdir(parents=True)
    old, young = (Identifier(Now(wrap - days * DAY_MS)).ascending("tool") for days in (8, 1))
    for name in (old, young):
        (paths.tool_output / name).write_text("x")
    remove_old_outputs(paths.tool_output, Now(wrap + 1000))
    assert [path.name for path in paths.tool_output.iterdir()] == [young]
