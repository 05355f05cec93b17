from pathlib import Path

import pytest

from tests.support.world.tools import Workbench, bench_in


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return bench_in(tmp_path)
