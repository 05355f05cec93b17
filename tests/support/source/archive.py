"""Unpacks archives of our own on every supported Python."""

import tarfile
from pathlib import Path


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Extract all members into the folder, by the "data" filter where Python has filters (3.11.4 and later)."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)
