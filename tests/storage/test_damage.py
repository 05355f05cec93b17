"""Whatever happens to the bytes of one record, the others are there, the damage is named, and doctor sets it aside."""

import random
import shutil

import pytest

from opencode_tui.storage.doctor import Doctor
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from tests.storage.mutations import MUTATIONS, bit_flipped
from tests.support.sessions.records import session_info

SESSIONS = 40


@pytest.fixture
def paths_with_sessions(paths: Paths) -> Paths:
    folder = paths.storage / "session" / "p"
    folder.mkdir(parents=True)
    for number in range(SESSIONS):
        info = session_info(f"ses_{number:03}", updated=number, project_id="p")
        (folder / f"{info.id}.json").write_bytes(info.to_json())
    return paths


@pytest.mark.fast_cases("wrong type", "truncated")
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_damaged_session_is_named_alone_and_set_aside(paths_with_sessions: Paths, mutation: str):
    paths, rng = paths_with_sessions, random.Random(mutation)
    index, doctor = SessionIndex(Storage(paths)), Doctor(Storage(paths))
    index.list("p")
    for number in rng.sample(range(SESSIONS), 3):
        damaged = paths.storage / f"session/p/ses_{number:03}.json"
        MUTATIONS[mutation](damaged, rng)
        before = {info.id for info in index.list("p").sessions}
        [error] = index.list("p").damaged
        assert str(damaged) in str(error)
        assert doctor.repair([finding for finding in doctor.inspect() if finding.kind == "damaged"]) == []
        assert {info.id for info in index.list("p").sessions} == before
        assert index.list("p").damaged == []


@pytest.mark.slow
def test_flipped_bits_hide_no_other_session_and_end_nothing(paths_with_sessions: Paths):
    paths, rng = paths_with_sessions, random.Random(3)
    index, doctor = SessionIndex(Storage(paths)), Doctor(Storage(paths))
    whole = paths.data.with_name("whole")
    shutil.copytree(paths.storage, whole)
    for _ in range(40):
        number = rng.randrange(SESSIONS)
        bit_flipped(paths.storage / f"session/p/ses_{number:03}.json", rng)
        listing = index.list("p")
        assert len(listing.sessions) + len(listing.damaged) == SESSIONS
        assert [finding for finding in doctor.inspect() if "\n" in finding.text] == []
        shutil.copy(whole / f"session/p/ses_{number:03}.json", paths.storage / "session/p")
