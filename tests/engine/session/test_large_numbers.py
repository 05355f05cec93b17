"""A record with a number that no program means affects itself only: it is named and left out, and all others work."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.importing import ImportRequest
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import ConfigError, CorruptRecordError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.record import Record, ValidationError
from opencode_tui.schema.session.session import SessionInfo, hidden_cost
from opencode_tui.storage.doctor import check_record
from opencode_tui.storage.paths import Paths
from tests.support.rows import each
from tests.support.sessions.records import assistant, call, session_info, user, write_records
from tests.support.world.engine import World, opened

pytestmark = pytest.mark.slow


NOW = 1_796_000_000_000
HUGE = 10**30
USABLE = {"ns": NOW * 10**6, "us": NOW * 10**3, "zero": 0, "negative": -NOW, "largest": 2**63 - 1, "least": -(2**63)}

SESSION_FIELDS = [
    {"time": {"created": HUGE, "updated": HUGE}},
    {"time": {"created": 2**63, "updated": NOW}},
    {"time": {"created": NOW, "updated": -HUGE}},
    {"time": {"created": NOW, "updated": -(2**63) - 1}},
    {"time": {"created": NOW, "updated": NOW, "archived": HUGE}},
    {"time": {"created": NOW, "updated": NOW, "compacting": HUGE}},
    {"summary": {"additions": HUGE, "deletions": 0, "files": 1}},
    {"summary": {"additions": 1, "deletions": 2**62, "files": 1}},
    {"summary": {"additions": 1, "deletions": 0, "files": HUGE}},
]
MESSAGE_FIELDS = [
    {"time": {"created": HUGE}},
    {"time": {"created": NOW, "completed": HUGE}},
    {"time": {"created": -HUGE}},
    {"tokens": {"input": HUGE, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}},
    {"tokens": {"input": 0, "output": 2**63, "reasoning": 0, "cache": {"read": 0, "write": 0}}},
    {"tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 2**54, "write": 0}}},
    {"tokens": {"total": HUGE, "input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}},
]


def label(fields: dict[str, Any]) -> str:
    return json.dumps(fields)[:70]


def put(path: Path, record: Record, **fields: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**record.to_dict(), **fields}))


async def works(world: World) -> None:
    """Let the lists, the sums and a new turn of the project work."""
    sessions = world.client.sessions
    healthy = await sessions.create(CreateSession(title="healthy"))
    await world.prompt("hello", session=healthy)
    for listed in (
        await sessions.list(),
        await sessions.listed(),
        await sessions.everywhere(),
        await sessions.recent(9),
    ):
        assert healthy.id in [one.id for one in listed]
    latest = await sessions.latest()
    assert latest is not None and latest.id == healthy.id
    usage = await sessions.usage()
    assert usage.messages >= 2 and Decimal(str(usage.cost)).is_finite()
    assert max((await sessions.costs()).values(), default=0.0) < 2**53


@pytest.mark.parametrize("fields", SESSION_FIELDS, ids=label)
async def test_a_session_with_such_a_number_is_left_out_of_all_that_works_on_the_others(
    environ, tmp_path, paths: Paths, fields: dict[str, Any]
) -> None:
    async with opened(environ, tmp_path) as world:
        project = (await world.new_session()).project_id
        info = session_info("ses_huge", project_id=project, directory=str(tmp_path))
        path = paths.storage / "session" / project / "ses_huge.json"
        put(path, info, **fields)
        await works(world)
        assert "ses_huge" not in [one.id for one in await world.client.sessions.list()]
        with pytest.raises(CorruptRecordError, match="ses_huge"):
            await world.client.sessions.get("ses_huge")
        with pytest.raises(CorruptRecordError):
            check_record(("session", project, "ses_huge"), path.read_bytes(), str(path))


@pytest.mark.parametrize("fields", MESSAGE_FIELDS, ids=label)
async def test_a_message_with_such_a_number_is_left_out_of_its_session(
    environ, tmp_path, paths: Paths, fields: dict[str, Any]
) -> None:
    async with opened(environ, tmp_path) as world:
        project = (await world.new_session()).project_id
        request = user("hello")
        answer, damaged = assistant("fine", parent=request), assistant("huge", parent=request)
        info = session_info("ses_one", project_id=project, directory=str(tmp_path))
        write_records(paths, info, [request, answer, damaged])
        path = paths.storage / "message" / "ses_one" / f"{damaged.info.id}.json"
        put(path, damaged.info, **fields)
        await works(world)
        assert [one.info.id for one in await world.client.messages.list("ses_one")] == [request.info.id, answer.info.id]
        totals = await world.client.sessions.totals("ses_one")
        assert totals.steps == 1 and totals.cost == 0
        with pytest.raises(CorruptRecordError):
            check_record(("message", "ses_one", damaged.info.id), path.read_bytes(), str(path))
        await world.prompt("go on", session=info)
        assert await world.answer(info) == "Echo: go on"


@pytest.mark.parametrize(
    "time", [{"start": HUGE, "end": 2}, {"start": 1, "end": HUGE}, {"start": 1, "end": 2, "compacted": HUGE}]
)
async def test_a_part_with_such_a_number_is_left_out_of_its_message(environ, tmp_path, paths: Paths, time) -> None:
    async with opened(environ, tmp_path) as world:
        project = (await world.new_session()).project_id
        request = user("hello")
        answer = assistant("fine", call("1", "read"), parent=request)
        info = session_info("ses_one", project_id=project, directory=str(tmp_path))
        write_records(paths, info, [request, answer])
        part = next(one for one in answer.parts if one.type == "tool")
        record = part.to_dict()
        record["state"]["time"] = time
        put(paths.storage / "part" / answer.info.id / f"{part.id}.json", part, state=record["state"])
        await works(world)
        found = (await world.messages(info))[-1]
        assert [one.type for one in found.parts] == ["text"]


@pytest.mark.parametrize("fields", SESSION_FIELDS, ids=label)
async def test_an_exported_session_with_such_a_number_is_refused_by_name(
    environ, tmp_path, fields: dict[str, Any]
) -> None:
    export = {"info": {**session_info("ses_huge").to_dict(), **fields}, "messages": []}
    (tmp_path / "huge.json").write_text(json.dumps(export))
    async with opened(environ, tmp_path) as world:
        with pytest.raises(ConfigError, match=r"huge\.json is not an exported session: (time|summary)\."):
            await world.client.imports.run(ImportRequest(source=str(tmp_path / "huge.json")))
        await works(world)


@pytest.mark.parametrize("time", USABLE.values(), ids=USABLE.keys())
async def test_a_time_in_any_unit_goes_on_working(environ, tmp_path, time: int) -> None:
    times = {"created": time, "updated": time}
    request = user("hello", session_id="ses_other")
    message = {
        "info": {**request.info.to_dict(), "time": {"created": time}},
        "parts": [one.to_dict() for one in request.parts],
    }
    export = {"info": {**session_info("ses_other").to_dict(), "time": times}, "messages": [message]}
    (tmp_path / "other.json").write_text(json.dumps(export))
    before = system_clock()
    async with opened(environ, tmp_path) as world:
        report = await world.client.imports.run(ImportRequest(source=str(tmp_path / "other.json")))
        assert report.new == 1
        created = (await world.client.sessions.get("ses_other")).time.created
        assert created == time or before <= created <= system_clock() < time  # not later than now
        assert "ses_other" in [one.id for one in await world.client.sessions.everywhere()]
        await world.prompt("go on", session=await world.client.sessions.get("ses_other"))
        assert len(await world.client.messages.list("ses_other")) == 3


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -float("inf"), 1e300, 10**30])
async def test_a_cost_that_is_no_amount_counts_nothing(environ, tmp_path, paths: Paths, cost: float) -> None:
    async with opened(environ, tmp_path) as world:
        project = (await world.new_session()).project_id
        request = user("hello")
        answer = assistant("fine", parent=request)
        info = session_info("ses_one", project_id=project, directory=str(tmp_path))
        write_records(paths, info, [request, answer])
        put(paths.storage / "message" / "ses_one" / f"{answer.info.id}.json", answer.info, cost=cost)
        await works(world)
        totals = await world.client.sessions.totals("ses_one")
        assert (totals.steps, totals.cost) == (1, 0)
        assert (await world.client.sessions.usage()).cost < 0.01
        await world.prompt("go on", session=info)
        assert await world.answer(info) == "Echo: go on"


@each("cost", [float("nan"), float("inf"), -float("inf"), 1e300, 10**30, 10**400, "1", None, True])
def test_a_cost_of_titles_that_is_none_counts_nothing(cost: object) -> None:
    assert 0 <= hidden_cost(session_info(metadata={"cost": cost})) <= 1


def test_the_largest_time_is_written_and_read_and_a_larger_one_is_none() -> None:
    info = session_info().changed(time=session_info().time.changed(created=2**63 - 1))
    assert SessionInfo.model_validate_json(info.to_json()) == info
    with pytest.raises(ValidationError):
        SessionInfo.model_validate({**info.to_dict(), "time": {"created": 2**63, "updated": 1}})
