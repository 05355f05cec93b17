"""10,000 random mutations of the records of a store of 200 sessions: the others are listed, the damage is named and set aside.

Each mutation damages one session's record; then the list must name it alone, the doctor must set it aside and keep its bytes, and
the list be whole again. `BENCHMARK_SEED` repeats a run.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted, rounds
from opencode_tui.storage.doctor import Doctor
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from tests.storage.mutations import MUTATIONS, bit_flipped
from tests.support.sessions.records import session_info

SESSIONS = 200
COUNT = rounds(10_000, 200)
BATCH = 20
"""Mutations between two visits of the doctor."""


class Damage:
    """A store that is damaged and repaired again and again."""

    def __init__(self, paths: Paths, chance: random.Random) -> None:
        self._folder = paths.storage / "session" / "p"
        self._folder.mkdir(parents=True)
        self._chance = chance
        self._whole = {info.id: info.to_json() for info in map(_session, range(SESSIONS))}
        for session_id, data in self._whole.items():
            self._path(session_id).write_bytes(data)
        self._index, self._doctor = SessionIndex(Storage(paths)), Doctor(Storage(paths))

    def batch(self, count: int) -> list[str]:
        """Damage so many sessions, list, repair, list and restore; return what was wrong."""
        damaged = self._chance.sample(sorted(self._whole), count)
        names = {session_id: self._damage(session_id) for session_id in damaged}
        listing = self._index.list("p")
        listed, errors = {info.id for info in listing.sessions}, [str(error) for error in listing.damaged]
        wrong = [f"{one} is hidden by others" for one in self._whole if one not in names and one not in listed]
        for session_id, name in names.items():
            is_named = any(str(self._path(session_id)) in error for error in errors)
            if is_named == (session_id in listed) or (session_id in listed and name != "bit"):
                wrong.append(f"{session_id}, {name}: named {is_named}, listed {session_id in listed}")
        wrong += [f"an error of several lines: {error!r}" for error in errors if "\n" in error]
        wrong += [
            str(error) for error in self._doctor.repair([f for f in self._doctor.inspect() if f.kind == "damaged"])
        ]
        after = self._index.list("p")
        wrong += [f"after the doctor: {error}" for error in after.damaged]
        wrong += [f"the doctor removed {one}" for one in listed - {info.id for info in after.sessions}]
        for session_id in damaged:
            self._path(session_id).write_bytes(self._whole[session_id])
        return wrong

    def _damage(self, session_id: str) -> str:
        name = self._chance.choice(("bit", *MUTATIONS))
        (bit_flipped if name == "bit" else MUTATIONS[name])(self._path(session_id), self._chance)
        return name

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"


def _session(number: int):
    return session_info(f"ses_{number:03}", updated=number, project_id="p")


def main() -> int:
    """Damage and print; return 1 when anything was wrong."""
    seed = int(os.environ.get("BENCHMARK_SEED") or random.randrange(1 << 30))
    print(f"{COUNT} mutations, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        damage = Damage(find_paths({"HOME": name}), random.Random(seed))
        wrong = [what for _ in counted(COUNT // BATCH) for what in damage.batch(BATCH)]
    print(*wrong[:10], sep="\n")
    return report([Figure(f"{COUNT} mutations of {SESSIONS} sessions: wrong", len(wrong), 0, "")])


if __name__ == "__main__":
    sys.exit(main())
