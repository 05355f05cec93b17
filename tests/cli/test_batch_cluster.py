"""`batch --scheduler` and `batch worker` before anything is connected."""

from pathlib import Path

import pytest

from opencode_tui.cli.commands.batch.cluster import read_tls
from opencode_tui.schema.error import ConfigError


def test_the_files_of_a_certificate_are_given_together(tmp_path: Path) -> None:
    assert read_tls(None, None, None) is None
    with pytest.raises(ConfigError, match="--tls-ca, --tls-cert and --tls-key are needed together"):
        read_tls(tmp_path, None, tmp_path)
