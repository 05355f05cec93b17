from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.engine.search import searcher
from opencode_tui.storage.paths import Paths
from tests.support.sessions.searched import SearchStore
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def store(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchStore]:
    """Return a store whose queries bring the whole index up to date, however busy the machine is."""
    monkeypatch.setattr(searcher, "INLINE_S", PATIENCE_S)
    made = SearchStore(paths)
    yield made
    made.searcher.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"
