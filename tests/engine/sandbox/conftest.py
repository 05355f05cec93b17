"""Commands that run confined, in each tier that works here."""

import os
from functools import cache
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.tier import Tier, TierStatus, probe
from tests.engine.sandbox.confined import Confined


def require_tier(tier: Tier) -> None:
    """Skip the test where the tier does not work."""
    if not (status := _probed(tier)).works:
        pytest.skip(status.reason)


def require(tier: Tier, base: Path) -> Confined:
    """Return commands in the tier; skips the test where it does not work."""
    require_tier(tier)
    return Confined(tier, base)


@cache
def _probed(tier: Tier) -> TierStatus:
    return probe(tier, os.environ)


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, tmp_path: Path) -> Confined:
    return require(request.param, tmp_path)


@pytest.fixture(params=["bubblewrap", "view", "landlock"])
def confined_each_way(request: pytest.FixtureRequest, tmp_path: Path) -> Confined:
    """As `confined`, also where each command starts in a prepared view."""
    return prepared(tmp_path) if request.param == "view" else require(request.param, tmp_path)


@pytest.fixture
def view(tmp_path: Path) -> Confined:
    return prepared(tmp_path)


def prepared(base: Path) -> Confined:
    """Return commands that start in a prepared view; skips the test where there is none."""
    require_tier("bubblewrap")
    if _probed("bubblewrap").is_flat:
        pytest.skip("bubblewrap has one stage here")
    return Confined("bubblewrap", base, is_prepared=True)


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Confined:
    return require("bubblewrap", tmp_path)


@pytest.fixture
def landlock(tmp_path: Path) -> Confined:
    return require("landlock", tmp_path)
