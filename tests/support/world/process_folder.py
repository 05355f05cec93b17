"""Folders for what all tests of a process share."""

import atexit
import shutil
import tempfile
from pathlib import Path


def process_folder(name: str) -> Path:
    """Return a new folder for temporary files, which is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
