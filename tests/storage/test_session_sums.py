import json
import os
import sqlite3
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.session_sums import SessionSums
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info

LONG_AGO = 10**18
MANY = 21


ASKED = {
    "id": "msg_1",
    "sessionID": "ses_1",
    "role": "user",
    "agent": "build",
    "model": {"providerID": "a", "modelID": "b"},
    "time": {"created": 5},
}
ANSWERED = {
    "id": "msg_1",
    "sessionID": "ses_1",
    "role": "assistant",
    "parentID": "msg_0",
    "modelID": "b",
    "providerID": "a",
    "mode": "build",
    "agent": "build",
    "path": {"cwd": "/p", "root": "/p"},
    "time": {"created": 5},
}


def session(name: str, *, created: int = 1, **fields: object) -> SessionInfo:
    return session_info(f"ses_{name}", created=created, updated=created, project_id="p", title=name, **fields)


def message(paths: Paths, info: SessionInfo, number: int, **fields: object) -> Path:
    """Write a message as it lies after some time, the way the store does: by replacing."""
    path = paths.storage / "message" / info.id / f"msg_{number:03d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({**(ASKED if fields.get("role") == "user" else ANSWERED), **fields}))
    os.utime(temporary, ns=(LONG_AGO + number, LONG_AGO + number))
    temporary.replace(path)
    settle_times(path.parent, number)
    return path


def settle_times(folder: Path, moment: int) -> None:
    os.utime(folder, ns=(LONG_AGO + moment, LONG_AGO + moment))


def wait_for_tick() -> None:
    """Wait until what was written cannot change again without another time."""
    time.sleep(0.12)


def opened(paths: Paths) -> tuple[SessionSums, FaultyFiles]:
    files = FaultyFiles()
    storage = Storage(paths, files=files)
    return SessionSums(storage, SessionIndex(storage), "p"), files


def costs(sums: SessionSums, *sessions: SessionInfo) -> dict[str, Decimal]:
    """Return what each of these sessions costs, asked for in the ways that there are."""
    found = {info.id: cost for info in sessions if (cost := sums.cost([info]))}
    assert found == sums.family_costs([info.id for info in sessions]) == sums.costs()
    return found


def messages_read(files: FaultyFiles) -> list[str]:
    names = [Path(str(name)) for act, name in files.log if act == "open"]
    return [name.stem for name in names if name.suffix == ".json" and "/message/" in str(name)]


def test_costs_of_answers_are_added_without_rounding(paths: Paths):
    one, free = stored(paths, session("one")), stored(paths, session("free"))
    empty = stored(paths, session("empty"))
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2, cost=0.2)
    message(paths, one, 3, role="user")
    message(paths, free, 1, cost=0)
    sums, _ = opened(paths)
    assert costs(sums, one, free, empty) == {"ses_one": Decimal("0.3")}


def test_calls_without_a_message_and_sessions_of_other_projects_cost_too(paths: Paths):
    here, elsewhere = stored(paths, session("here", metadata={"cost": 0.5})), session("elsewhere", metadata={"cost": 2})
    message(paths, here, 1, cost=0.1)
    message(paths, elsewhere, 1, cost=1)
    sums, _ = opened(paths)
    assert costs(sums, here) == {"ses_here": Decimal("0.6")}
    assert sums.cost([here, elsewhere]) == Decimal("3.6")
    assert sums.family_costs([elsewhere.id, "ses_none"]) == {}


def test_sessions_of_agents_count_for_their_caller_unless_they_are_archived(paths: Paths):
    top = stored(paths, session("top"))
    agent = stored(paths, session("agent", parent_id=top.id))
    old = stored(paths, session("old", parent_id=agent.id, time=top.time.changed(archived=3)))
    below = stored(paths, session("below", parent_id=old.id))
    for number, info in enumerate((top, agent, old, below)):
        message(paths, info, 1, cost=10**number)
    sums, _ = opened(paths)
    assert sums.family_costs([top.id, old.id]) == {top.id: 11, old.id: 1100}
    assert sums.family_costs([top.id, below.id], is_archived=True) == {top.id: 1111, below.id: 1000}


def test_what_a_fork_copied_is_none_of_its_costs(paths: Paths):
    ids = Identifier()
    copied = message(paths, session("fork"), 1, cost=0.4, time={"created": 101})
    source = ids.descending("ses")
    fork = session_info(ids.descending("ses"), project_id="p", metadata={"forkedFrom": {"sessionID": source}})
    names = [Identifier(lambda: system_clock() - 1_000).ascending("msg"), ids.ascending("msg")]
    folder = copied.parent.with_name(fork.id)
    folder.mkdir()
    (folder / f"{names[0]}.json").write_text(copied.read_text())
    (folder / f"{names[1]}.json").write_text(copied.read_text().replace("0.4", "0.1").replace("101", "99"))
    sums, _ = opened(paths)
    assert costs(sums, stored(paths, fork)) == {fork.id: Decimal("0.1")}
    wait_for_tick()
    costs(sums, fork)
    own = fork.changed(metadata=None)  # its record changed, which is no change of its messages
    assert costs(sums, stored(paths, own)) == {fork.id: Decimal("0.5")}


def test_the_second_look_reads_what_changed_and_nothing_else(paths: Paths):
    one, other = stored(paths, session("one")), stored(paths, session("other"))
    for number in range(1, 4):
        message(paths, one, number, cost=0.1)
        message(paths, other, number, cost=1)
    wait_for_tick()
    sums, files = opened(paths)
    costs(sums, one, other)
    files.log.clear()
    assert costs(sums, one, other)["ses_one"] == Decimal("0.3") and messages_read(files) == []
    message(paths, one, 4, cost=0.5)
    wait_for_tick()
    assert costs(sums, one, other) == {"ses_one": Decimal("0.8"), "ses_other": Decimal(3)}
    assert messages_read(files) == ["msg_004"]


def test_a_removed_answer_is_no_longer_counted(paths: Paths):
    one = stored(paths, session("one"))
    message(paths, one, 1, cost=0.1)
    gone = message(paths, one, 2, cost=0.2)
    wait_for_tick()
    sums, _ = opened(paths)
    costs(sums, one)
    gone.unlink()
    assert costs(sums, one) == {"ses_one": Decimal("0.1")}


def test_costs_are_known_to_the_next_process(paths: Paths):
    one = stored(paths, session("one"))
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    wait_for_tick()
    opened(paths)[0].costs()
    sums, files = opened(paths)
    assert costs(sums, one) == {"ses_one": Decimal("0.21")}
    assert messages_read(files) == []


def test_a_folder_that_changed_a_moment_ago_is_not_trusted(paths: Paths):
    one = stored(paths, session("one"))
    path = message(paths, one, 1, cost=0.1)
    later = time.time_ns() + 10**12
    os.utime(path.parent, ns=(later, later))
    os.utime(path, ns=(later, later))
    sums, files = opened(paths)
    sums.costs()
    files.log.clear()
    assert sums.costs() == {"ses_one": Decimal("0.1")} and messages_read(files) == ["msg_001"]


NESTED = f'{{"role": "assistant", "more": {"[" * 100_000}{"]" * 100_000}}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"cost": "nan"}',
        '{"cost": -1}',
        '{"cost": []}',
        '{"cost": true',
        pytest.param(NESTED, id="nested"),
    ],
)
def test_a_damaged_message_costs_itself_alone(paths: Paths, text: str):
    one = stored(paths, session("one"))
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2).write_text(text)
    assert costs(opened(paths)[0], one) == {"ses_one": Decimal("0.1")}


ODD: tuple[JsonObject, ...] = (
    {"tokens": {"input": 1.5, "output": 7, "reasoning": 0, "cache": {"read": 0, "write": 0}}},
    {"error": {"name": "LaterError", "data": {}}},
    {"later": {"a": [1, None]}},
    {"more": "\ud800"},
)
"""Records of other programs and versions, each with a value that this one does not write."""


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_message_with_an_odd_value_costs_what_it_says(paths: Paths, odd: JsonObject):
    one = stored(paths, session("one"))
    message(paths, one, 1, **{"cost": 0.1, **odd})
    message(paths, one, 2, cost=0.1)
    assert costs(opened(paths)[0], one) == {"ses_one": Decimal("0.2")}


@pytest.mark.parametrize("cost", [-1, 10**40, "much", None], ids=str)
def test_what_is_no_amount_costs_nothing(paths: Paths, cost: object):
    one = stored(paths, session("one"))
    message(paths, one, 1, cost=cost)
    message(paths, one, 2, cost=0.1)
    assert costs(opened(paths)[0], one) == {"ses_one": Decimal("0.1")}


def test_a_message_of_an_unknown_role_counts_nothing(paths: Paths):
    one = stored(paths, session("one"))
    message(paths, one, 1, role="later", cost=3)
    assert opened(paths)[0].total()[0].messages == 0


def stored(paths: Paths, info: SessionInfo, moment: int = 0) -> SessionInfo:
    """Write the session's record as it lies after some time."""
    path = paths.storage / "session" / "p" / f"{info.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(info.to_json())
    os.utime(path, ns=(LONG_AGO + moment, LONG_AGO + moment))
    return info


def call(tool: str) -> JsonObject:
    state = {"status": "pending", "input": {}, "raw": ""}
    return {
        "id": "prt_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
        "type": "tool",
        "callID": "c",
        "tool": tool,
        "state": state,
    }


def step(paths: Paths, info: SessionInfo, number: int, *tools: str, **fields: object) -> Path:
    """Write an answer of one step with calls of these tools."""
    for at, tool in enumerate(tools):
        part = paths.storage / "part" / f"msg_{info.title}{number:03d}" / f"prt_{at}.json"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(call(tool)))
    used = {"input": 7, "output": 3, "reasoning": 0, "cache": {"read": 2, "write": 1}}
    shape = {"providerID": "a", "modelID": "b", "tokens": used, "time": {"created": 5, "completed": 6}, "cost": 0.1}
    path = message(paths, info, number, **{**shape, **fields})
    named = path.with_name(f"msg_{info.title}{number:03d}.json")
    path.replace(named)
    settle_times(path.parent, number)
    return named


def usage(paths: Paths, *, since: int = 0) -> tuple[JsonObject, list[str]]:
    """Return what a new process finds, and the names of the messages that it read."""
    sums, files = opened(paths)
    found, damaged = sums.total(since)
    assert damaged == []
    return found.to_dict(), messages_read(files)


@pytest.fixture
def worked(paths: Paths) -> SessionInfo:
    """A session whose sum is in the file."""
    one = stored(paths, session("one", metadata={"cost": 0.25}))
    for number in range(MANY):
        step(paths, one, number, *(["read", "bash"] if number == 1 else []))
    wait_for_tick()
    usage(paths)
    return one


def test_all_sessions_are_added_up_by_model_and_tool(paths: Paths, worked: SessionInfo):
    other = stored(paths, session("other", created=9))
    message(paths, other, 1, role="user")
    step(paths, other, 2, "read", modelID="c", cost=0.2)
    found, _ = usage(paths)
    assert (found["sessions"], found["messages"], found["cost"], found["hidden"]) == (2, MANY + 2, 2.55, 0.25)
    assert found["models"]["a/b"] == {
        "steps": MANY,
        "input": 7 * MANY,
        "output": 3 * MANY,
        "cached": 2 * MANY,
        "cost": 2.1,
    }
    assert found["models"]["a/c"]["steps"] == 1
    assert found["tools"] == {"read": 2, "bash": 1}
    assert usage(paths, since=9)[0]["models"] == {"a/c": found["models"]["a/c"]}


@pytest.mark.parametrize("is_next_process", [False, True])
def test_calls_are_counted_after_costs_were_computed_without_them(paths: Paths, is_next_process: bool):
    one = stored(paths, session("one"))
    message(paths, one, 900, role="user")
    for number in range(MANY):
        step(paths, one, number, *(["read"] if number < 2 else []))
    wait_for_tick()
    sums, _ = opened(paths)
    sums.costs()
    found = usage(paths)[0] if is_next_process else sums.total()[0].to_dict()
    assert found["tools"] == {"read": 2}


def test_what_is_archived_is_added_up_apart_with_its_agents(paths: Paths, worked: SessionInfo):
    archived = stored(paths, session("old", metadata={"cost": 0.5}, time=worked.time.changed(archived=3)))
    agent = stored(paths, session("agent", parent_id=archived.id))
    below = stored(paths, session("below", parent_id=agent.id))
    other = stored(paths, session("other", parent_id=worked.id))
    for info, cost in ((archived, 0.1), (agent, 0.02), (below, 0.003), (other, 7)):
        message(paths, info, 1, cost=cost)
    wait_for_tick()
    sums, files = opened(paths)
    assert sums.spent() == Decimal("9.35")  # with 0.25 for titles
    assert sums.spent(is_archived=True) == Decimal("0.623")
    files.log.clear()
    assert sums.spent() == Decimal("9.35")
    assert messages_read(files) == []
    message(paths, other, 2, cost=1)
    assert sums.spent() == Decimal("10.35")


def test_sessions_that_are_archived_in_a_circle_of_parents_are_added_up_once(paths: Paths):
    one = stored(paths, session("one", parent_id="ses_two"))
    two = stored(paths, session("two", parent_id="ses_one", time=one.time.changed(archived=3)))
    for info in (one, two):
        message(paths, info, 1, cost=1)
    sums, _ = opened(paths)
    assert (sums.spent(), sums.spent(is_archived=True)) == (0, 2)


def test_the_next_process_reads_no_message_for_the_total(paths: Paths, worked: SessionInfo):
    found, read = usage(paths)
    assert (found["messages"], found["tools"], read) == (MANY, {"read": 1, "bash": 1}, [])


@pytest.mark.parametrize("since", [0, 1], ids=["the whole", "one by one"])
def test_a_message_that_was_changed_behind_the_sums_is_added_up_again(paths: Paths, worked: SessionInfo, since: int):
    step(paths, worked, 3, "grep", cost=5)
    settle_times(paths.storage / "message" / worked.id, MANY + 1)
    found, _ = usage(paths, since=since)
    assert (found["cost"], found["tools"]) == (7.25, {"bash": 1, "grep": 1, "read": 1})


def test_a_session_that_was_changed_behind_the_sums_is_looked_at_again(paths: Paths, worked: SessionInfo):
    stored(paths, worked.changed(metadata={"cost": 3}, time=worked.time.changed(updated=50)), moment=1)
    assert usage(paths)[0]["hidden"] == 3
    assert usage(paths, since=50)[0]["sessions"] == 1
    (paths.storage / "session" / "p" / f"{worked.id}.json").unlink()
    assert usage(paths)[0]["messages"] == 0


def test_sums_are_made_again_with_their_file(paths: Paths, worked: SessionInfo):
    right, _ = usage(paths)
    with closing(sqlite3.connect(paths.cache / "index.db", isolation_level=None)) as db:
        db.execute("UPDATE session SET uses = CAST('[' AS BLOB)")
    found, read = usage(paths)
    assert found == right and len(read) == MANY


def test_calls_of_a_step_that_still_runs_are_not_kept(paths: Paths, worked: SessionInfo):
    step(paths, worked, 500, "read", time={"created": 5})
    usage(paths)
    late = paths.storage / "part" / f"msg_{worked.title}500" / "prt_9.json"
    late.write_text(json.dumps(call("write")))
    assert usage(paths)[0]["tools"] == {"read": 2, "bash": 1, "write": 1}
