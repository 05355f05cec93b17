"""What the tests of settings share."""

from pathlib import Path

import pytest

from tests.support.world.settings import SettingsWorld


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> SettingsWorld:
    """Empty folders of a person and an empty repository."""
    return SettingsWorld(tmp_path, environ)
