"""What every test gets: an environment of its own below tmp_path, and nothing of the person's."""

import os
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths, find_paths

KEPT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


def isolated_environment(home: Path) -> dict[str, str]:
    """Return an environment whose home and XDG folders lie below `home`."""
    return {
        **{name: os.environ[name] for name in KEPT if name in os.environ},
        "HOME": str(home),
        "USER": "tester",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.invalid",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.invalid",
        "OPENCODE_TEST_MANAGED_CONFIG_DIR": str(home / "managed"),
        "NO_PROXY": "*",
    }


def pytest_xdist_auto_num_workers() -> int:
    """Two processes a core: the tests wait for terminals, servers and commands as long as they compute."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return isolated_environment(home)


@pytest.fixture
def paths(environ: dict[str, str]) -> Paths:
    """The program's folders in that environment."""
    return find_paths(environ)
