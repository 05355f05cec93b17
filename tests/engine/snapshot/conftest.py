"""What the tests of snapshots share: a worktree in an environment of its own."""

from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.snapshot.worktree import World


@pytest.fixture
def world(tmp_path: Path, paths: Paths) -> World:
    """An empty folder without a repository."""
    return World(tmp_path / "project", paths)
