from collections.abc import Iterator

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.sessions.searched import SearchStore


@pytest.fixture
def store(paths: Paths) -> Iterator[SearchStore]:
    made = SearchStore(paths)
    yield made
    made.searcher.close()
