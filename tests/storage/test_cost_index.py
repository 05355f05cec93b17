import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.cost_index import CostIndex
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import session_info

LONG_AGO = 10**18
MANY = 201
"""More messages than may be read without being written down."""


def session(name: str, *, created: int = 1) -> SessionInfo:
    return session_info(f"ses_{name}", created=created, updated=created, project_id="p", title=name)


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


def opened(paths: Paths) -> tuple[CostIndex, FaultyFiles]:
    files = FaultyFiles()
    return CostIndex(Storage(paths, files=files), "p"), files


def messages_read(files: FaultyFiles) -> list[str]:
    names = [Path(str(name)) for act, name in files.log if act == "open"]
    return [name.stem for name in names if name.suffix == ".json" and "/message/" in str(name)]


def test_costs_of_answers_are_added_without_rounding(paths: Paths):
    one, free = session("one"), session("free")
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2, cost=0.2)
    message(paths, one, 3, role="user")
    message(paths, free, 1, cost=0)
    index, _ = opened(paths)
    assert index.read([one, free, session("empty")]) == {"ses_one": Decimal("0.3")}


def test_what_a_fork_took_over_is_none_of_its_costs(paths: Paths):
    fork = session("fork", created=100)
    message(paths, fork, 1, cost=0.4, time={"created": 99})
    message(paths, fork, 2, cost=0.1, time={"created": 100})
    index, _ = opened(paths)
    assert index.read([fork]) == {"ses_fork": Decimal("0.1")}


def test_the_second_look_reads_what_changed_and_nothing_else(paths: Paths):
    one, other = session("one"), session("other")
    for number in range(1, 4):
        message(paths, one, number, cost=0.1)
        message(paths, other, number, cost=1)
    index, files = opened(paths)
    index.read([one, other])
    files.log.clear()
    assert index.read([one, other])["ses_one"] == Decimal("0.3") and messages_read(files) == []
    message(paths, one, 4, cost=0.5)
    assert index.read([one, other]) == {"ses_one": Decimal("0.8"), "ses_other": Decimal(3)}
    assert messages_read(files) == ["msg_004"]


def test_a_removed_answer_is_no_longer_counted(paths: Paths):
    one = session("one")
    message(paths, one, 1, cost=0.1)
    gone = message(paths, one, 2, cost=0.2)
    index, _ = opened(paths)
    index.read([one])
    gone.unlink()
    assert index.read([one]) == {"ses_one": Decimal("0.1")}


def test_many_costs_are_known_to_the_next_process(paths: Paths):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    opened(paths)[0].read([one])
    index, files = opened(paths)
    assert index.read([one]) == {"ses_one": Decimal("2.01")}
    assert messages_read(files) == []


def test_a_folder_that_changed_a_moment_ago_is_not_trusted(paths: Paths):
    one = session("one")
    path = message(paths, one, 1, cost=0.1)
    later = os.stat(path).st_mtime_ns + 4 * 10**18
    os.utime(path.parent, ns=(later, later))
    os.utime(path, ns=(later, later))
    index, files = opened(paths)
    index.read([one])
    files.log.clear()
    assert index.read([one]) == {"ses_one": Decimal("0.1")} and messages_read(files) == ["msg_001"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"cost": "nan"}', '{"cost": -1}', '{"cost": []}', '{"cost": true'])
def test_a_damaged_message_costs_itself_alone(paths: Paths, text: str):
    one = session("one")
    message(paths, one, 1, cost=0.1)
    message(paths, one, 2).write_text(text)
    assert opened(paths)[0].read([one]) == {"ses_one": Decimal("0.1")}


@pytest.mark.parametrize("text", ["", "[]", '{"format": "else"}', "{", '{"sums": 3}'])
def test_a_damaged_index_is_made_anew(paths: Paths, text: str):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    opened(paths)[0].read([one])
    (paths.cache / "index" / "p.costs").write_text(text)
    assert opened(paths)[0].read([one]) == {"ses_one": Decimal("2.01")}


def test_an_index_that_cannot_be_written_costs_nothing_but_time(paths: Paths):
    one = session("one")
    for number in range(MANY):
        message(paths, one, number, cost=0.01)
    (paths.cache / "index" / "p.costs").mkdir(parents=True)
    assert opened(paths)[0].read([one]) == {"ses_one": Decimal("2.01")}
