"""Undo in a fork, in its source, and in a fork's own worktree: the three states of a path decide, not the owner of a change."""

from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.request import ForkSession
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

ALLOWED = {"permission": {"edit": "allow", "external_directory": "allow"}}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(path, content):
    return Answer(calls=(Call("write", {"filePath": str(path), "content": content}),))


async def edited(world, path, *contents, session=None) -> tuple[Any, list[str]]:
    """One turn for each content; returns the session and the ids of the requests."""
    for content in contents:
        session = await world.prompt(f"write {content}", session=session)
    return session, [one.info.id for one in await world.messages(session) if one.info.role == "user"]


def careful(path, content):
    """Read the file first: a fork has read none yet."""
    return [Answer(calls=(Call("read", {"filePath": str(path)}),)), write(path, content), Answer(text="done")]


def script(path, *contents):
    return [answer for content in contents for answer in (write(path, content), Answer(text="done"))]


async def test_undo_of_copied_messages_restores_the_files(environ, folder):
    path = folder / "a.txt"
    async with opened(environ, folder, *script(path, "one", "two"), settings=ALLOWED) as world:
        session, _ = await edited(world, path, "one", "two")
        fork = await world.client.sessions.fork(session.id, ForkSession())
        requests = [one.info.id for one in await world.messages(fork) if one.info.role == "user"]
        await world.client.undo.revert(fork.id, requests[1])
        assert path.read_text() == "one"
        await world.client.undo.unrevert(fork.id)
        assert path.read_text() == "two" and len(await world.messages(session)) == 6


@pytest.mark.slow
async def test_what_the_source_did_since_is_a_conflict_for_the_fork(environ, folder):
    path = folder / "a.txt"
    async with opened(environ, folder, *script(path, "one", "two", "three"), settings=ALLOWED) as world:
        session, _ = await edited(world, path, "one", "two")
        fork = await world.client.sessions.fork(session.id, ForkSession())
        await edited(world, path, "three", session=session)
        requests = [one.info.id for one in await world.messages(fork) if one.info.role == "user"]
        report = await world.client.undo.revert(fork.id, requests[1])
        assert path.read_text() == "three" and [Path(one.path).name for one in report.kept] == ["a.txt"]


@pytest.mark.slow
async def test_a_fork_of_a_reverted_session_continues_from_the_visible_messages(environ, folder):
    path = folder / "a.txt"
    async with opened(environ, folder, *script(path, "one", "two"), *careful(path, "other"), settings=ALLOWED) as world:
        session, requests = await edited(world, path, "one", "two")
        await world.client.undo.revert(session.id, requests[1])
        fork = await world.client.sessions.fork(session.id, ForkSession())
        await edited(world, path, "other", session=fork)
        texts = [part.text for message in await world.messages(fork) for part in message.parts if part.type == "text"]
        assert texts == ["write one", "done", "write other", "done"] and path.read_text() == "other"
        assert (await world.client.sessions.get(session.id)).revert is not None
        assert len(await world.messages(session)) == 6


@pytest.mark.slow
async def test_undo_in_a_work_tree_of_its_own_leaves_the_first_one_alone(environ, tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.txt": "zero"})
    here = repo.path / "a.txt"
    async with opened(environ, repo.path, *careful(here, "one"), settings=ALLOWED) as world:
        session, _ = await edited(world, here, "one")
        fork = await world.client.sessions.fork(session.id, ForkSession(worktree=True))
    there = Path(fork.directory) / "a.txt"
    async with opened(environ, Path(fork.directory), *careful(there, "two"), settings=ALLOWED) as world:
        fork, requests = await edited(world, there, "two", session=fork)
        assert (here.read_text(), there.read_text()) == ("one", "two")
        await world.client.undo.revert(fork.id, requests[1])
        assert (here.read_text(), there.read_text()) == ("one", "one")
        await world.client.undo.revert(fork.id, requests[0])
        assert (here.read_text(), there.read_text()) == ("one", "one")
