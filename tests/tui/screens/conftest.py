"""Times of day are those of one zone, and the version is one that no release changes."""

import time
from collections.abc import Generator

import pytest

from opencode_tui.tui.chrome import welcome


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def _version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the version of the reference pictures, whatever the release is."""
    monkeypatch.setattr(welcome, "__version__", "0.2.0")
