"""`batch --scheduler` and `batch worker` before anything is connected."""

import importlib
import sys
from pathlib import Path

import pytest

from opencode_tui.cli.commands.batch.cluster import read_tls, requires_cluster
from opencode_tui.schema.error import ConfigError


def test_without_the_extra_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "opencode_tui.batch.pool_dask", raising=False)
    with (
        pytest.raises(ConfigError, match=r"^Dask is not installed.*`pip install 'opencode-tui\[cluster\]'`$"),
        requires_cluster(),
    ):
        importlib.import_module("opencode_tui.batch.pool_dask")


def test_the_files_of_a_certificate_are_given_together(tmp_path: Path) -> None:
    assert read_tls(None, None, None) is None
    with pytest.raises(ConfigError, match="--tls-ca, --tls-cert and --tls-key are needed together"):
        read_tls(tmp_path, None, tmp_path)
