"""The site of the documentation is built without a warning, where mkdocs-material (the extra `docs`) is installed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source.pages import ROOT
from tests.support.world.waiting import PATIENCE_S

HAS_MKDOCS = importlib.util.find_spec("material") is not None and importlib.util.find_spec("mkdocs") is not None


@pytest.mark.skipif(not HAS_MKDOCS, reason="mkdocs-material is not installed: pip install -e '.[docs]'")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "packaging/mkdocs.yml"]
    command = [*mkdocs, "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "settings" / "index.html").is_file()
    page = (tmp_path / "site" / "undo" / "index.html").read_text("utf-8")
    assert 'src="../assets/undo.svg"' in page and (tmp_path / "site" / "assets" / "undo.svg").is_file()
