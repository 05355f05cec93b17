"""An import that is killed leaves nothing half visible, and the next one completes it."""

import random
from pathlib import Path

import pytest

from tests.support.importing.killed import complaints, killed_import, session_count
from tests.support.importing.large import make_database
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


SESSIONS = 60


def test_a_killed_import_is_completed_by_the_next(environ: dict[str, str], tmp_path: Path):
    data = make_database(tmp_path / "opencode", SESSIONS)
    folder = tmp_path / "project"
    folder.mkdir()
    line = CommandLine(folder, environ)
    chance = random.Random(7)
    struck = [killed_import(line, data, records=SESSIONS * 4, chance=chance) for _ in range(3)]
    assert any(struck)
    assert complaints(environ, partial=True) == []
    done = line.run("import", "opencode", str(data))
    assert (done.code, complaints(environ, partial=False), session_count(environ)) == (0, [], SESSIONS)
    again = line.run("import", "opencode", str(data))
    assert again.stdout.splitlines()[-1] == f"Imported 0 sessions, {SESSIONS} already here"
