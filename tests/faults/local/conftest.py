"""A folder to work in, and a disk that a test lets fail."""

from pathlib import Path

import pytest

from tests.support.faults.failing_disk import MISSING, FailingDisk
from tests.support.world.repo import make_repo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with one commit."""
    repo = make_repo(tmp_path / "work")
    repo.commit(**{"a.txt": "the user's\n"})
    return repo.path


@pytest.fixture
def disk(tmp_path: Path) -> FailingDisk:
    """A disk that works until the test lets it fail."""
    if MISSING:
        pytest.skip(MISSING)
    return FailingDisk(tmp_path)
