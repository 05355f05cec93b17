"""A server shows what another process has added to a session, removed from it, or writes just now."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, PromptInput, ShellInput, TextInput
from opencode_tui.schema.session.part import TextPart
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.server import HttpFace, served
from tests.support.world.waiting import until

SETTINGS = {"model": "fake/fake-model"}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def model():
    with ModelServer() as server:
        yield server


@pytest.fixture
def other(environ, folder, model):
    """Return what opens the folder as another process does."""
    content = {**SETTINGS, "provider": model.config()}

    @asynccontextmanager
    async def opened():
        async with open_client({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}, folder) as client:
            yield client

    return opened


def prompt(text: str, **fields) -> PromptInput:
    return PromptInput(parts=[TextInput(text=text)], **fields)


async def released(paths: Paths, session_id: str) -> None:
    """Wait until a session's last run has ended with all that follows it."""
    locks = Locks(paths)
    await until(lambda: (owner := locks.read_owner(session_id)) is not None and not owner.is_set)
    await until(lambda: not locks.is_running(session_id))


async def texts(face: HttpFace, session_id: str, query: str = "") -> list[str]:
    """Return the texts of the messages of a session."""
    messages = (await face.http.get(f"/session/{session_id}/message{query}")).json()
    return ["".join(part.get("text", "") for part in one["parts"]) for one in messages]


@pytest.mark.slow
async def test_a_server_shows_the_turn_of_a_command_wherever_it_shows_messages(folder, environ, paths, model):
    line = CommandLine(folder, environ, provider=model.config())
    async with served(folder, environ, provider=model.config(), settings=SETTINGS) as face:
        session = await face.session(title="one")
        await face.say(session, "one")
        assert await texts(face, session) == ["one", "Echo: one"]
        await released(paths, session)
        done = await asyncio.to_thread(line.run, "run", "-s", session, "-m", "fake/fake-model", "two")
        assert done.code == 0
        expected = ["one", "Echo: one", "two", "Echo: two"]
        assert await texts(face, session) == expected
        assert await texts(face, session, "?limit=1") == expected[-1:]
        last = (await face.messages(session))[-1]["info"]["id"]
        assert (await face.http.get(f"/session/{session}/message/{last}")).json()["parts"]
        assert len((await face.http.get(f"/api/session/{session}/message")).json()["data"]) == 4
        assert await texts(face, (await face.http.post(f"/session/{session}/fork", json={})).json()["id"]) == expected
        await released(paths, session)
        await face.say(session, "three")
        assert await texts(face, session) == [*expected, "three", "Echo: three"]


async def _prompt(client: LocalClient, session_id: str) -> None:
    await client.prompts.prompt(session_id, prompt("two"))


async def _shell(client: LocalClient, session_id: str) -> None:
    await client.prompts.shell(session_id, ShellInput(command="true"))


async def _compact(client: LocalClient, session_id: str) -> None:
    await client.context.compact(session_id, CompactSession())


async def _undo(client: LocalClient, session_id: str) -> None:
    await client.undo.revert(session_id)
    await client.undo.commit(session_id)


async def _edit(client: LocalClient, session_id: str) -> None:
    found = (await client.messages.list(session_id))[0].parts[0]
    assert isinstance(found, TextPart)
    await client.messages.update_part(found.changed(text="edited"))


async def _remove(client: LocalClient, session_id: str) -> None:
    found = (await client.messages.list(session_id))[-1]
    await client.messages.remove_part(session_id, found.info.id, found.parts[-1].id)


async def _restore(client: LocalClient, session_id: str) -> None:
    await client.sessions.remove(session_id)
    await client.trash.restore(session_id)
    await client.prompts.prompt(session_id, prompt("two"))


ACTS = [_prompt, _shell, _compact, _undo, _edit, _remove, _restore]
Act = Callable[[LocalClient, str], Awaitable[None]]


@pytest.mark.fast_cases("prompt-read only", "undo-read only")
@pytest.mark.parametrize("is_run", [False, True], ids=["read only", "run here"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__.strip("_"))
async def test_a_server_has_what_another_process_left(folder, environ, paths, model, other, act: Act, is_run: bool):
    async with other() as client:
        session = (await client.sessions.create(CreateSession(title="one"))).id
        await client.prompts.prompt(session, prompt("zero"))
        async with served(folder, environ, provider=model.config(), settings=SETTINGS) as face:
            if is_run:
                await face.say(session, "one")
            await released(paths, session)
            before = await face.messages(session)
            await act(client, session)
            after = await face.messages(session)
            assert after != before
            assert after == [one.to_dict() for one in await client.messages.list(session)]
            assert await face.messages(session) == after


@pytest.mark.slow
async def test_a_turn_that_another_process_is_writing_is_shown_as_far_as_it_is_on_the_disk(
    folder, environ, paths, model, other
):
    model.script(Answer(text="one"), Answer(text="begun and not ended yet", delay_ms=150))
    async with served(folder, environ, provider=model.config(), settings=SETTINGS) as face, other() as client:
        session = await face.session(title="one")
        await face.say(session, "one")
        await released(paths, session)
        turn = asyncio.create_task(client.prompts.prompt(session, prompt("two")))
        seen: set[int] = set()
        while not turn.done():
            seen.add(len(await texts(face, session)))
            await asyncio.sleep(0.02)
        await turn
        assert seen <= {2, 3, 4} and 4 in seen
        assert (await texts(face, session))[-1] == "begun and not ended yet"


@pytest.mark.slow
async def test_a_turn_of_the_server_itself_is_read_from_memory_with_its_queue(folder, environ, model):
    model.script(Answer(text="one two three four", delay_ms=100))
    async with served(folder, environ, provider=model.config(), settings=SETTINGS) as face:
        session = await face.session(title="one")
        first = asyncio.create_task(face.say(session, "one"))
        await until(lambda: bool(model.bodies))
        second = asyncio.create_task(face.say(session, "two", delivery="queue"))
        seen: list[list[str]] = []
        while not (first.done() and second.done()):
            seen.append(await texts(face, session))
            await asyncio.sleep(0.01)
        assert ["one", "one two three four", "two", "Echo: two"] == await texts(face, session)
        assert seen and seen == sorted(seen, key=len)


async def test_a_request_reads_one_small_file_while_nothing_has_changed(folder, environ, paths, model, monkeypatch):
    async with served(folder, environ, provider=model.config(), settings=SETTINGS) as face:
        session = await face.session(title="one")
        await face.say(session, "one")
        await released(paths, session)
        read: list[str] = []
        monkeypatch.setattr(FileSystem, "read_whole", _logged(FileSystem.read_whole, read))
        await face.messages(session)
        assert not [path for path in read if "/message/" in path or "/part/" in path]
        assert len([path for path in read if path.endswith(".owner")]) == 1
        model.script(Answer(text="one two three four", delay_ms=50))
        turn = asyncio.create_task(face.say(session, "two"))
        await until(lambda: len(model.bodies) >= 2)
        read.clear()
        await face.messages(session)
        assert [path for path in read if path.endswith(".owner")] == []
        await turn


def _logged(read_whole, read: list[str]):
    def logged(self, path, *given, **named):
        read.append(str(path))
        return read_whole(self, path, *given, **named)

    return logged
