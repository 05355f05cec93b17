"""Whoever sends a prompt gets the events of its turn, whatever folder the session's record names."""

import os
from collections import Counter
from pathlib import Path

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput, UpdateSession
from opencode_tui.schema.event.event import PartUpdated, SessionUpdated
from opencode_tui.schema.session.session import SessionInfo
from tests.support.world.engine import MODEL, opened


async def kinds_of(client: LocalClient, session: SessionInfo, text: str = "hello") -> Counter[str]:
    """Return the kinds of the events that a turn brings its client."""
    found: Counter[str] = Counter()
    with client.events() as events:
        await client.prompts.prompt(session.id, PromptInput(model=MODEL, parts=[TextInput(text=text)]))
        while (envelope := events.poll()) is not None:
            found[type(envelope.event).__name__] += 1
    return found


@pytest.mark.parametrize("name", [b"plain", b"b\xe9d", b"\xff\xfe", b"two\nlines", "日本".encode(), b"a b"])
async def test_the_events_of_a_turn_arrive_in_a_folder_of_any_name(
    environ: dict[str, str], tmp_path: Path, name: bytes
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    folder.mkdir()
    async with opened(environ, folder) as world:
        session = await world.new_session()
        found = await kinds_of(world.client, session)
        again = await kinds_of(world.client, session, "again")
        stored = await world.client.sessions.get(session.id)
    assert stored.directory == str(folder)
    assert min(found["PartUpdated"], again["PartUpdated"]) >= 3 and found["SessionIdle"] == again["SessionIdle"] == 1


async def test_a_session_of_another_folder_answers_where_it_is_asked(environ: dict[str, str], tmp_path: Path) -> None:
    """As `run -c` in a folder below, and `run -s` anywhere."""
    first, second = tmp_path / "first", tmp_path / "first" / "below"
    second.mkdir(parents=True)
    async with opened(environ, first) as world:
        session = await world.prompt("hello")
        with world.client.events() as at_home:
            client = await _client_at(world.client, second)
            found = await kinds_of(client, session, "from below")
            home = Counter[str]()
            while (envelope := at_home.poll()) is not None:
                home[type(envelope.event).__name__] += 1
        with client.events() as below:
            await world.prompt("elsewhere")
            other = [one.event for one in iter(below.poll, None)]
    assert found["PartUpdated"] >= 3 and found["SessionIdle"] == 1
    assert home["PartUpdated"] == found["PartUpdated"]
    assert [event for event in other if isinstance(event, PartUpdated)] == []


async def test_the_events_of_agents_reach_the_folder_that_works_on_their_session(
    environ: dict[str, str], tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    async with opened(environ, first) as world:
        session = await world.prompt("hello")
        client = await _client_at(world.client, second)
        with client.events() as events:
            await kinds_of(client, session)
            child = await world.client.sessions.create(CreateSession(parent_id=session.id))
            grandchild = await world.client.sessions.create(CreateSession(parent_id=child.id))
            await world.client.sessions.update(grandchild.id, UpdateSession(title="renamed"))
            changed = [one.event for one in iter(events.poll, None) if isinstance(one.event, SessionUpdated)]
    assert "renamed" in [one.info.title for one in changed if one.info.id == grandchild.id]


async def _client_at(client: LocalClient, folder: Path) -> LocalClient:
    """Return the client of another folder of the same engine."""
    return LocalClient(client._engine, await client._engine.instance(folder))
