from pathlib import Path

import pytest

from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import ensure, find_paths


def test_folders_follow_home(tmp_path: Path):
    paths = find_paths({"HOME": str(tmp_path)})
    assert paths.data == tmp_path / ".local/share/opencode-tui"
    assert paths.config == tmp_path / ".config/opencode-tui"
    assert paths.state == tmp_path / ".local/state/opencode-tui"
    assert paths.cache == tmp_path / ".cache/opencode-tui"


def test_xdg_variables_win_and_relative_ones_are_ignored(tmp_path: Path):
    paths = find_paths({"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "d"), "XDG_CACHE_HOME": "relative"})
    assert (paths.data, paths.cache) == (tmp_path / "d/opencode-tui", tmp_path / ".cache/opencode-tui")


@pytest.mark.parametrize("environ", [{"HOME": "relative"}, {"HOME": "/dev/null"}])
def test_home_that_can_hold_nothing_is_a_config_error(environ: dict[str, str]):
    with pytest.raises(ConfigError, match="set HOME"):
        find_paths(environ)


def test_looking_at_paths_creates_nothing_and_ensure_closes_folders_to_others(tmp_path: Path):
    paths = find_paths({"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
    assert ensure(paths.lock) == paths.lock
    assert [folder.stat().st_mode & 0o777 for folder in (paths.lock, paths.data)] == [0o700, 0o700]
