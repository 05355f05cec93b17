"""The import of 10,000 sessions: seconds, memory, a second import, and kills of it; goals of the design."""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.importing.killed import complaints, killed_import, session_count
from tests.support.importing.large import make_database
from tests.support.world.cli import PACKAGE_ROOT, CommandLine

SESSIONS = 10_000
LIMIT_S = 120
LIMIT_MB = 150
KILLS = 40
KILL_SESSIONS = 400

_MEASURED = """
import resource, runpy, sys
sys.argv[0] = "opencode-tui"
try:
    runpy.run_module("opencode_tui", run_name="__main__")
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def run_import(environ: dict[str, str], folder: Path, data: Path) -> tuple[float, float, int]:
    """Import in a process of its own; return seconds, MB of memory, and the number of imported sessions."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "import", "opencode", str(data)],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(PACKAGE_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - begin
    found = re.search(r"Imported (\d+) session", done.stdout)
    assert found is not None, done.stdout
    scale = 1_000_000 if sys.platform == "darwin" else 1_000
    return seconds, int(done.stderr.split()[-1]) / scale, int(found[1])


def main() -> int:
    """Measure, kill, and return the exit code."""
    sessions, kills = rounds(SESSIONS, 1_000), rounds(KILLS, 6)
    chance = random.Random(time.time_ns())
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder = top / "project"
        folder.mkdir()
        environ = isolated_environment(top / "home")
        data = make_database(top / "opencode", sessions)
        seconds, memory, count = run_import(environ, folder, data)
        again_seconds, _, again = run_import(environ, folder, data)
        killed = {**environ, "XDG_DATA_HOME": str(top / "killed")}
        line, small = CommandLine(folder, killed), make_database(top / "small", KILL_SESSIONS)
        struck, wrong = 0, []
        for _ in range(kills):
            struck += killed_import(line, small, records=KILL_SESSIONS * 4 // kills, chance=chance)
            wrong += complaints(killed, partial=True)
        run_import(killed, folder, small)
        wrong += complaints(killed, partial=False)
        lost = abs(KILL_SESSIONS - session_count(killed))
    for complaint in wrong[:20]:
        print(complaint)
    share = sessions / SESSIONS
    return report(
        [
            Figure(f"import of {sessions} sessions", seconds, LIMIT_S * share, "s"),
            Figure("its memory", memory, LIMIT_MB, "MB"),
            Figure("sessions that it lost", abs(sessions - count), 0, ""),
            Figure("import of the same again", again_seconds, LIMIT_S * share / 5, "s"),
            Figure("sessions that it changed", again, 0, ""),
            Figure(f"broken promises in {struck} kills", len(wrong), 0, ""),
            Figure("sessions lost or doubled by kills", lost, 0, ""),
        ]
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
