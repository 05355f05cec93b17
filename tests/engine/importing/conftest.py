"""An importer into the store of one test."""

import pytest

from opencode_tui.storage.paths import find_paths
from tests.support.importing.desk import Desk


@pytest.fixture
def desk(environ: dict[str, str]) -> Desk:
    return Desk(find_paths(environ), environ)
