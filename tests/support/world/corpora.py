"""The corpora that several projects share: they are next to the repository, not in it."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "corpora"


def shared_corpus(name: str, *, folder: Path = SHARED) -> Path:
    """Return the path of a shared corpus or its runner; where it is missing, fail the test in CI and skip it elsewhere."""
    path = folder / name
    if not path.exists():
        reason = f"the shared corpus {path} is missing"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path
