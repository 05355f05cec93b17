"""Where ripgrep is."""

import shutil
import sys
from pathlib import Path


def find_ripgrep() -> str | None:
    """Return the path of ripgrep: on PATH, or beside this Python where the package `ripgrep` puts it; None when missing."""
    return shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
