"""Whether the stamp of a file proves that it is unchanged."""

import os
from pathlib import Path

from opencode_tui.engine.snapshot.scan.stat_cache import young_since

SECOND_NS = 1_000_000_000


def test_a_file_that_changed_shortly_before_the_scan_is_young_by_either_of_its_times(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.utime(tmp_path / "file", ns=(SECOND_NS, SECOND_NS))  # only the time of its status is that of now
    status = (tmp_path / "file").stat()
    assert young_since(status, status.st_ctime_ns + SECOND_NS // 100)
    assert not young_since(status, status.st_ctime_ns + SECOND_NS)
    late = status.st_ctime_ns + 60 * SECOND_NS
    os.utime(tmp_path / "file", ns=(late, late))
    assert young_since((tmp_path / "file").stat(), late + SECOND_NS // 100)
