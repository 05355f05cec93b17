"""Pruning in sessions: marks on disk, requests as they are sent, and restoring."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.client import EventReader
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import BusyError, NoSuchMessageError, NotFoundError, SessionError
from opencode_tui.schema.event.event import PartUpdated, SessionStatusChanged
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened, while_reacting

LINE = "a line of the file that is read, with some words in it\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(6):
        (project / f"large{number}.txt").write_text(f"file {number}\n" + LINE * 850)
    return project


def reads(*numbers: int) -> Answer:
    return Answer(calls=tuple(Call("read", {"filePath": f"large{number}.txt"}) for number in numbers))


async def worked(world: World, *, turns: int = 3) -> SessionInfo:
    """Return a session that read six large files in its first turn."""
    session = await world.new_session()
    world.server.script(reads(0, 1, 2, 3, 4, 5), Answer(text="read"))
    await world.prompt("read them", session=session)
    for _ in range(turns - 1):
        await world.prompt("go on", session=session)
    return session


def changed_calls(events: EventReader) -> list[str]:
    """Return the ids of the published calls; late summaries of a turn may be among the events."""
    seen: list[str] = []
    while (envelope := events.poll()) is not None:
        if isinstance(envelope.event, PartUpdated) and isinstance(envelope.event.part, ToolPart):
            seen.append(envelope.event.part.id)
    return seen


async def compacted(world: World, session: SessionInfo) -> list[bool]:
    return [part.state.time.compacted is not None for part in await world.calls(session)]


def body(world: World) -> dict[str, Any]:
    return world.server.bodies[-1]


async def test_old_outputs_are_pruned_after_the_third_turn(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world, turns=2)
        assert await compacted(world, session) == [False] * 6
        await world.prompt("go on", session=session)
        assert await compacted(world, session) == [True, True, True, False, False, False]
        await world.prompt("once more", session=session)
        results = [message["content"] for message in body(world)["messages"] if message["role"] == "tool"]
    assert [result == "[Old tool result content cleared]" for result in results] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert all(LINE in result for result in results[3:])


@pytest.mark.slow
async def test_the_output_stays_on_disk(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world)
        part = (await world.calls(session))[0]
    stored = Path(environ["XDG_DATA_HOME"]) / "opencode-tui/storage/part" / part.message_id / f"{part.id}.json"
    assert LINE.strip() in json.loads(stored.read_text())["state"]["output"]


@pytest.mark.slow
async def test_prune_then_restore_gives_the_request_before_byte_for_byte(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        before = json.dumps((await world.client.context.request(session.id)).body)
        assert (await world.client.context.prune(session.id)).parts
        between = json.dumps((await world.client.context.request(session.id)).body)
        await world.client.context.restore(session.id)
        after = json.dumps((await world.client.context.request(session.id)).body)
    assert len(between) < len(before) - 100_000
    assert after == before


@pytest.mark.slow
async def test_what_is_sent_after_a_restore_is_what_was_sent_before(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        sent = body(world)["messages"]
        await world.client.context.prune(session.id)
        await world.client.context.restore(session.id)
        await world.prompt("and now", session=session)
        assert json.dumps(body(world)["messages"][: len(sent)]) == json.dumps(sent)


@pytest.mark.slow
async def test_a_restored_output_is_not_pruned_again(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world)
        report = await world.client.context.restore(session.id)
        assert len(report.parts) == 3 and report.tokens > 30_000
        await world.prompt("go on", session=session)
        assert await compacted(world, session) == [False] * 6
        assert [part.state.metadata.get("keep") for part in await world.calls(session)] == [True] * 3 + [None] * 3


@pytest.mark.slow
async def test_the_model_reads_a_pruned_output_with_recall_and_lifts_nothing(
    environ: dict[str, str], folder: Path
) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world)
        pruned = (await world.calls(session))[0]
        earlier = json.dumps((await world.client.context.request(session.id)).body["messages"])
        world.server.script(Answer(calls=(Call("recall", {"call_id": pruned.call_id}),)), Answer(text="seen"))
        await world.prompt("what stood in the first?", session=session)
        recalled = (await world.calls(session))[-1]
        sent = json.dumps(body(world)["messages"])
    assert recalled.state.output == pruned.state.output
    assert sent.startswith(earlier[:-1])


@pytest.mark.slow
async def test_the_user_prunes_and_restores_single_calls(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world, turns=1)
        parts = await world.calls(session)
        report = await world.client.context.prune(session.id, [parts[4].id])
        assert [part.part_id for part in report.parts] == [parts[4].id]
        assert (await compacted(world, session)).count(True) == 1
        assert (await world.client.context.prune(session.id, [parts[4].id])).parts == []
        assert len((await world.client.context.restore(session.id, [parts[4].id, parts[0].id])).parts) == 1
        assert await compacted(world, session) == [False] * 6


@pytest.mark.slow
async def test_a_dry_run_changes_nothing(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        with world.client.events() as events:
            report = await world.client.context.prune(session.id, dry_run=True)
            assert len(report.parts) == 3 and changed_calls(events) == []
        assert await compacted(world, session) == [False] * 6


@pytest.mark.slow
async def test_every_changed_call_is_published(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        with world.client.events() as events:
            report = await world.client.context.prune(session.id)
            told = changed_calls(events)
    assert told == [part.part_id for part in report.parts]


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["settings", "flag"])
async def test_settings_and_flag_switch_pruning_off(switch: str, environ: dict[str, str], folder: Path) -> None:
    flag = {"OPENCODE_DISABLE_PRUNE": "1"} if switch == "flag" else {}
    settings = {"compaction": {"prune": False}} if switch == "settings" else {}
    async with opened({**environ, **flag}, folder, settings=settings) as world:
        session = await worked(world)
        assert await compacted(world, session) == [False] * 6
        assert len((await world.client.context.prune(session.id)).parts) == 3


@pytest.mark.slow
async def test_a_busy_session_is_refused(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world)
        was_refused = threading.Event()
        world.server.script(Answer(text="begun ended", holds=(("ended", was_refused),)))

        async def try_both(_: object) -> None:
            for change in (world.client.context.prune, world.client.context.restore):
                with pytest.raises(BusyError):
                    await change(session.id)
            was_refused.set()

        await while_reacting(world, SessionStatusChanged, try_both, world.prompt("go on", session=session))


async def test_unknown_sessions_parts_and_other_parts_are_named(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await worked(world, turns=1)
        other = next(part for part in await world.parts(session) if not isinstance(part, ToolPart))
        with pytest.raises(NotFoundError):
            await world.client.context.prune("ses_0000000000000000000000000")
        with pytest.raises(NoSuchMessageError, match="prt_none"):
            await world.client.context.prune(session.id, ["prt_none"])
        with pytest.raises(SessionError, match="not a finished tool call"):
            await world.client.context.restore(session.id, [other.id])


@pytest.mark.slow
async def test_a_fork_that_still_copies_keeps_the_outputs(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        fork = await world.client.sessions.fork(session.id, ForkSession())
        assert (await world.client.context.prune(session.id)).parts
        assert await compacted(world, fork) == [False] * 6 and any(await compacted(world, session))
        assert [LINE in part.state.output for part in await world.calls(fork)] == [True] * 6


@pytest.mark.slow
async def test_interrupted_pruning_resumes(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        chosen = (await world.client.context.prune(session.id, dry_run=True)).parts
        ids = [part.id for part in await world.calls(session)]
        assert [part.part_id for part in chosen] == ids[:3]
        await world.client.context.prune(session.id, ids[:1])
        assert [part.part_id for part in (await world.client.context.prune(session.id)).parts] == ids[1:3]


@pytest.mark.slow
async def test_undone_calls_are_passed_by(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"compaction": {"prune": False}}) as world:
        session = await worked(world)
        await world.client.undo.revert(session.id, (await world.messages(session))[0].info.id)
        assert (await world.client.context.prune(session.id)).parts == []
        states = {item.state for item in (await world.client.context.items(session.id)).items if item.message_id}
        assert states == {"reverted"}
