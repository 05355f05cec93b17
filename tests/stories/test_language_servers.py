"""Language servers in turns: errors in a tool's result, routes, trust. With a scripted server."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

from opencode_tui.engine.lsp.language_servers import LanguageServers
from tests.support.lsp.world import command, settings
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened
from tests.support.world.repo import Repo


async def idle(world: World) -> LanguageServers:
    """Return the language servers, once nothing works in the background."""
    servers = world.client._instance.folder.languages.get()
    while tasks := [*servers._tasks, *(task for one in servers.running() for task in one._tasks)]:
        await asyncio.wait(tasks)
    return servers


def with_servers(environ: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name != "OPENCODE_DISABLE_LSP"}


def call(tool: str, **arguments: Any) -> Answer:
    return Answer(calls=(Call(tool, arguments),))


async def test_every_tool_that_edits_shows_the_errors_that_it_brought(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", "old BUG\nsecond\n")
    patch = "*** Begin Patch\n*** Update File: a.bug\n@@\n-fourth\n+BUG patched\n*** End Patch"
    edits = [
        call("edit", filePath="a.bug", oldString="second", newString="BUG edited"),
        call("multiedit", filePath="a.bug", edits=[{"oldString": "BUG edited", "newString": "BUG again"}]),
        call("write", filePath="b.bug", content="BUG written\n"),
        call("write", filePath="a.bug", content="old BUG\nfourth\n"),
        call("apply_patch", patchText=patch),
    ]
    async with opened(with_servers(environ), project.path, settings=settings(tmp_path / "log", "pull")) as world:
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        session = await world.prompt("read it")
        servers = await idle(world)
        check = servers.after_edit
        servers.after_edit = partial(check, limit_s=60)  # a loaded machine may take long
        world.server.script(*edits, Answer(text="done"))
        await world.prompt("edit it", session=session)
        results = [one.state for one in await world.calls(session)][1:]
        states = await world.client.languages.servers()
        symbols = await world.client.languages.symbols("x")
    new = [state.output.partition("This change brought new errors:\n")[2].partition("\n")[0] for state in results]
    assert new == [
        "a.bug:2:1: a bug [bug]",
        "a.bug:2:1: a bug [bug]",
        "b.bug:1:1: a bug [bug]",
        "",
        "a.bug:2:1: a bug [bug]",
    ]
    assert [list(state.metadata["diagnostics"]) for state in results[2:]] == [
        [str(project.path / "b.bug")],
        [],
        [str(project.path / "a.bug")],
    ]
    assert [(one.id, one.root, one.status) for one in states] == [("scripted", ".", "connected")]
    assert symbols == []


async def test_a_program_that_a_repository_names_starts_only_when_the_folder_is_trusted(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    project.write("opencode.json", json.dumps(settings(log, "pull")))
    project.write("a.bug", "BUG\n")
    for is_trusted in (False, True):
        async with opened(with_servers(environ), project.path, call("read", filePath="a.bug")) as world:
            await world.prompt("read it")
            await idle(world)
            assert log.exists() == is_trusted
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)


async def test_a_program_in_the_project_starts_only_in_a_trusted_folder_without_a_sandbox(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    program = project.path / ".venv/bin/ty"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexec " + " ".join(command(log, "pull")) + "\n")
    program.chmod(0o755)
    variables = {**with_servers(environ), "PATH": f"{program.parent}:/usr/bin:/bin"}
    for is_trusted, mode in ((False, "off"), (True, "auto"), (True, "off")):
        chosen = {"experimental": {"sandbox": {"mode": mode}}}
        async with opened(variables, project.path, call("read", filePath="a.py"), settings=chosen) as world:
            await world.prompt("read it")
            await idle(world)
            tier = (await world.client._instance.folder.sandbox.get().status()).tier
            assert log.exists() == (is_trusted and tier == "none")
            assert tier == "none" or mode == "auto"
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)


async def test_the_lsp_tool_finds_by_name_and_is_listed_only_with_a_server(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", "def first():\n    BUG\n\ndef second():\n    first()\n")
    asked = [
        ("goToDefinition", {"line": 5, "character": 6}),
        ("findReferences", {"symbol": "first"}),
        ("hover", {"symbol": "second"}),
        ("documentSymbol", {}),
        ("workspaceSymbol", {"query": "sec"}),
        ("diagnostics", {}),
        ("goToDefinition", {"symbol": "third"}),
        ("incomingCalls", {"symbol": "first"}),
    ]
    calls = [call("lsp", operation=operation, filePath="a.bug", **where) for operation, where in asked]
    async with opened(
        with_servers(environ), project.path, *calls, Answer(text="done"), settings=settings(tmp_path / "log", "pull")
    ) as world:
        states = [one.state for one in await world.calls(await world.prompt("look"))]
        tools = {tool["function"]["name"] for tool in world.server.bodies[0]["tools"]}
    assert [state.output for state in states[:6]] == [
        "a.bug:1: def first():",
        "a.bug:1: def first():\na.bug:5: first()",
        "hover of second",
        "1-3: first\n4-6: second",
        "a.bug:4: def second():",
        "2:5: a bug",
    ]
    assert "third does not occur in" in states[6].error and "cannot do incomingCalls" in states[7].error
    assert "lsp" in tools
    async with opened(with_servers(environ), project.path, Answer(text="done")) as world:
        await world.prompt("look")
        assert "lsp" not in {tool["function"]["name"] for tool in world.server.bodies[0]["tools"]}
