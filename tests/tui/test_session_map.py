"""The sessions of a folder by ID behave as a dictionary does, whatever happens to them."""

import random

import pytest
from msgspec.structs import replace

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.tui.state.session_map import SessionMap


def one(number: int, **fields: object) -> ListedSession:
    return replace(ListedSession(f"ses_{number}", f"title {number}", "/place", number, number), **fields)


@pytest.mark.parametrize("seed", range(6))
def test_it_holds_what_a_dictionary_would(seed: int) -> None:
    chance = random.Random(seed)
    first = [one(number) for number in range(seed * 3)]
    sessions, plain = SessionMap(first), {info.id: info for info in first}
    for step in range(300):
        number = chance.randrange(25)
        match chance.randrange(4):
            case 0:
                plain.pop(f"ses_{number}", None)
                sessions.pop(f"ses_{number}", None)
            case 1:
                plain[f"ses_{number}"] = sessions[f"ses_{number}"] = one(number, updated=step)
            case 2:
                changed = one(number, title=f"title {chance.randrange(3)}", parent_id=f"ses_{chance.randrange(3)}")
                plain[f"ses_{number}"] = sessions[f"ses_{number}"] = changed
            case _:
                changed = one(number, fork_of=f"ses_{chance.randrange(3)}", is_archived=bool(chance.randrange(2)))
                plain[f"ses_{number}"] = sessions[f"ses_{number}"] = changed
        assert len(sessions) == len(plain)
        assert sessions.get(f"ses_{number}") == plain.get(f"ses_{number}")
        assert (f"ses_{number}" in sessions) == (f"ses_{number}" in plain)
    assert dict(sessions) == dict(sessions.items()) == plain
    assert {info.id: info for info in sessions.values()} == plain
    for source in ("ses_0", "ses_1", "ses_24"):
        below = {info.id for info in sessions.below(source)}
        assert below == {info.id for info in plain.values() if source in (info.parent_id, info.fork_of)}
    tops = sorted(
        (info.updated for info in plain.values() if not info.parent_id and not info.is_archived), reverse=True
    )
    assert [info.updated for info in sessions.newest(4)] == tops[:4]


def test_each_change_is_counted() -> None:
    sessions = SessionMap([one(1), one(2)])
    sessions["ses_3"] = one(3)
    del sessions["ses_1"]
    sessions["ses_3"] = one(3, updated=9)
    assert sessions.changes == 3
    for name in ("ses_1", "ses_4"):
        with pytest.raises(KeyError):
            del sessions[name]
        with pytest.raises(KeyError):
            sessions[name]
    assert sessions.changes == 3
