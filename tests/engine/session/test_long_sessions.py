"""Long sessions: a run, an undo and a fork read the messages since the last compaction, and get what all of them would give."""

import json
import random
import time
from collections.abc import Callable

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import open_engine
from opencode_tui.engine.session.records.loading import SHORT, load_recent, load_session, read_groups
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import UserMessage, UserSummary
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import RevertState
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_log import LoggedFiles
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.sessions.records import assistant, compaction, session_info, user, write_records
from tests.support.sessions.store import open_store
from tests.support.world.engine import World, opened
from tests.support.world.waiting import PATIENCE_S, until

LONG = SHORT + 200
AFTER = 60
"""Turns after the compaction."""


def history(session_id, *, turns=LONG // 2, after=AFTER, marker=True, tail=0, whole=True):
    """Return turns with a compaction before the last of them, which keeps so many messages before its marker."""
    made = []

    def add(message):
        info = message.info.changed(session_id=session_id)
        parts = [part.changed(session_id=session_id) for part in message.parts]
        made.append(message.changed(info=info, parts=parts))
        return made[-1]

    for number in range(turns):
        if number == turns - after:
            kept = made[-tail].info.id if tail else None
            sign = add(user(compaction(tail_id=kept) if marker else "no marker"))
            add(assistant("the summary", parent=sign, summary=True, finish="stop" if whole else None))
        request = add(user(f"request {number}"))
        add(assistant(f"answer {number}", parent=request))
    return made


def summed_up(messages, changed=()):
    """Return the messages with what each turn changed in files; these requests created a file each."""
    made = []
    for message in messages:
        info = message.info
        if isinstance(info, UserMessage):
            name = getattr(message.parts[0], "text", "")
            new = FileDiff(file=f"{name}.py", before="", after="x\n", additions=1, deletions=0, status="added")
            info = info.changed(summary=UserSummary(title="t", diffs=[new] if name in changed else []))
        made.append(message.changed(info=info))
    return made


def put(paths, messages, **fields):
    info = session_info(messages[0].info.session_id, **fields)
    write_records(paths, info, messages)
    return info.id


def read(storage, session_id):
    whole, recent = load_session(storage, session_id), load_recent(storage, session_id)
    assert [*recent.older, *(one.info.id for one in recent.messages)] == [one.info.id for one in whole.messages]
    return whole.messages, recent.messages


@pytest.mark.slow
@pytest.mark.parametrize("tail", [0, 3, 40])
@pytest.mark.parametrize("marker", [True, False])
def test_the_messages_since_the_last_compaction_give_the_same_request_as_all(paths, marker, tail):
    session_id = put(paths, history("ses_1", marker=marker, tail=tail))
    whole, recent = read(Storage(paths), session_id)
    assert filter_compacted(recent) == filter_compacted(whole)
    assert 2 * AFTER <= len(recent) <= 2 * AFTER + tail + 4


@pytest.mark.slow
def test_a_compaction_that_failed_and_a_session_without_one_are_read_whole(paths):
    storage = Storage(paths)
    for messages in (history("ses_1", whole=False), history("ses_2", after=-1)):
        whole, recent = read(storage, put(paths, messages))
        assert len(whole) >= LONG and recent == whole


@pytest.mark.slow
def test_random_long_histories_give_the_same_request(paths):
    """Late requests, answers of requests before the compaction, failed summaries, and records that are missing or damaged."""
    chance, storage, shorter = random.Random(5), Storage(paths), 0
    for number in range(25):
        session_id = f"ses_{number}"
        messages = history(session_id, turns=SHORT // 2 + 30, after=chance.randrange(1, 200), tail=chance.randrange(9))
        for at in chance.sample(range(len(messages)), 12):
            info = messages[at].info
            if not isinstance(info, UserMessage):
                parent = messages[max(0, at - chance.randrange(1, 30))].info.id
                is_summary = chance.random() < 0.3
                info = info.changed(parent_id=parent, summary=True if is_summary else info.summary)
                messages[at] = messages[at].changed(info=info)
        put(paths, messages)
        for at in chance.sample(range(len(messages)), 5):
            path = paths.storage / "message" / session_id / f"{messages[at].info.id}.json"
            path.write_bytes(b"{") if chance.random() < 0.5 else path.unlink()
        whole, recent = load_session(storage, session_id).messages, load_recent(storage, session_id).messages
        assert filter_compacted(recent) == filter_compacted(whole)
        shorter += len(recent) < len(whole)
    assert shorter > 10


@pytest.mark.slow
def test_a_reader_of_the_whole_session_has_few_messages_in_memory_at_a_time(paths):
    session_id, files = put(paths, history("ses_1")), LoggedFiles()
    groups = read_groups(Storage(paths, files=files), session_id)
    first = next(groups)
    assert reads(files, "message") == len(first.messages) < LONG / 2
    whole = load_session(Storage(paths), session_id)
    assert [*first.messages, *(message for group in groups for message in group.messages)] == whole.messages


def reads(files, kind):
    return sum(f"/{kind}/" in call.path for call in files.calls if call.act == "read")


@pytest.mark.slow
async def test_what_a_turn_and_an_undo_read_of_a_long_session_does_not_grow_with_it(environ, tmp_path, paths):
    """Only the requests before the last compaction are read for the changes of the session, each once, after the answer."""
    found = []
    for number, turns in enumerate((LONG // 2, LONG)):
        files, made = LoggedFiles(), summed_up(history(f"ses_{number}", turns=turns))
        with ModelServer() as server:
            content = json.dumps({"provider": provider_config(server.base_url)})
            async with open_engine({**environ, "OPENCODE_CONFIG_CONTENT": content}, files=files) as engine:
                instance = await engine.instance(tmp_path)
                put(paths, made, directory=str(tmp_path), project_id=instance.folder.project.id)
                world = World(LocalClient(engine, instance), server)
                session = await world.client.sessions.get(f"ses_{number}")
                server.script(Answer(text="fine"))
                await world.prompt("go on", session=session)
                [newest] = await world.client.messages.list(session.id, 1)
                assert [part.text for part in newest.parts if isinstance(part, TextPart)] == ["fine"]
                preview = await world.client.undo.preview(session.id)
                assert preview.scope is not None and preview.scope.requests == 1
        found.append((reads(files, "message") - len(made), reads(files, "part")))
    assert found[0] == found[1] and 2 * AFTER < found[0][1] < 3 * 2 * AFTER
    assert found[0][0] < 3 * 2 * AFTER


@pytest.mark.slow
async def test_the_context_of_a_long_session_names_older_messages_by_their_number(environ, tmp_path, paths):
    async with opened(environ, tmp_path) as world:
        project = (await world.client.project.current()).id
        made = history("ses_1")
        put(paths, made, directory=str(tmp_path), project_id=project)
        short = await world.client.context.items("ses_1")
        (older,) = [one for one in short.items if one.kind == "older"]
        listed = {one.message_id for one in short.items if one.message_id}
        assert older.name == f"{len(made) - len(listed):,} messages before these" and older.tokens == 0
        kinds = [one.kind for one in short.items]
        assert kinds.index("summary") < kinds.index("older") < kinds.index("request")
        undo = RevertState(message_id=made[-2].info.id)
        whole_id = put(paths, history("ses_2"), directory=str(tmp_path), project_id=project, revert=undo)
        assert not [one for one in (await world.client.context.items(whole_id)).items if one.kind == "older"]
        await world.client.messages.list("ses_1")
        whole = await world.client.context.items("ses_1")
        sent = [one for one in whole.items if one.state != "summarized"]
        assert sent == [one for one in short.items if one.state != "summarized"]
        assert len(whole.items) > len(short.items)
        assert (whole.tokens, whole.cost) == (short.tokens, pytest.approx(short.cost))


@pytest.mark.slow
async def test_a_change_of_an_older_message_is_there_when_all_are_read(paths):
    made = history("ses_1")
    put(paths, made)
    async with open_store(paths) as opened_store:
        store = opened_store.store
        recent = await store.recent("ses_1")
        assert made[0].info.id not in {one.info.id for one in recent} and list(recent) == made[-len(recent) :]
        part = made[0].parts[0]
        assert isinstance(part, TextPart)
        async with store.locked("ses_1") as writer:
            await writer.update_part(part.changed(text="changed"))
            await writer.update_message(made[1].info.changed(cost=3.0))
        assert await store.recent("ses_1") == recent
        assert await store.tail("ses_1", len(made) - 1) == [
            made[1].changed(info=made[1].info.changed(cost=3.0)),
            *made[2:],
        ]
        whole = await store.messages("ses_1")
        assert [one.info.id for one in whole] == [one.info.id for one in made]
        assert whole[0].parts == [part.changed(text="changed")] and whole[1].info == made[1].info.changed(cost=3.0)


def held(store, session_id):
    return [one.info.id for one in store._open[session_id].together()]


def changed_files(store, session_id):
    """Return how many files the record of a session counts: it is written after the prompt has its answer."""
    info = store.look(session_id)
    return info.summary.files if info is not None and info.summary is not None else None


@pytest.mark.slow
async def test_a_session_that_was_read_whole_holds_after_its_next_turn_what_one_just_opened_holds(
    environ, tmp_path, paths
):
    """Undo, the export, a fork and other clients see all messages all the same."""
    async with opened(environ, tmp_path, Answer(text="fine"), Answer(text="here")) as world:
        project = (await world.client.project.current()).id
        made = history("ses_1")
        put(paths, made, directory=str(tmp_path), project_id=project)
        store, session = world.client._engine.store, await world.client.sessions.get("ses_1")
        assert len(await world.client.messages.list("ses_1")) == len(made) == len(held(store, "ses_1"))
        await world.prompt("go on", session=session)
        await until(lambda: len(held(store, "ses_1")) <= len(made))
        kept, storage = held(store, "ses_1"), Storage(paths)
        assert kept == [one.info.id for one in load_recent(storage, "ses_1").messages]
        assert 2 * AFTER < len(kept) < 2 * AFTER + 10
        names = [one.info.id for one in load_session(storage, "ses_1").messages]
        assert len(names) == len(made) + 2
        assert [one.info.id for one in await world.client.messages.list("ses_1", len(names))] == names
        assert len(held(store, "ses_1")) == len(kept)
        fork = await world.client.sessions.fork("ses_1", ForkSession())
        assert len(await world.client.messages.list(fork.id)) == len(names)
        await world.client.undo.revert("ses_1", made[0].info.id)
        assert held(store, "ses_1") == names
        await world.prompt("anew", session=session)
        [request, answer] = await world.client.messages.list("ses_1")
        assert [part.text for part in (*request.parts, *answer.parts) if isinstance(part, TextPart)] == ["anew", "here"]


@pytest.mark.slow
async def test_an_open_session_holds_after_a_compaction_the_messages_from_there_on(environ, tmp_path, paths):
    async with opened(environ, tmp_path, Answer(text="fine")) as world:
        project = (await world.client.project.current()).id
        made = history("ses_1", after=-1)
        put(paths, made, directory=str(tmp_path), project_id=project)
        store = world.client._engine.store
        await world.prompt("go on", session=await world.client.sessions.get("ses_1"))
        assert len(held(store, "ses_1")) == len(made) + 2
        world.server.summary_answers.append(Answer(text="all of it"))
        await world.client.context.compact("ses_1", CompactSession())
        await until(lambda: len(held(store, "ses_1")) < len(made))
        names = [one.info.id for one in load_session(Storage(paths), "ses_1").messages]
        kept = held(store, "ses_1")
        assert kept == names[-len(kept) :] and len(kept) == 100
        assert [one.info.id for one in await world.client.messages.list("ses_1")] == names


@pytest.mark.slow
async def test_a_compaction_reads_older_messages_once_and_not_at_all_when_the_last_one_was_ours(
    environ, tmp_path, paths
):
    """The last compaction of this session has no ledger; the report says what the new one keeps."""
    files, made = LoggedFiles(), summed_up(history("ses_1"))
    oldest = f"/part/{made[0].info.id}/"
    with ModelServer() as server:
        content = json.dumps({"provider": provider_config(server.base_url)})
        async with open_engine({**environ, "OPENCODE_CONFIG_CONTENT": content}, files=files) as engine:
            instance = await engine.instance(tmp_path)
            put(paths, made, directory=str(tmp_path), project_id=instance.folder.project.id)
            world = World(LocalClient(engine, instance), server)
            for _ in range(2):
                server.script(Answer(text="fine"))
                await world.prompt("go on", session=await world.client.sessions.get("ses_1"))
                server.summary_answers.append(Answer(text="all of it"))
                report = await world.client.context.compact("ses_1", CompactSession())
                assert "request 0\n" in report.kept
                assert sum(oldest in call.path for call in files.calls if call.act == "read") == 1


class HeldFiles(LoggedFiles):
    """Reads of some files wait until there was an event, which they record."""

    def __init__(self, held):
        super().__init__()
        self.held = held
        self.event: Callable[[], bool] = lambda: False
        self.came = []

    def read_whole(self, path):
        if self.held in path:
            begun = time.monotonic()
            while not self.event() and time.monotonic() - begun < PATIENCE_S / 2:
                time.sleep(0.01)
            self.came.append(self.event())
        return super().read_whole(path)


@pytest.mark.slow
async def test_the_model_is_asked_for_a_summary_before_the_older_messages_are_read(environ, tmp_path, paths):
    """What the compaction keeps of them is in the records before the summary is complete, and in the next request."""
    made = history("ses_1")
    files = HeldFiles(f"/part/{made[0].info.id}/")
    with ModelServer() as server:
        files.event = lambda: bool(server.requests)
        content = json.dumps({"provider": provider_config(server.base_url)})
        async with open_engine({**environ, "OPENCODE_CONFIG_CONTENT": content}, files=files) as engine:
            instance = await engine.instance(tmp_path)
            put(paths, made, directory=str(tmp_path), project_id=instance.folder.project.id)
            world = World(LocalClient(engine, instance), server)
            server.summary_answers.append(Answer(text="all of it"))
            report = await world.client.context.compact("ses_1", CompactSession())
            assert files.came == [True] and "request 0\n" in report.kept
            server.script(Answer(text="fine"))
            await world.prompt("go on", session=await world.client.sessions.get("ses_1"))
            assert "request 0\\n" in json.dumps(server.bodies[-1])


async def test_a_message_is_read_by_its_name_and_no_other_with_it(environ, tmp_path, paths):
    files, made = LoggedFiles(), history("ses_1")
    async with open_engine(environ, files=files) as engine:
        instance = await engine.instance(tmp_path)
        put(paths, made, directory=str(tmp_path), project_id=instance.folder.project.id)
        client, ids = LocalClient(engine, instance), [made[at].info.id for at in (3, 2, len(made) - 1)]
        found = await client.messages.named("ses_1", [*ids, "msg_of_nobody"])
        assert found == [made[3], made[2], made[-1]] and reads(files, "part") == 3
        assert await client.messages.get("ses_1", ids[0]) == made[3] and reads(files, "part") == 4
        with pytest.raises(NoSuchMessageError):
            await client.messages.get("ses_1", "msg_of_nobody")


@pytest.mark.slow
async def test_messages_by_name_have_what_is_in_memory_only(paths):
    made = history("ses_1")
    put(paths, made)
    async with open_store(paths) as opened_store:
        store = opened_store.store
        await store.recent("ses_1")
        part = made[-1].parts[0]
        assert isinstance(part, TextPart)
        async with store.locked("ses_1") as writer:
            writer.end_part(part.changed(text="late"))
        older, newest = await store.named("ses_1", [made[0].info.id, made[-1].info.id])
        assert older == made[0] and newest.parts == [part.changed(text="late")]


@pytest.mark.slow
async def test_what_is_not_on_the_disk_yet_stays_in_memory_with_all_after_it(paths):
    made = history("ses_1")
    put(paths, made)
    async with open_store(paths) as opened_store:
        store = opened_store.store
        await store.messages("ses_1")
        part = made[20].parts[0]
        assert isinstance(part, TextPart)
        async with store.locked("ses_1") as writer:
            writer.end_part(part.changed(text="late"))
        store.release_older("ses_1")
        assert held(store, "ses_1") == [one.info.id for one in made[20:]]
        await store.flush()
        store.release_older("ses_1")
        assert 2 * AFTER < len(held(store, "ses_1")) < 2 * AFTER + 10
        assert (await store.messages("ses_1"))[20].parts == [part.changed(text="late")]


@pytest.mark.slow
async def test_older_messages_can_be_withdrawn_and_removed(paths):
    made = history("ses_1")
    put(paths, made)
    async with open_store(paths) as opened_store:
        store = opened_store.store
        await store.recent("ses_1")
        async with store.locked("ses_1") as writer:
            await writer.withdraw(made[2].info.id)
            await writer.remove_message(made[4].info.id)
        names = [made[at].info.id for at in range(len(made)) if at not in (2, 4)]
        assert [one.info.id for one in await store.messages("ses_1")] == names
    async with open_store(paths) as opened_store:
        assert list(opened_store.store.message_ids("ses_1") or ()) == []
        await opened_store.store.recent("ses_1")
        assert list(opened_store.store.message_ids("ses_1") or ()) == names


@pytest.mark.slow
async def test_a_fork_of_a_long_session_has_all_of_it(environ, tmp_path, paths):
    async with opened(environ, tmp_path, Answer(text="fine"), Answer(text="here")) as world:
        project = (await world.client.project.current()).id
        made = history("ses_1")
        put(paths, made, directory=str(tmp_path), project_id=project)
        session = await world.client.sessions.get("ses_1")
        await world.prompt("go on", session=session)
        fork = await world.client.sessions.fork("ses_1", ForkSession())
        await world.prompt("and here", session=fork)
        texts = [part.text for one in await world.messages(fork) for part in one.parts if isinstance(part, TextPart)]
        wanted = [part.text for one in made for part in one.parts if isinstance(part, TextPart)]
        assert texts == [*wanted, "go on", "fine", "and here", "here"]
        assert len(await world.messages(fork)) == len(made) + 4


@pytest.mark.slow
async def test_the_changes_of_a_long_session_are_those_of_all_its_turns(environ, tmp_path, paths):
    async with opened(environ, tmp_path, Answer(text="fine")) as world:
        project = (await world.client.project.current()).id
        put(
            paths,
            summed_up(history("ses_1"), changed=("request 7", "request 290")),
            directory=str(tmp_path),
            project_id=project,
        )
        session = await world.client.sessions.get("ses_1")
        await world.prompt("go on", session=session)
        await world.client.undo.revert(session.id)
        summed = await world.client.sessions.get("ses_1")
        assert summed.summary is not None and (summed.summary.files, summed.summary.additions) == (2, 2)
        assert [one.file for one in await world.client.sessions.diff("ses_1")] == ["request 290.py", "request 7.py"]


async def test_older_requests_are_read_once_for_the_changes_of_a_session_however_many_turns_follow(
    environ, tmp_path, paths
):
    """Each turn leaves a request more on disk; one that another client changes there is read again."""
    files, made = LoggedFiles(), history("ses_1", after=20)
    left = next(one for one in made[-100:] if isinstance(one.info, UserMessage))
    made = summed_up(made, changed=("request 7", getattr(left.parts[0], "text", "")))
    oldest, changed = f"/{made[0].info.id}.json", made[14].info
    assert isinstance(changed, UserMessage) and changed.summary is not None and changed.summary.diffs
    with ModelServer() as server:
        content = json.dumps({"provider": provider_config(server.base_url)})
        async with open_engine({**environ, "OPENCODE_CONFIG_CONTENT": content}, files=files) as engine:
            instance = await engine.instance(tmp_path)
            put(paths, made, directory=str(tmp_path), project_id=instance.folder.project.id)
            world = World(LocalClient(engine, instance), server)
            session, counts = await world.client.sessions.get("ses_1"), []
            for number in range(6):
                if number == 4:
                    await instance.session.runs.registry.wait_released("ses_1")
                    async with engine.store.locked("ses_1") as writer:
                        await writer.update_message(changed.changed(summary=UserSummary(title="t", diffs=[])))
                server.script(Answer(text="fine"))
                await world.prompt("go on", session=session)
                await until(lambda: left.info.id not in held(engine.store, "ses_1"))
                expected = 2 if number < 4 else 1
                await until(lambda: changed_files(engine.store, "ses_1") == expected)  # noqa: B023 - awaited here
                counts.append(sum(oldest in call.path for call in files.calls if call.act == "read"))
    assert counts == [1] * 4 + [2] * 2


async def test_the_messages_of_a_session_are_counted_without_reading_one(paths):
    made = history("ses_1")
    session_id = put(paths, made)
    files = LoggedFiles()
    async with open_store(paths, files=files) as opened_store:
        assert await opened_store.store.ids(session_id) == [one.info.id for one in made]
        assert files.times("list") and not any(files.times("read", f"{one.info.id}.json") for one in made)
