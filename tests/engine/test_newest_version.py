"""The look for a newer version, with the real pip and packages in a folder."""

from pathlib import Path

import pytest

from opencode_tui.engine import newest_version
from opencode_tui.engine.newest_version import CHECK_EVERY_MS, find_newer, is_newer
from opencode_tui.storage.paths import Paths
from tests.support.rows import each
from tests.support.world.distribution import installed
from tests.support.world.waiting import PATIENCE_S


@each(
    ("version", "than", "expected"),
    [
        ("1.0.1", "1.0.0", True),
        ("1.0.0", "1.0.0", False),
        ("1.0", "1.0.0", False),
        ("1.0.0.1", "1.0", True),
        ("0.9.9", "1.0.0", False),
        ("1.10.0", "1.9.0", True),
        ("2", "1.99.99", True),
        ("1.0.0", "1.0.0.dev3", True),
        ("1.0.0", "1.0.0rc1", True),
        ("1.0.0", "1.0.0+local", False),
        ("0.9", "1.0.0.dev3", False),
        ("", "1.0.0", False),
        ("latest", "1.0.0", False),
        ("1.0.0\n", "0.1", False),
        ("9.9.9", "unknown", False),
    ],
)
def test_only_a_newer_release_counts(version: str, than: str, expected: bool) -> None:
    assert is_newer(version, than) == expected


@pytest.mark.slow
async def test_it_is_looked_up_once_a_day(
    tmp_path: Path, paths: Paths, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_version, "LIMIT_S", PATIENCE_S)  # beside a high load pip takes longer than the limit
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "opencode_tui-98.0.0-py3-none-any.whl").touch()
    paths.cache.mkdir(parents=True, exist_ok=True)
    environ = {**environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
    now = CHECK_EVERY_MS * 100
    from_index = installed(tmp_path / "site")
    assert await find_newer(paths, environ, lambda: now, from_index) == "98.0.0"
    (folder / "opencode_tui-99.0.0-py3-none-any.whl").touch()
    assert await find_newer(paths, environ, lambda: now + CHECK_EVERY_MS - 1, from_index) == "98.0.0"
    assert await find_newer(paths, environ, lambda: now + CHECK_EVERY_MS, from_index) == "99.0.0"


async def test_the_name_in_an_index_counts_only_for_an_installation_from_one(
    tmp_path: Path, paths: Paths, environ: dict[str, str]
) -> None:
    (tmp_path / "opencode_tui-98.0.0-py3-none-any.whl").touch()
    paths.cache.mkdir(parents=True, exist_ok=True)
    environ = {**environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    from_clone = installed(tmp_path / "site", "file:///src/opencode-tui")
    for found in (from_clone, None):
        assert await find_newer(paths, environ, lambda: CHECK_EVERY_MS * 100, found) == ""


@pytest.mark.slow
async def test_an_index_without_an_answer_is_no_error(tmp_path: Path, paths: Paths, environ: dict[str, str]) -> None:
    paths.cache.mkdir(parents=True, exist_ok=True)
    (paths.cache / "newest-version.json").write_text('{"newest": 3')
    environ = {**environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/nonexistent"}
    found = installed(tmp_path / "site")
    assert await find_newer(paths, environ, lambda: CHECK_EVERY_MS * 100, found) == ""
