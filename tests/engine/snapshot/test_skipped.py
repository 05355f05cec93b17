"""Which of the paths that snapshots leave out changed between two scans."""

from opencode_tui.engine.snapshot.skipped import find_touched

LARGE = "larger than the limit"


def test_a_path_that_came_or_went_was_touched_whatever_its_stamp_is() -> None:
    stamps = {"came": 1, "went": 1, "stayed": 1, "written": 1}
    found = find_touched(
        {"went": LARGE, "stayed": LARGE, "written": LARGE},
        {"came": LARGE, "stayed": LARGE, "written": LARGE},
        stamps,
        {**stamps, "written": 2},
    )
    assert found == {"came": LARGE, "went": LARGE, "written": LARGE}
