from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage


@pytest.fixture
def paths(tmp_path: Path, closing_limits: None) -> Paths:
    return find_paths({"HOME": str(tmp_path)})


@pytest.fixture
def locks(paths: Paths) -> Locks:
    return Locks(paths)


@pytest.fixture
async def storage(paths: Paths) -> AsyncGenerator[Storage, None]:
    store = Storage(paths)
    yield store
    await store.close()
