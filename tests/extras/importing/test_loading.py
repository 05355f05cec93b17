"""A reader is imported when there is a store that it reads."""

import subprocess
import sys
from pathlib import Path

import pytest

import opencode_tui

PROGRAM = """
import os, sys
from opencode_tui.extras.importing.sources import Sources
from opencode_tui.storage.paths import find_paths

sources = Sources(find_paths(os.environ), os.environ)
loaded = lambda: sorted(set(sys.modules) & {f"opencode_tui.extras.importing.{name}" for name in ("claude", "codex")})
print(sources.has_any(), loaded())
print([source.tool for source in sources.find()], loaded())
"""


@pytest.mark.slow
def test_looking_for_stores_imports_no_reader_and_opening_one_only_its_own(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    session = Path(environ["HOME"]) / ".claude" / "projects" / "p" / "s.jsonl"
    session.parent.mkdir(parents=True)
    session.touch()
    environ = {**environ, "PYTHONPATH": str(Path(opencode_tui.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["True []", "['claude'] ['opencode_tui.extras.importing.claude']"]
