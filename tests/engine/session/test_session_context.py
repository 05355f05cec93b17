"""The next request of real sessions: the view equals what is sent, counted as the provider counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.request import ForkSession, PromptInput, TextInput
from opencode_tui.schema.error import NotFoundError
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.token_counter import Window
from tests.support.world.engine import MODEL, World, opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Always write tests first.\n" * 40)
    (project / "a.py").write_text("def run(value):\n    return value + 1\n" * 200)
    return project


async def waiting(world: World, words: str) -> str:
    """Return a session whose request is stored and not answered yet."""
    session = await world.new_session()
    await world.prompt("begin", session=session)
    request = PromptInput(model=MODEL, parts=[TextInput(text=words)], no_reply=True)
    await world.client.prompts.prompt(session.id, request)
    return session.id


async def read_and_answer(world: World) -> str:
    world.server.script(Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="that is what it does"))
    return (await world.prompt("read a.py")).id


def records(environ: dict[str, str]) -> list[tuple[Path, int]]:
    return sorted((path, path.stat().st_mtime_ns) for path in Path(environ["XDG_DATA_HOME"]).rglob("storage/**/*.json"))


@pytest.mark.fast_cases("fake")
@pytest.mark.parametrize("provider", ["fake", "fake-anthropic"])
async def test_the_request_that_is_shown_is_the_one_that_is_sent(
    provider: str, environ: dict[str, str], folder: Path
) -> None:
    model = MODEL.changed(provider_id=provider)
    async with opened(environ, folder) as world:
        session = await world.new_session()
        for words, waits in (("begin", False), ("then this", True)):
            request = PromptInput(model=model, parts=[TextInput(text=words)], no_reply=waits)
            await world.client.prompts.prompt(session.id, request)
        shown = await world.client.context.request(session.id)
        await world.client.prompts.prompt(session.id, PromptInput(model=model, parts=[TextInput(text="more")]))
    sent = world.server.requests[-1]
    assert shown.url == f"{world.server.base_url}{sent.path}"
    last_shown, last_sent = shown.body["messages"].pop(), sent.body["messages"].pop()
    assert shown.body == sent.body
    assert "then this" in json.dumps(last_shown) and "then this" in json.dumps(last_sent)


async def test_no_key_is_shown(environ: dict[str, str], folder: Path) -> None:
    settings: dict[str, Any] = {"instructions": ["rules.md"]}
    (folder / "rules.md").write_text("our key is fake-key-for-tests, keep it")
    async with opened(environ, folder, settings=settings) as world:
        shown = await world.client.context.request(await waiting(world, "hello"))
    assert shown.headers["authorization"] == "[hidden]" and shown.headers["content-type"] == "application/json"
    text = json.dumps(shown.to_dict())
    assert "fake-key-for-tests" not in text and "our key is [hidden]" in text


async def test_an_idle_session_shows_what_comes_before_the_next_prompt(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session_id = await read_and_answer(world)
        shown = await world.client.context.request(session_id)
        view = await world.client.context.items(session_id)
    assert shown.body["messages"][-1] == {"role": "assistant", "content": "that is what it does"}
    assert [item.kind for item in view.items] == [
        "family", "environment", "instruction", "tools", "request", "call", "answer",
    ]  # fmt: skip


@pytest.mark.slow
async def test_the_items_add_up_to_what_the_provider_counts(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, window=Window()) as world:
        session_id = await read_and_answer(world)
        view = await world.client.context.items(session_id)
        await world.prompt("x", session=await world.client.sessions.get(session_id))
        counted = world.server.requests[-1].tokens
    assert abs(view.tokens - counted) / counted < 0.02
    assert view.learned == 2 and view.reported is not None


async def test_the_view_has_the_limit_the_cost_and_what_pruning_frees(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        view = await world.client.context.items(await read_and_answer(world))
    (call,) = [item for item in view.items if item.kind == "call"]
    assert (view.context, view.usable, view.prunable) == (200_000, 192_000, 0)
    assert view.cost > 0 and view.model == MODEL and view.agent == "build"
    assert call.tool == "read" and call.frees is not None and 0 < call.frees < call.tokens


async def test_a_fork_does_not_cost_what_it_took_over(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        fork = await world.client.sessions.fork(await read_and_answer(world), ForkSession())
        await world.client.sessions.wait_copied(fork.id)
        assert (await world.client.context.items(fork.id)).cost == 0


async def test_a_session_without_a_request_shows_system_and_tools(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings={"model": str(MODEL)}) as world:
        session = await world.new_session()
        view = await world.client.context.items(session.id)
        assert (await world.client.context.request(session.id)).body["messages"][-1]["role"] == "system"
    assert {item.group for item in view.items} == {"system"} and view.tokens > 1_000


async def test_an_unknown_session_is_named(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        with pytest.raises(NotFoundError):
            await world.client.context.items("ses_0000000000000000000000000")


@pytest.mark.slow
async def test_a_view_writes_nothing_and_calls_no_model(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session_id = await read_and_answer(world)
    before = records(environ)
    async with opened(environ, folder) as world:
        await world.client.context.items(session_id)
        await world.client.context.request(session_id)
        assert records(environ) == before and not world.server.requests


@pytest.mark.slow
async def test_the_demo_shows_a_body_without_an_address(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder) as world:
        session = await world.new_session()
        model = MODEL.changed(provider_id="demo", model_id="tour")
        await world.client.prompts.prompt(session.id, PromptInput(model=model, parts=[TextInput(text="hello")]))
        shown = await world.client.context.request(session.id)
    assert (shown.adapter, shown.url, shown.headers) == ("demo", None, {}) and shown.body["messages"]
