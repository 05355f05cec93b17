import os
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths, find_paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths({"HOME": str(tmp_path / "home")})


@pytest.fixture
def no_git(tmp_path: Path) -> dict[str, str]:
    """An environment in which no program can be found: discovery that needs git fails in it."""
    (tmp_path / "empty").mkdir()
    return {**os.environ, "PATH": str(tmp_path / "empty")}
