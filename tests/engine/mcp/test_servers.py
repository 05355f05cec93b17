import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from opencode_tui.engine.mcp import process
from opencode_tui.engine.mcp.lists import McpError, ServerLists
from opencode_tui.engine.mcp.names import LONGEST, tool_ids
from opencode_tui.engine.mcp.server import MOST_QUESTIONS
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.folder_event import McpToolsChanged
from opencode_tui.schema.record import JsonObject
from tests.engine.mcp.conftest import COMMAND, World
from tests.support.world.waiting import PATIENCE_S, advance, jump, until


def text(result):
    return result["content"][0]["text"]


@pytest.mark.slow
async def test_a_server_starts_on_its_first_call_and_its_lists_are_known_to_the_next_process(world: World) -> None:
    async with world.servers(one={}) as servers:
        assert servers.status()[0].state == "known"
        assert servers.all_tools() == []
        assert text(await servers.call("one", "echo", {"text": "hello"})) == "hello"
        assert servers.status()[0].state == "connected"
        found = servers.all_tools()
    async with world.servers(one={}) as servers:
        assert servers.all_tools() == found
        assert "one_echo" in [tool.id for tool in found]
        assert (servers.status()[0].state, servers.prompts()[0].name) == ("known", "write-up")
        assert text(await servers.call("one", "roots", {})).count(world.folder.as_uri()) == 1


async def test_a_result_of_the_newest_protocol_without_a_type_is_complete(world: World, tmp_path: Path) -> None:
    """`Result.resultType` of 2026-07-28: a client takes one without it as complete."""
    log = tmp_path / "log"
    async with world.servers(one={"MODERN": "1", "LOG": str(log)}) as servers:
        async with asyncio.timeout(PATIENCE_S):
            assert text(await servers.call("one", "echo", {"text": "hello"})) == "hello"
            assert "one_echo" in [tool.id for tool in servers.all_tools()]
    asked = [json.loads(line)["method"] for line in log.read_text().splitlines()]
    assert asked[0] == "server/discover" and "initialize" not in asked


@pytest.mark.slow
async def test_a_server_that_dies_fails_the_call_with_its_last_output_and_is_restarted_at_the_next(
    world: World,
) -> None:
    async with world.servers(one={}) as servers:
        with pytest.raises(McpError, match=r"exited with code 3 during the call; .*\n.*the disk is on fire"):
            await servers.call("one", "die", {})
        call = asyncio.create_task(servers.call("one", "slow", {"seconds": 30, "steps": 1}))
        server = servers.get("one")
        await until(lambda: server.state == "connected" and call in asyncio.all_tasks())
        process = server._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(McpError, match="SIGKILL"):
            await call


async def test_a_canceled_call_ends_at_once_and_the_server_goes_on(world: World) -> None:
    async with world.servers(one={}) as servers:
        await servers.connect("one")
        call = asyncio.create_task(servers.call("one", "slow", {"seconds": 300, "steps": 1}))
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait({call}, timeout=PATIENCE_S)
        assert call.cancelled()
        assert text(await servers.call("one", "echo", {"text": "still here"})) == "still here"


async def test_progress_extends_the_time_of_a_call_and_silence_ends_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.servers(one={}, timeout=20_000) as servers:
        seen: list[tuple[str | None, float | None]] = []

        def report(words: str | None, share: float | None) -> None:
            seen.append((words, share))
            jump(monkeypatch, 10)

        assert text(await servers.call("one", "slow", {"seconds": 0.4, "steps": 4}, report=report)) == "done"
        assert (seen[0], len(seen)) == (("step 1", 1 / 4), 4)
        silent = asyncio.create_task(servers.call("one", "slow", {"seconds": 300, "steps": 1}))
        await until(lambda: servers.get("one")._calls)
        await advance(monkeypatch, 21)
        with pytest.raises(McpError, match="did not answer in time"):
            await silent


async def test_a_server_that_cannot_start_says_why_with_its_output(world: World) -> None:
    async with world.servers(bad={"CRASH_AT_START": "2", "NOISE": "no such database"}) as servers:
        status = await servers.connect("bad")
        assert (status.state, status.error) == ("failed", "it exited with code 2 while it started")
        assert status.output == ["no such database"]
        assert status.retry_in is not None
        with pytest.raises(NotFoundError, match="servers of this folder: bad"):
            servers.get("other")


@pytest.mark.slow
async def test_a_server_that_cannot_start_costs_no_other(world: World) -> None:
    async with world.servers(bad={"CRASH_AT_START": "2"}, good={}) as servers:
        assert (await servers.connect("bad")).state == "failed"
        assert (await servers.connect("good")).state == "connected"


async def test_changed_lists_are_read_once_and_reported(world: World) -> None:
    flag = world.folder / "flag"
    async with world.servers(one={"CHANGE": str(flag), "LOG": str(world.folder / "log")}) as servers:
        await servers.connect("one")
        world.events.clear()
        flag.touch()
        await servers.call("one", "touch_list", {})
        await until(lambda: bool(world.events))
        assert any(tool.id == "one_late" for tool in servers.all_tools())
        assert [event.server for event in world.events if isinstance(event, McpToolsChanged)] == ["one"]
        assert (world.folder / "log").read_text().count('"tools/list"') == 2


async def test_closing_kills_frozen_servers_and_what_they_started(world: World) -> None:
    async with world.servers(one={}, frozen={"FREEZE": "all"}) as servers:
        await servers.connect("one")
        starting = asyncio.create_task(servers.connect("frozen"))
        await until(lambda: servers.get("frozen")._process is not None)
        pids = [process.pid for name in servers.names if (process := servers.get(name)._process) is not None]
        assert len(pids) == 2
        async with asyncio.timeout(PATIENCE_S):
            await servers.close()
        await starting
    await until(lambda: all(has_ended(pid) for pid in pids))


def has_ended(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == "zombie"
    return True


async def test_a_server_gets_no_keys_of_ours(world: World) -> None:
    world.environ |= {"ANTHROPIC_API_KEY": "sk-ant-000000000", "LC_TIME": "C", "https_proxy": "http://proxy"}
    async with world.servers(one={"OWN": "1"}) as servers:
        names = text(await servers.call("one", "environment", {})).split("\n")
    assert {"PATH", "HOME", "LC_TIME", "https_proxy", "OWN"} <= set(names)
    assert "ANTHROPIC_API_KEY" not in names


async def test_a_server_that_is_switched_off_is_not_used(world: World) -> None:
    async with world.servers(one={}) as servers:
        await servers.connect("one")
        assert (await servers.disconnect("one")).state == "disabled"
        assert servers.all_tools() == []
        with pytest.raises(McpError, match="switched off"):
            await servers.call("one", "echo", {"text": "x"})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no such variable")
@pytest.mark.parametrize("is_of_repository", [False, True])
async def test_a_module_of_the_project_is_none_of_a_server_of_the_user(
    world: World, tmp_path: Path, is_of_repository: bool
) -> None:
    world.folder = tmp_path / "project"
    world.folder.mkdir()
    (world.folder / "typing.py").write_text("import pathlib\npathlib.Path(__file__).with_name('planted').touch()\n")
    (tmp_path / "lib").mkdir()
    run = f"import runpy\nrunpy.run_path({COMMAND[-1]!r}, run_name='__main__')\n"
    (tmp_path / "lib/own_server.py").write_text(run)
    world.of_repository = frozenset({"one"}) if is_of_repository else frozenset()
    environment = {"PYTHONPATH": str(tmp_path / "lib")}
    async with world.servers(one=environment, command=[sys.executable, "-m", "own_server"]) as servers:
        await servers.connect("one")
    assert (world.folder / "planted").exists() == is_of_repository


@pytest.mark.slow
async def test_the_program_of_a_server_is_never_one_that_a_command_may_have_written(
    world: World, tmp_path: Path
) -> None:
    world.folder = tmp_path / "project"
    planted = world.folder / "bin" / "small"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted\n")
    planted.chmod(0o755)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "small").symlink_to(sys.executable)
    world.environ["PATH"] = f"{planted.parent}:{tmp_path / 'programs'}"
    world.environ["VIRTUAL_ENV"] = str(world.folder / ".venv")
    folders: list[str] = []
    for world.is_trusted in (False, True):
        async with world.servers(one={}, command=["small", *COMMAND[1:]]) as servers:
            assert "VIRTUAL_ENV" not in text(await servers.call("one", "environment", {})).split("\n")
            process = servers.get("one")._process
            assert process is not None
            folders.append(psutil.Process(process.pid).cwd())
    assert folders == [str(world.home), str(world.folder)]
    assert not (tmp_path / "planted").exists()
    async with world.servers(one={}, command=["only-here"]) as servers:
        assert "`only-here` is not on PATH" in str((await servers.connect("one")).error)


async def test_a_server_that_is_stopped_while_it_waits_to_start_again_stays_stopped(world: World) -> None:
    async with world.servers(bad={"CRASH_AT_START": "2"}) as servers:
        server = servers.get("bad")
        starting = asyncio.create_task(servers.start_unknown())
        await until(lambda: server.retry_in is not None and server._opening is not None)
        assert (await servers.disconnect("bad")).state == "disabled"
        await starting
        assert (server.state, server._opening) == ("disabled", None)
    server.enable()
    with pytest.raises(McpError, match="its folder was closed"):
        await server.start()


async def test_a_server_that_is_stopped_before_its_start_began_lets_nobody_wait(world: World) -> None:
    async with world.servers(one={}) as servers, asyncio.timeout(PATIENCE_S):
        server = servers.get("one")
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(0)  # the start is a task that has not begun
        assert server._opening is not None
        await servers.disconnect("one")
        with pytest.raises(McpError, match="was stopped"):
            await starting
        assert (server.state, server._opening) == ("disabled", None)


async def test_the_start_of_a_server_is_no_part_of_the_time_for_its_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.servers(one={"START_S": "0.2"}, timeout=20_000) as servers:
        call = asyncio.create_task(servers.call("one", "echo", {"text": "hello"}))
        await until(lambda: servers.get("one")._process is not None)
        await advance(monkeypatch, 25)
        assert text(await call) == "hello"


async def test_a_question_ends_with_the_call_that_it_belongs_to(world: World) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def elicit(params: JsonObject, calls: int) -> JsonObject:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    async with world.servers(one={}) as servers:
        call = asyncio.create_task(servers.call("one", "ask", {}, elicit=elicit))
        await asked.wait()
        call.cancel()
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
        assert text(await servers.call("one", "echo", {"text": "still here"})) == "still here"


@pytest.mark.slow
async def test_a_change_that_is_announced_while_lists_are_read_is_read_too(world: World) -> None:
    flag = world.folder / "flag"
    async with world.servers(one={"CHANGE": str(flag)}) as servers:
        await servers.connect("one")
        server = servers.get("one")
        accept = server._accept

        async def accept_late(lists: ServerLists) -> None:
            server._accept = accept
            flag.touch()
            server._schedule_refresh()
            await accept(lists)

        server._accept = accept_late
        server._schedule_refresh()
        await until(lambda: any(tool.id == "one_late" for tool in servers.all_tools()))


def test_names_of_tools_are_accepted_by_providers_and_unique() -> None:
    given = [("a b", "c.d"), ("x", "y" * 80), ("x_y", "z"), ("x", "y_z"), ("apply", "patch"), ("external", "directory")]
    names = tool_ids(given, ["apply_patch"])
    assert names[0] == "a_b_c_d"
    assert len(names[1]) == LONGEST
    assert [name.rpartition("_")[0] for name in names[2:]] == ["x_y_z", "x_y_z", "apply_patch", "external_directory"]
    assert len({*names, *tool_ids([("x_y", names[2].removeprefix("x_y_")), ("mcp", "call")])}) == 8
    assert tool_ids(given[::-1], ["apply_patch"]) == names[::-1]


async def test_no_status_shows_a_key(world: World) -> None:
    key = "sk-ant-api03-abcdefghijklmnop"
    command = ["false", "--token", "hunter2hunter2", "--api-key=hunter2", f"https://user:pass@host/{key}"]
    async with world.servers(one={"NOISE": key}, command=command, bad={}) as servers:
        assert servers.status()[0].target == "false --token [hidden] --api-key=*** https://[hidden]@host/***"
    async with world.servers(bad={"NOISE": key, "CRASH_AT_START": "1"}) as servers:
        assert (await servers.connect("bad")).output == ["***"]


async def test_what_the_sdk_logs_goes_to_our_log(world: World) -> None:
    async with world.servers(one={}) as servers:
        await servers.connect("one")
    parents = {logging.getLogger(name).parent for name in ("mcp", "client", "httpx2")}
    assert parents == {logging.getLogger("opencode_tui")}


def result(text: str) -> str:
    return f'{{"jsonrpc":"2.0","id":ID,"result":{{"content":[{{"type":"text","text":{text}}}]}}}}\n'


@pytest.mark.fast_cases("other JSON", "second half")
@pytest.mark.parametrize(
    ("line", "read"),
    [
        (result('"cut \\ud83d"'), "cut \ufffd"),
        (result('"\\ude00 cut"'), "\ufffd cut"),
        (result('"\\ud83d\\ude00 whole"'), "\U0001f600 whole"),
        (result('"caf\xe9"'), "caf\ufffd"),
        (result('"\xc3\xa9"'), "\u00e9"),
        (
            '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}],"structuredContent":{"a":NaN}}}\n',
            "ok",
        ),
        ("\n\n \nDEBUG: an answer follows\n" + result('"ok"'), "ok"),
        ('{"level": "info", "id": ID, "msg": "a line of a log"}\n' + result('"ok"'), "ok"),
        (
            '{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "of a notification"}}\n'
            + result('"ok"'),
            "ok",
        ),
        ('{"jsonrpc": "2.0", "id": 999, "result": "of no call"}\n' + result('"ok"'), "ok"),
        ('[1, 2]\n"ID"\nnull\n' + result('"ok"'), "ok"),
        ("[" * 5_000 + "\n" + result('"ok"'), "ok"),
    ],
    ids=[
        "first half of a character",
        "second half",
        "both halves",
        "no UTF-8",
        "UTF-8",
        "NaN",
        "other lines",
        "a log in JSON",
        "an error of no request",
        "an answer to no request",
        "other JSON",
        "deep JSON",
    ],
)
async def test_an_answer_is_read_whatever_its_text_holds_and_whatever_is_printed_beside_it(
    world: World, line: str, read: str
) -> None:
    """A program in JavaScript writes half a character where it has cut a text: ECMA-262, 15th edition, 25.5.2.3 QuoteJSONString."""
    async with world.servers(one={"RAW": "1"}) as servers:
        async with asyncio.timeout(PATIENCE_S):
            assert text(await servers.call("one", "raw", {"text": line})) == read
            assert text(await servers.call("one", "echo", {"text": "then"})) == "then"


@pytest.mark.fast_cases("broken JSON", "request that could not be read")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":"no object"}\n', "cannot be read"),
        (
            '{"jsonrpc":"2.0","id":ID,"result":{"a":' + "[" * 3_000 + "]" * 3_000 + "}}\n",
            "nested deeper than 100 levels",
        ),
        ('{"jsonrpc":"2.0","id":ID,"result":{"content":[}\n', "cannot be read"),
        ('{"jsonrpc":"2.0","id":ID}\n', "cannot be read"),
        ('{"jsonrpc":"2.0","id":ID,"error":{"code":"x"}}\n', "cannot be read"),
        ('{"jsonrpc":"2.0","id":ID,"error":"no object"}\n', "cannot be read"),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n', "Parse error"),
    ],
    ids=[
        "result of another kind",
        "deep result",
        "broken JSON",
        "nothing but an ID",
        "error of another kind",
        "error that is no object",
        "request that could not be read",
    ],
)
async def test_an_answer_that_cannot_be_read_ends_its_call_with_the_reason_and_no_other(
    world: World, line: str, reason: str
) -> None:
    """The ID of the answer to a request that could not be read is null: JSON-RPC 2.0, 5 (2013-01-04)."""
    async with world.servers(one={"RAW": "1"}) as servers:
        with pytest.raises(McpError, match=reason):
            async with asyncio.timeout(PATIENCE_S):
                await servers.call("one", "raw", {"text": line})
        assert servers.get("one").state == "connected"
        assert text(await servers.call("one", "echo", {"text": "then"})) == "then"


async def test_an_answer_that_cannot_be_read_ends_no_other_call(world: World, tmp_path: Path) -> None:
    wanted = tmp_path / "wanted"
    async with world.servers(one={"RAW": "1", "WAIT": "1"}) as servers:
        other = asyncio.create_task(servers.call("one", "wait", {"path": str(wanted)}))
        await until(lambda: (tmp_path / "wanted.begun").exists())
        with pytest.raises(McpError, match="cannot be read"):
            await servers.call("one", "raw", {"text": '{"jsonrpc":"2.0","id":ID,"result":7}\n'})
        assert not other.done()
        new = tmp_path / "new"
        new.write_text("late")
        new.replace(wanted)  # the server must not read a file that is not written yet
        assert text(await other) == "it came: late"


@pytest.mark.parametrize("longest", [1_000, process.LINE_LIMIT])
@pytest.mark.parametrize("data", [b"y\n", b"\n", b"y", b"a longer line\n" * 5], ids=str)
async def test_other_work_runs_between_the_lines_of_a_flood(data: bytes, longest: int) -> None:
    """What one read brings is handled at once, and nothing more: here 1 MB is there at once."""
    stream = asyncio.StreamReader()
    stream.feed_data(data * (1_000_000 // len(data)))
    stream.feed_eof()
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(other_work())
    async for _ in process._lines(stream, longest):
        pass
    other.cancel()
    assert turns >= 1_000_000 // process._READ_BYTES


async def test_lines_are_whole_and_a_longer_one_is_cut_once() -> None:
    stream = asyncio.StreamReader()
    long = b"x" * 100_000
    stream.feed_data(b"one\n\n" + long + b"\ntwo\r\n" + long)
    stream.feed_eof()
    found = [line async for line in process._lines(stream, 50_000)]
    assert [line for line in found if len(line) < 50_000] == [b"one", b"two\r"]
    cut = [line for line in found if len(line) >= 50_000]
    assert [50_000 < len(line) < 50_000 + 2 * process._READ_BYTES for line in cut] == [True, True]
    stream = asyncio.StreamReader()
    stream.feed_data(long + b"\n" + long)
    stream.feed_eof()
    assert [line async for line in process._lines(stream, 1_000_000)] == [long, long]


async def test_of_a_flood_of_questions_a_few_reach_the_user_and_the_others_are_declined(world: World) -> None:
    asked = 0

    async def elicit(params: JsonObject, count: int) -> JsonObject:
        nonlocal asked
        asked += 1
        await asyncio.Event().wait()
        raise AssertionError

    question = (
        '{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"x","requestedSchema":'
        '{"type":"object","properties":{}}}}\n'
    )
    lines = "".join(question % number for number in range(1_000, 1_060))
    async with world.servers(one={"RAW": "1", "LOG": str(world.folder / "log")}) as servers:
        call = asyncio.create_task(servers.call("one", "raw", {"text": lines}, elicit=elicit))
        log = world.folder / "log"
        await until(lambda: log.exists() and log.read_text().count('"decline"') == 60 - MOST_QUESTIONS)
        assert asked == MOST_QUESTIONS
        call.cancel()
        await asyncio.wait({call})


GOOD = {"name": "good", "inputSchema": {"type": "object"}}
ECHO = {"name": "echo", "inputSchema": {"type": "object"}}


def page(*tools: object, cursor: object = None) -> JsonObject:
    return {"tools": list(tools), **({} if cursor is None else {"nextCursor": cursor})}


async def test_an_odd_tool_of_a_server_costs_no_other_and_is_named(world: World, tmp_path: Path) -> None:
    log = tmp_path / "log"
    answers: JsonObject = {
        "initialize": {"capabilities": None, "instructions": 3},
        "tools/list": [page(GOOD, {"name": "odd"}, cursor=2), page({"description": "nameless"}, ECHO)],
        "prompts/list": {"prompts": None},
    }
    async with world.servers(one={"ANSWERS": json.dumps(answers), "LOG": str(log)}) as servers:
        status = await servers.connect("one")
        assert (status.state, status.tools) == ("connected", 3)
        assert status.faults == [
            "it names no version of the protocol; 2025-11-25 is used",
            "tool odd: its inputSchema is missing, so its arguments are not checked",
            "tool 1 of its list has no name, so it is left out",
        ]
        assert text(await servers.call("one", "echo", {"text": "hello"})) == "hello"
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    lists = [one.get("params", {}).get("cursor") for one in asked if one["method"] == "tools/list"]
    assert lists == [None, 2]
    async with world.servers(one={"ANSWERS": json.dumps(answers), "LOG": str(log)}) as servers:
        assert servers.status()[0].faults == status.faults


@pytest.mark.parametrize(
    ("pages", "asked", "tools"),
    [
        ([page(GOOD, cursor="same")], 2, 1),
        ([page(GOOD, cursor="a"), page(ECHO, cursor="b"), page(GOOD, cursor="a")], 3, 2),
        ([page(GOOD, cursor=str(number)) for number in range(50)], 11, 1),
    ],
)
async def test_pages_that_repeat_end_the_list_and_are_named(
    world: World, tmp_path: Path, pages: list[JsonObject], asked: int, tools: int
) -> None:
    log = tmp_path / "log"
    async with world.servers(one={"ANSWERS": json.dumps({"tools/list": pages}), "LOG": str(log)}) as servers:
        status = await servers.connect("one")
    assert (status.state, status.tools) == ("connected", tools)
    assert status.faults == ["the pages of its list of tools repeat without an end, so the list ends there"]
    assert log.read_text().count('"tools/list"') == asked


async def test_a_tool_that_runs_only_as_a_task_is_run_as_one_and_ends_with_its_call(
    world: World, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with world.servers(one={"TASK": "1", "LOG": str(log)}) as servers:
        assert text(await servers.call("one", "echo", {"text": "hello"})) == "hello"
        call = asyncio.create_task(servers.call("one", "echo", {"text": "forever"}))
        await until(lambda: log.read_text().count('"tasks/result"') == 2)
        call.cancel()
        await asyncio.wait({call}, timeout=PATIENCE_S)
        await until(lambda: '"tasks/cancel"' in log.read_text())
