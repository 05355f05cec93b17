"""Language servers in turns: errors in a tool's result, routes, trust. With a scripted server."""

import asyncio
import json
import re
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.lsp.language_servers import LanguageServers
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.schema.api.request import FileInput, PromptInput
from opencode_tui.schema.session.part import FilePartSource
from opencode_tui.schema.session.session import SessionInfo
from tests.support.lsp.world import SERVER, settings
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.machine import PYTHON
from tests.support.world.repo import Repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


async def idle(world: World) -> LanguageServers:
    """Return the language servers, once nothing works in the background."""
    servers = world.client._instance.folder.programs.languages.get()
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
        servers.after_edit = partial(check, limit_s=PATIENCE_S)  # a loaded machine may take long
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


async def test_what_a_cold_server_finds_comes_before_the_turn_ends(
    project: Repo, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a run of the program, which ends with the turn, keeps what the result of the edit says."""
    patient = {"limit_s": PATIENCE_S}  # a loaded machine may take long
    monkeypatch.setattr(LanguageServers.after_turn, "__kwdefaults__", patient)
    async with opened(with_servers(environ), project.path, settings=settings(tmp_path / "log", "pull")) as world:
        corrected = call("write", filePath="a.bug", content="fine\n")
        world.server.script(call("write", filePath="a.bug", content="BUG\n"), Answer(text="done"), corrected)
        world.server.script(Answer(text="corrected"))
        session = await world.prompt("edit it")
        outputs = [one.state.output for one in await world.calls(session)]
        assert "Not checked yet: scripted is starting" in outputs[0]
        assert await world.answer(session) == "corrected"
        asked = str(world.server.bodies[-1]["messages"])
        assert asked.count("The changes of this turn brought new errors:\\na.bug:1:1: a bug [bug]") == 1
        world.server.script(call("write", filePath="b.bug", content="fine\n"), Answer(text="done"))
        await world.prompt("and on", session=session)
        assert str(world.server.bodies[-1]["messages"]).count("brought new errors") == 1


async def test_what_a_cold_server_finds_comes_with_the_next_result(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    begun, go = project.path / "begun", project.path / "go"
    wait = "touch begun; until [ -e go ]; do sleep 0.02; done"
    chosen = {
        **settings(tmp_path / "log", "pull"),
        "experimental": {"sandbox": {"mode": "off"}},
        "permission": {"bash": "allow"},
    }
    async with opened(with_servers(environ), project.path, settings=chosen) as world:
        edit = call("write", filePath="a.bug", content="BUG\n")
        world.server.script(edit, call("bash", command=wait, description="x"), Answer(text="done"))
        turn = asyncio.create_task(world.prompt("edit it"))
        async with asyncio.timeout(PATIENCE_S):
            while not begun.exists():
                await asyncio.sleep(0.02)
        servers = await idle(world)
        servers.postponed_errors = partial(
            servers.postponed_errors, limit_s=PATIENCE_S
        )  # a loaded machine may take long
        go.touch()
        written, waited = await world.calls(await turn)
    assert "Not checked yet: scripted is starting" in written.state.output
    assert waited.state.output.endswith("Earlier changes brought new errors:\na.bug:1:1: a bug [bug]")


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


async def test_a_program_in_the_project_starts_only_in_a_trusted_folder_and_inside_the_sandbox(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    program = project.path / ".venv/bin/ty"
    program.parent.mkdir(parents=True)
    shutil.copy(SERVER, program.parent)
    server = shlex.join([PYTHON, "-S", str(program.parent / SERVER.name)])
    program.write_text(f'#!/bin/sh\necho x >> "{outside}"\nexec {server} "${{TMPDIR:-{tmp_path}}}/log" pull\n')
    program.chmod(0o755)
    python = Path(PYTHON).parent
    variables = {**with_servers(environ), "PATH": f"{program.parent}:{python}:/usr/bin:/bin"}
    project.write("a.py", "BUG\n")
    for is_trusted, tier in ((False, "none"), (True, "bubblewrap"), (True, "landlock"), (True, "none")):
        chosen = {"experimental": {"sandbox": {"tier": tier}}, "lsp": {"basedpyright": {"disabled": True}}}
        async with opened(variables, project.path, call("read", filePath="a.py"), settings=chosen) as world:
            if (await world.client._instance.folder.programs.sandbox.get().status()).tier != tier:
                continue  # not on this machine
            await world.prompt("read it")
            await idle(world)
            states = {one.id: one.status for one in await world.client.languages.servers()}
            assert states.get("ty") == ("connected" if is_trusted else None), states
            assert outside.exists() == (is_trusted and tier == "none")
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", ["clangd", "gopls"])
async def test_errors_of_a_known_server_quote_no_file_that_a_command_may_not_read(
    project: Repo, environ: dict[str, str], tmp_path: Path, name: str, tier: Tier
) -> None:
    if not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    secret = Path(environ["HOME"]) / ".netrc"
    secret.write_text("CANARY-HOME\n")
    project.write(".env", "KEY=CANARY-DOTENV\n")
    project.write("near.txt", "in the project\n")
    program = Path(environ["HOME"]) / "tools/bin" / name
    program.parent.mkdir(parents=True)
    shutil.copy(SERVER, program.parent)
    server = shlex.join([PYTHON, "-S", str(program.parent / SERVER.name)])
    program.write_text(f'#!/bin/sh\nexec {server} "${{TMPDIR:-{tmp_path}}}/log" pull\n')
    program.chmod(0o755)
    file = {"clangd": "a.c", "gopls": "a.go"}[name]
    project.write(file, "old\n")
    shown = [str(project.path / "near.txt"), str(secret), *([str(project.path / ".env")] * (tier == "bubblewrap"))]
    text = "".join(f"SHOW {path}\n" for path in shown)
    variables = {**with_servers(environ), "PATH": f"{program.parent}:{Path(PYTHON).parent}:/usr/bin:/bin"}
    chosen = {"experimental": {"sandbox": {"tier": tier}}}
    async with opened(variables, project.path, call("read", filePath=file), settings=chosen) as world:
        session = await world.prompt("read it")
        servers = await idle(world)
        servers.after_edit = partial(servers.after_edit, limit_s=PATIENCE_S)  # a loaded machine may take long
        world.server.script(call("write", filePath=file, content=text), Answer(text="done"))
        await world.prompt("write it", session=session)
        output = (await world.calls(session))[-1].state.output
    assert "quoted in the project" in output
    assert output.count("not opened") == len(shown) - 1
    assert "CANARY" not in output


async def test_a_confined_server_finds_no_program_of_a_project_without_trust(
    project: Repo, environ: dict[str, str]
) -> None:
    own = project.path / ".venv/bin"
    own.mkdir(parents=True)
    async with opened({**environ, "PATH": f"{own}:/usr/bin:/bin"}, project.path) as world:
        programs = world.client._instance.folder.programs
        for is_trusted in (False, True):
            environment = await asyncio.to_thread(programs._program_environment, is_confined=True)
            assert (str(own) in environment["PATH"].split(":")) == is_trusted
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)


async def test_basedpyright_starts_the_interpreter_of_a_project_only_with_trust_and_inside_the_sandbox(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    program = project.path / ".venv/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho x >> '{outside}'\nexec '{PYTHON}' \"$@\"\n")
    program.chmod(0o755)
    project.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    project.write("a.py", "number: int = 'text'\n")
    variables = {**with_servers(environ), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    others = {name: {"disabled": True} for name in ("ty", "pyright", "pyrefly", "pylsp")}
    asks = call("lsp", operation="diagnostics", filePath="a.py")
    seen: list[str] = []
    for is_trusted, tier in ((False, "bubblewrap"), (True, "bubblewrap")):
        chosen = {"experimental": {"sandbox": {"tier": tier}}, "lsp": others}
        async with opened(variables, project.path, settings=chosen) as world:
            world.server.script(asks, Answer(text="done"))
            [state] = [one.state for one in await world.calls(await world.prompt("look"))]
            seen.append(state.output if state.status == "completed" else state.error)
            assert not outside.exists(), is_trusted
            await world.client.settings.trust((await world.client.settings.trust_report()).seen)
    assert "trust the folder" in seen[0], seen
    assert "is not assignable" in seen[1], seen


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


def turn_settings(log: Path) -> dict[str, Any]:
    return {**settings(log, "pull"), "experimental": {"lsp_diagnostics": "turn"}}


async def test_at_the_end_of_a_turn_the_model_gets_the_errors_that_it_brought_twice_at_most(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", "old BUG\n")
    async with opened(with_servers(environ), project.path, settings=turn_settings(tmp_path / "log")) as world:
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        session = await world.prompt("read it")
        servers = await idle(world)
        servers.after_turn = partial(servers.after_turn, limit_s=PATIENCE_S)  # a loaded machine may take long
        first = len(world.server.bodies)
        assert first == 2
        world.server.script(
            call("write", filePath="a.bug", content="old BUG\nfirst BUG\n"),
            Answer(text="done"),
            call("write", filePath="a.bug", content="old BUG\nsecond BUG\n"),
            Answer(text="done again"),
            call("write", filePath="a.bug", content="old BUG\nthird BUG\n"),
            Answer(text="the end"),
        )
        await world.prompt("edit it", session=session)
        bodies = world.server.bodies[first:]
        asked = [str(body["messages"][-1]["content"]) for body in bodies if body["messages"][-1]["role"] == "user"]
        outputs = [one.state.output for one in await world.calls(session)][1:]
    assert len(bodies) == 6
    errors = [re.findall(r"a\.bug:\d:\d: a bug \[bug\]", text) for text in asked]
    assert errors == [[], ["a.bug:2:7: a bug [bug]"], ["a.bug:2:8: a bug [bug]"]]
    assert outputs == ["Wrote a.bug (replaced)."] * 3


async def test_a_turn_without_new_errors_ends_as_ever(project: Repo, environ: dict[str, str], tmp_path: Path) -> None:
    project.write("a.bug", "old BUG\n")
    async with opened(with_servers(environ), project.path, settings=turn_settings(tmp_path / "log")) as world:
        world.server.script(
            call("read", filePath="a.bug"),
            call("write", filePath="a.bug", content="old BUG\nfine\n"),
            Answer(text="done"),
        )
        session = await world.prompt("edit it")
        assert len(world.server.bodies) == 3
        assert (await world.calls(session))[-1].state.status == "completed"


async def test_what_a_command_changed_is_made_known_to_the_servers(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", "fine\n")
    log = tmp_path / "log"
    async with opened(with_servers(environ), project.path, settings=settings(log, "pull")) as world:
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        session = await world.prompt("read it")
        await idle(world)
        command = "echo BUG > a.bug; echo x > new.txt"
        world.server.script(call("bash", command=command, description="x"), Answer(text="done"))
        await world.prompt("run it", session=session)
        await idle(world)
        world.server.script(call("lsp", operation="diagnostics", filePath="a.bug"), Answer(text="done"))
        await world.prompt("look", session=session)
        assert (await world.calls(session))[-1].state.output == "1:1: a bug"
    assert sorted(Path(f"{log}.files").read_text().split("\n")) == ["", "1 new.txt", "2 a.bug", "2 new.txt"]


async def test_a_file_that_apply_patch_renames_is_closed_and_opened_again(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", "old BUG\nend\n")
    log = tmp_path / "log"
    patch = "*** Begin Patch\n*** Update File: a.bug\n*** Move to: b.bug\n@@\n-end\n+new BUG\n*** End Patch"
    async with opened(with_servers(environ), project.path, settings=settings(log, "pull")) as world:
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        session = await world.prompt("read it")
        servers = await idle(world)
        servers.after_edit = partial(servers.after_edit, limit_s=PATIENCE_S)
        world.server.script(call("apply_patch", patchText=patch), Answer(text="done"))
        await world.prompt("rename it", session=session)
        output = (await world.calls(session))[-1].state.output
        [server] = servers.running()
        assert [path.name for path in server.documents] == ["b.bug"]
    assert output.partition("new errors:\n")[2].splitlines() == [
        "b.bug:2:5: a bug [bug]",
        "(1 older error in b.bug not shown)",
    ]
    methods = [line.split(" ")[1] for line in log.read_text().splitlines()]
    assert (methods.count("textDocument/didOpen"), methods.count("textDocument/didClose")) == (2, 1)


_FUNCTIONS = "x = 1\n\ndef first():\n    body_1\n    body_2\n\ndef second():\n    body_3\n"


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("@a.bug#first", "3-5"),
        ("@a.bug#second", "7-8"),
        ("@a.bug#third", "1-8"),
        ("@a.bug#L4", "4-4"),
        ("@a.bug#L3", "3-3"),
    ],
)
async def test_a_symbol_in_a_prompt_is_attached_with_its_lines_when_a_server_runs(
    project: Repo, environ: dict[str, str], tmp_path: Path, written: str, lines: str
) -> None:
    project.write("a.bug", _FUNCTIONS)
    async with opened(with_servers(environ), project.path, settings=settings(tmp_path / "log", "pull")) as world:
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        session = await world.prompt("read it")
        await idle(world)
        [_, given] = await world.client.prompts.expand(f"look at {written}")
        _, content, file = await _stored(world, session, given)
        symbols = await world.client.languages.symbols("fir")
    first, last = map(int, lines.split("-"))
    shown = [line for line in _FUNCTIONS.splitlines()[first - 1 : last] if line]
    others = [line for line in _FUNCTIONS.splitlines() if line and line not in shown]
    assert [line for line in (*shown, *others) if line in content.text] == shown != []
    is_symbol = written in ("@a.bug#first", "@a.bug#second")
    assert file.source.type == ("symbol" if is_symbol else "file")
    assert [one.name for one in symbols] == ["first"]
    if is_symbol:
        assert file.url.endswith(f"?start={first}&end={last}")
        assert (file.source.kind, file.source.range["end"]["line"]) == (12, last)


async def test_a_symbol_source_with_one_line_gets_the_range_that_a_server_knows(
    project: Repo, environ: dict[str, str], tmp_path: Path
) -> None:
    project.write("a.bug", _FUNCTIONS)
    place = {"line": 2, "character": 4}
    source = {
        "type": "symbol",
        "path": str(project.path / "a.bug"),
        "name": "first",
        "kind": 12,
        "range": {"start": place, "end": place},
        "text": {"value": "@first", "start": 0, "end": 6},
    }
    url = (project.path / "a.bug").as_uri() + "?start=3&end=3"
    given = FileInput(mime="text/plain", filename="a.bug", url=url, source=FilePartSource.model_validate(source))
    async with opened(with_servers(environ), project.path, settings=settings(tmp_path / "log", "pull")) as world:
        before = (await _stored(world, await world.new_session(), given))[1].text
        assert "def first" in before and "body_1" not in before
        world.server.script(call("read", filePath="a.bug"), Answer(text="read"))
        await world.prompt("read it")
        await idle(world)
        _, content, file = await _stored(world, await world.new_session(), given)
    assert "body_2" in content.text and "second" not in content.text
    assert file.url.endswith("?start=3&end=5")


async def _stored(world: World, session: SessionInfo, given: Any) -> list[Any]:
    await world.client.prompts.prompt(session.id, PromptInput(model=MODEL, no_reply=True, parts=[given]))
    return list((await world.messages(session))[-1].parts)
