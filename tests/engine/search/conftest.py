from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.sessions.searched import SearchStore


@pytest.fixture
def store(paths: Paths) -> Iterator[SearchStore]:
    made = SearchStore(paths)
    yield made
    made.searcher.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"
