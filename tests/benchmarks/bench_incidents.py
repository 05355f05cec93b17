"""Published incidents of agents, replayed by a model that obeys: what was lost, and what held."""

import sys
import tempfile
from pathlib import Path

from tests.conftest import isolated_environment
from tests.support.hostile.incidents import INCIDENTS, replay, scene_of


def main() -> int:
    """Replay all, and return 1 when something was lost."""
    missed = 0
    print(f"{'incident':<42} {'lost':>4}  what holds")
    for incident in INCIDENTS:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, "home")
            home.mkdir()
            with scene_of(Path(folder), isolated_environment(home)) as scene:
                lost = replay(incident, scene)
        print(f"{incident.id:<42} {len(lost):>4}  {'; '.join(lost) or incident.holds}", flush=True)
        missed += bool(lost)
    print(f"{len(INCIDENTS) - missed} of {len(INCIDENTS)} did no damage")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
