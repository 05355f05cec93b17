"""Without Dask the commands say what to install."""

import importlib
import sys

import pytest

from opencode_tui.extras.dask.cluster import requires_cluster
from opencode_tui.schema.error import ConfigError


def test_without_the_extra_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "opencode_tui.extras.dask.pool", raising=False)
    with (
        pytest.raises(ConfigError, match=r"^Dask is not installed.*`pip install 'opencode-tui\[cluster\]'`$"),
        requires_cluster(),
    ):
        importlib.import_module("opencode_tui.extras.dask.pool")
