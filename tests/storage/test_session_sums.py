import binascii
import gc
import json
import os
import tracemalloc
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import SessionInfo, own_from
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.session_sums import SessionSums
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info

LONG_AGO = 10**18
MANY = 201
"""More messages than may be read without being written down."""


def session(name: str, *, created: int = 1, **fields: object) -> SessionInfo:
    return session_info(f"ses_{name}", created=created, updated=created, project_id="p", title=name, **fields)


def message(paths: Paths, info: SessionInfo, number: int, **fields: object) -> Path:
    """Write a message as it lies after some time, the way the store does: by replacing."""
    path = paths.storage / "message" / info.id / f"msg_{number:03d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({"role": "assistant", "time": {"created": 5}, **fields}))
    os.utime(temporary, ns=(LONG_AGO + number, LONG_AGO + number))
    temporary.replace(path)
    settle(path.parent, number)
    return path


def settle(folder: Path, moment: int) -> None:
    os.utime(folder, ns=(LONG_AGO + moment, LONG_AGO + moment))


def opened(paths: Paths) -> tuple[SessionSums, FaultyFiles]:
    files = FaultyFiles()
    return SessionSums(Storage(paths, files=files), "p"), files


def begun(*sessions: SessionInfo) -> dict[str, int]:
    """Return since when the messages of sessions count."""
    return {info.id: own_from(info) for info in sessions}


def messages_read(files: FaultyFiles) -> list[str]:
    names = [Path(str(name)) for act, name in files.log if act == "open"]
    return [name.stem for name in names if name.suffix == ".json" and "/message/" in str(name)]


def test_costs_of_answers_are_added_without_rounding(paths: Paths):
    one, free = session("one"), session("free")
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2, cost=0.2)
    message(paths, one, 3, role="user")
    message(paths, free, 1, cost=0)
    sums, _ = opened(paths)
    assert sums.costs(begun(one, free, session("empty"))) == {"ses_one": Decimal("0.3")}


def test_what_a_fork_took_over_is_none_of_its_costs(paths: Paths):
    ids = Identifier()
    copied = message(paths, session("fork"), 1, cost=0.4, time={"created": 101})
    fork = session_info(ids.descending("ses"), metadata={"forkedFrom": {"sessionID": ids.descending("ses")}})
    names = [Identifier(lambda: system_clock() - 1_000).ascending("msg"), ids.ascending("msg")]
    folder = copied.parent.with_name(fork.id)
    folder.mkdir()
    (folder / f"{names[0]}.json").write_text(copied.read_text())
    (folder / f"{names[1]}.json").write_text(copied.read_text().replace("0.4", "0.1").replace("101", "99"))
    sums, _ = opened(paths)
    assert sums.costs(begun(fork)) == {fork.id: Decimal("0.1")}


def test_the_second_look_reads_what_changed_and_nothing_else(paths: Paths):
    one, other = session("one"), session("other")
    for number in range(1, 4):
        message(paths, one, number, cost=0.1)
        message(paths, other, number, cost=1)
    sums, files = opened(paths)
    sums.costs(begun(one, other))
    files.log.clear()
    assert sums.costs(begun(one, other))["ses_one"] == Decimal("0.3") and messages_read(files) == []
    message(paths, one, 4, cost=0.5)
    assert sums.costs(begun(one, other)) == {"ses_one": Decimal("0.8"), "ses_other": Decimal(3)}
    assert messages_read(files) == ["msg_004"]


def test_a_removed_answer_is_no_longer_counted(paths: Paths):
    one = session("one")
    message(paths, one, 1, cost=0.1)
    gone = message(paths, one, 2, cost=0.2)
    sums, _ = opened(paths)
    sums.costs(begun(one))
    gone.unlink()
    assert sums.costs(begun(one)) == {"ses_one": Decimal("0.1")}


def test_many_costs_are_known_to_the_next_process(paths: Paths):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    opened(paths)[0].costs(begun(one))
    sums, files = opened(paths)
    assert sums.costs(begun(one)) == {"ses_one": Decimal("2.01")}
    assert messages_read(files) == []


def test_a_folder_that_changed_a_moment_ago_is_not_trusted(paths: Paths):
    one = session("one")
    path = message(paths, one, 1, cost=0.1)
    later = os.stat(path).st_mtime_ns + 4 * 10**18
    os.utime(path.parent, ns=(later, later))
    os.utime(path, ns=(later, later))
    sums, files = opened(paths)
    sums.costs(begun(one))
    files.log.clear()
    assert sums.costs(begun(one)) == {"ses_one": Decimal("0.1")} and messages_read(files) == ["msg_001"]


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
    one = session("one")
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2).write_text(text)
    assert opened(paths)[0].costs(begun(one)) == {"ses_one": Decimal("0.1")}


ODD: tuple[JsonObject, ...] = (
    {"tokens": None},
    {"tokens": {"input": "many", "output": 7}},
    {"tokens": {"input": 1, "cache": []}},
    {"tokens": {"input": True}},
    {"tokens": {"input": 10**40}},
    {"time": {"created": 5, "completed": {"at": 6}}},
    {"time": {"created": 5.5}},
    {"providerID": None},
    {"modelID": 3},
    {"cost": "0.1"},
    {"more": float("nan")},
    {"more": "\ud800"},
)
"""Records of other programs and versions, each with a value that this one does not write."""


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_message_with_an_odd_value_costs_what_it_says(paths: Paths, odd: JsonObject):
    one = session("one")
    message(paths, one, 1, **{"cost": 0.1, **odd})
    message(paths, one, 2, cost=0.1)
    assert opened(paths)[0].costs(begun(one)) == {"ses_one": Decimal("0.2")}


@pytest.mark.fast_cases("__")
@pytest.mark.parametrize("text", ["", "[]", '{"format": "else"}', "{", '{"sums": 3}'])
def test_a_damaged_index_is_made_anew(paths: Paths, text: str):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    opened(paths)[0].costs(begun(one))
    (paths.cache / "index" / "p.sums").write_text(text)
    assert opened(paths)[0].costs(begun(one)) == {"ses_one": Decimal("2.01")}


def test_an_index_that_cannot_be_written_costs_nothing_but_time(paths: Paths):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    (paths.cache / "index" / "p.sums").mkdir(parents=True)
    assert opened(paths)[0].costs(begun(one)) == {"ses_one": Decimal("2.01")}


def test_the_file_of_an_older_version_is_made_anew(paths: Paths):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    opened(paths)[0].costs(begun(one))
    file = paths.cache / "index" / "p.sums"
    content = file.read_bytes()
    body = msgspec.msgpack.encode([None, {"ses_one": ["1 2 3", 0, [1, []]]}])
    root = os.fsencode(paths.storage)
    file.write_bytes(b"opencode-tui session sums 1\t%s\t%08x\n%s" % (root, binascii.crc32(body), body))
    assert opened(paths)[0].costs(begun(one)) == {"ses_one": Decimal("2.01")}
    assert file.read_bytes() == content


def sums_read(files: FaultyFiles) -> int:
    """Return how often the file of sums was opened, and open the log again."""
    count = sum(act == "open" and str(name).endswith(".sums") for act, name in files.log)
    files.log.clear()
    return count


def test_sums_that_few_are_asked_for_again_come_from_memory(paths: Paths):
    sessions = [session(f"{number:04d}") for number in range(MANY)]
    for info in sessions:
        message(paths, info, 1, cost=0.01)
    opened(paths)[0].costs(begun(*sessions))
    sums, files = opened(paths)
    shown = begun(*sessions[:40])
    assert sums.costs(shown) == dict.fromkeys(shown, Decimal("0.01")) and sums_read(files) == 1
    message(paths, sessions[3], 2, cost=0.5)
    assert sums.costs(shown)["ses_0003"] == Decimal("0.51") and sums_read(files) == 0
    assert sums.costs(begun(sessions[50])) == {"ses_0050": Decimal("0.01")} and sums_read(files) == 1


def test_the_sums_of_many_sessions_need_no_memory(paths: Paths):
    sessions = [stored(paths, session(f"{number:04d}")) for number in range(1_200)]
    for info in sessions:
        message(paths, info, 1, cost=0.01, providerID="a", modelID="b")
    usage(paths)
    columns, _ = SessionIndex(Storage(paths)).columns("p")
    sums, asked = SessionSums(Storage(paths), "p"), begun(*sessions)
    tracemalloc.start()
    try:
        found = sums.total(columns, since=1).cost, sum(sums.costs(asked).values())
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == (12, 12) and kept < 50 * 1_200


def stored(paths: Paths, info: SessionInfo, moment: int = 0) -> SessionInfo:
    """Write the session's record as it lies after some time."""
    path = paths.storage / "session" / "p" / f"{info.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(info.to_json())
    os.utime(path, ns=(LONG_AGO + moment, LONG_AGO + moment))
    return info


def step(paths: Paths, info: SessionInfo, number: int, *tools: str, **fields: object) -> Path:
    """Write an answer of one step with calls of these tools."""
    for at, tool in enumerate(tools):
        part = paths.storage / "part" / f"msg_{info.title}{number:03d}" / f"prt_{at}.json"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"type": "tool", "tool": tool}))
    used = {"input": 7, "output": 3, "cache": {"read": 2, "write": 1}}
    shape = {"providerID": "a", "modelID": "b", "tokens": used, "time": {"created": 5, "completed": 6}, "cost": 0.1}
    path = message(paths, info, number, **{**shape, **fields})
    named = path.with_name(f"msg_{info.title}{number:03d}.json")
    path.replace(named)
    settle(path.parent, number)
    return named


def usage(paths: Paths, *, since: int = 0) -> tuple[JsonObject, list[str]]:
    """Return what a new process finds, and the names of the messages that it read."""
    sums, files = opened(paths)
    columns, damaged = SessionIndex(Storage(paths)).columns("p")
    assert damaged == []
    return sums.total(columns, since).to_dict(), messages_read(files)


@pytest.fixture
def worked(paths: Paths) -> SessionInfo:
    """A session with more steps than may be read without being written down, and its total in the file."""
    one = stored(paths, session("one", metadata={"cost": 0.25}))
    for number in range(MANY):
        step(paths, one, number, *(["read", "bash"] if number == 1 else []))
    usage(paths)
    return one


def test_all_sessions_are_added_up_by_model_and_tool(paths: Paths, worked: SessionInfo):
    other = stored(paths, session("other", created=9))
    message(paths, other, 1, role="user")
    step(paths, other, 2, "read", modelID="c", cost=0.2)
    found, _ = usage(paths)
    assert (found["sessions"], found["messages"], found["cost"], found["hidden"]) == (2, MANY + 2, 20.55, 0.25)
    assert found["models"]["a/b"] == {
        "steps": MANY,
        "input": 7 * MANY,
        "output": 3 * MANY,
        "cached": 2 * MANY,
        "cost": 20.1,
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
    sums, _ = opened(paths)
    sums.costs(begun(one))
    columns, _ = SessionIndex(Storage(paths)).columns("p")
    found = usage(paths)[0] if is_next_process else sums.total(columns).to_dict()
    assert found["tools"] == {"read": 2}


def test_what_is_archived_is_added_up_apart_with_its_agents(paths: Paths, worked: SessionInfo):
    archived = stored(paths, session("old", metadata={"cost": 0.5}, time=worked.time.changed(archived=3)))
    agent = stored(paths, session("agent", parent_id=archived.id))
    below = stored(paths, session("below", parent_id=agent.id))
    other = stored(paths, session("other", parent_id=worked.id))
    for info, cost in ((archived, 0.1), (agent, 0.02), (below, 0.003), (other, 7)):
        message(paths, info, 1, cost=cost)
    sums, files = opened(paths)
    columns, _ = SessionIndex(Storage(paths)).columns("p")
    assert sums.spent(columns) == Decimal("27.35")  # with 0.25 for titles
    assert sums.spent(columns, is_archived=True) == Decimal("0.623")
    files.log.clear()
    assert sums.spent(columns) == Decimal("27.35")
    assert messages_read(files) == [] and sums_read(files) == 0
    message(paths, other, 2, cost=1)
    assert sums.spent(columns) == Decimal("28.35")


def test_sessions_that_are_archived_in_a_circle_of_parents_are_added_up_once(paths: Paths):
    one = stored(paths, session("one", parent_id="ses_two"))
    two = stored(paths, session("two", parent_id="ses_one", time=one.time.changed(archived=3)))
    for info in (one, two):
        message(paths, info, 1, cost=1)
    columns, _ = SessionIndex(Storage(paths)).columns("p")
    sums, _ = opened(paths)
    assert (sums.spent(columns), sums.spent(columns, is_archived=True)) == (0, 2)


def test_the_next_process_reads_no_message_for_the_total(paths: Paths, worked: SessionInfo):
    found, read = usage(paths)
    assert (found["messages"], found["tools"], read) == (MANY, {"read": 1, "bash": 1}, [])


@pytest.mark.fast_cases("one by one")
@pytest.mark.parametrize("since", [0, 1], ids=["the whole", "one by one"])
def test_a_message_that_was_changed_behind_the_sums_is_added_up_again(paths: Paths, worked: SessionInfo, since: int):
    step(paths, worked, 3, "grep", cost=5)
    settle(paths.storage / "message" / worked.id, MANY + 1)
    found, _ = usage(paths, since=since)
    assert (found["cost"], found["tools"]) == (25.25, {"bash": 1, "grep": 1, "read": 1})


def test_a_session_that_was_changed_behind_the_sums_is_looked_at_again(paths: Paths, worked: SessionInfo):
    stored(paths, worked.changed(metadata={"cost": 3}, time=worked.time.changed(updated=50)), moment=1)
    assert usage(paths)[0]["hidden"] == 3
    assert usage(paths, since=50)[0]["sessions"] == 1
    (paths.storage / "session" / "p" / f"{worked.id}.json").unlink()
    assert usage(paths)[0]["messages"] == 0


@pytest.mark.fast_cases("-60")
@pytest.mark.parametrize("at", [0, 40, -60, -1])
def test_sums_with_a_wrong_byte_are_made_anew(paths: Paths, worked: SessionInfo, at: int):
    file = paths.cache / "index" / "p.sums"
    right, data = usage(paths)[0], bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    found, read = usage(paths)
    assert found == right and len(read) == MANY


def test_calls_of_a_step_that_still_runs_are_not_kept(paths: Paths, worked: SessionInfo):
    step(paths, worked, 500, "read", time={"created": 5})
    usage(paths)
    late = paths.storage / "part" / f"msg_{worked.title}500" / "prt_9.json"
    late.write_text('{"type": "tool", "tool": "write"}')
    assert usage(paths)[0]["tools"] == {"read": 2, "bash": 1, "write": 1}
