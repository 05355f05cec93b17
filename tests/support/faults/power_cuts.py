"""A power cut at any moment of random work on a store: what was synced before is there and whole.

The work is done by the real store on a recording file system (`tests/support/faults/power.py`, which says what the model assumes);
each state is written to real files and read by the real store.
"""

import asyncio
import json
import random
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from opencode_tui.schema.error import CorruptRecordError, NotFoundError
from opencode_tui.storage.keys import Key
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.power import RecordedDisk, restore_state

ACTS = 40
KEYS: list[Key] = [(kind, f"{kind}_{at % 2}", f"id_{at}") for kind in ("message", "part") for at in range(4)]
DAMAGED = "damaged"
_ACTS = ("write", "write", "write", "durable", "grow", "remove", "tree", "sync")


@dataclass
class Course:
    """One record's versions in order, None where it was removed, each with the number of changes of the disk when it began.

    `promised` are (changes by then, index in `versions`): from then on nothing older may come back. `synced` is the same after
    every sync, whether the store promises it or not.
    """

    versions: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    promised: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    synced: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    is_fresh: bool = False
    """Whether it was created or removed since the last sync."""

    @property
    def is_there(self) -> bool:
        return bool(self.versions) and self.versions[-1][1] is not None

    def complaint(self, found: int | str | None, at: int) -> str | None:
        """Return what is wrong with the record as it was found after a cut at a change, None when nothing is."""
        promise = next((index for changes, index in reversed(self.promised) if changes <= at), None)
        if promise is None:
            return None
        allowed = {version for begun, version in self.versions[promise:] if begun <= at}
        # After a removal it may be a new record, which may be damaged before it is synced.
        if found in allowed or (found == DAMAGED and None in allowed and len(allowed) > 1):
            return None
        return f"is {found}, may be {allowed}"

    def is_old(self, found: int | str | None, at: int) -> bool:
        """Return whether the record is older than it was at the last sync."""
        index = next((index for changes, index in reversed(self.synced) if changes <= at), 0)
        return found in {version for _, version in self.versions[:index]} - {None}


Courses = defaultdict[Key, Course]


async def do_work(paths: Paths, disk: RecordedDisk, chance: random.Random) -> Courses:
    """Do random acts one after the other; return what became of each record."""
    storage, courses = Storage(paths, files=disk), Courses(Course)
    for number in range(ACTS):
        act, key = chance.choice(_ACTS), chance.choice(KEYS)
        data = json.dumps({"n": number, "body": "x" * chance.randrange(5_000)}).encode()
        touched = [one for one in courses if one[:2] == key[:2]] if act == "tree" else [key]
        for course in [courses[one] for one in touched if act != "sync"]:
            is_gone = act in ("remove", "tree")
            course.is_fresh |= is_gone or not course.is_there
            course.versions.append((len(disk.changes), None if is_gone else number))
        match act:
            case "write":
                await storage.write(key, data)
            case "durable":
                await storage.write(key, data, durable=True)
                courses[key].promised.append((len(disk.changes), len(courses[key].versions) - 1))
                courses[key].is_fresh = False
            case "grow":
                storage.write_behind(key, lambda data=data: data)
                await storage.flush()
            case "remove":
                await storage.remove(key)
            case "tree":
                await storage.remove_tree(key[:2])
            case _:
                await storage.sync()
                for course in courses.values():
                    now = (len(disk.changes), len(course.versions) - 1)
                    course.synced.append(now)
                    course.promised += [now] if course.is_fresh else []
                    course.is_fresh = False
    await storage.close()
    return courses


def read_version(storage: Storage, key: Key) -> int | str | None:
    """Return the version that the store has of a record, None when it is missing."""
    try:
        return json.loads(storage.read_sync(key))["n"]
    except NotFoundError:
        return None
    except (CorruptRecordError, ValueError):
        return DAMAGED


def cut_power(folder: Path, states: int, chance: random.Random) -> tuple[list[str], int]:
    """Do random work and read this number of states of it.

    Return what was wrong, and how many states had a record from before a sync.
    """
    home = folder / "home"
    home.mkdir()
    paths, disk = find_paths({"HOME": str(home)}), RecordedDisk(home)
    courses = asyncio.run(do_work(paths, disk, chance))
    wrong, old = list[str](), 0
    for number in range(states):
        state, at = folder / f"state{number}", chance.randint(0, len(disk.changes))
        state.mkdir()
        restore_state(disk.changes[:at], state, chance)
        storage = Storage(find_paths({"HOME": str(state)}))
        found = {key: read_version(storage, key) for key in courses}
        storage.list_sync(())
        for key, course in courses.items():
            if what := course.complaint(found[key], at):
                wrong.append(f"cut at change {at} of {len(disk.changes)}: {'/'.join(key)} {what}")
        old += any(course.is_old(found[key], at) for key, course in courses.items())
        shutil.rmtree(state)
    return wrong, old
