import os
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


def test_the_given_environment_decides_and_that_of_the_process_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "of the process"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    before = dict(os.environ)
    given = find_paths({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "s")})
    assert (given.data, given.state) == (tmp_path / ".local/share/opencode-tui", tmp_path / "s/opencode-tui")
    assert find_paths(os.environ).data == tmp_path / "of the process/opencode-tui"
    assert dict(os.environ) == before


@pytest.mark.parametrize("environ", [{"HOME": "relative"}, {"HOME": "/dev/null"}])
def test_home_that_can_hold_nothing_is_a_config_error(environ: dict[str, str]):
    with pytest.raises(ConfigError, match="set HOME"):
        find_paths(environ)


def test_looking_at_paths_creates_nothing_and_ensure_closes_folders_to_others(tmp_path: Path):
    paths = find_paths({"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
    assert ensure(paths.lock) == paths.lock
    assert [folder.stat().st_mode & 0o777 for folder in (paths.lock, paths.data)] == [0o700, 0o700]
