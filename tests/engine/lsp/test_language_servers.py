"""Language servers: what edits report, and what happens when servers end, freeze or are too many. With a scripted server."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opencode_tui.engine.lsp.change import FileChange
from tests.support.lsp.world import Bench


@asynccontextmanager
async def bench(tmp_path: Path, environ: dict[str, str], *modes: str) -> AsyncGenerator[Bench]:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Bench(folder, environ, modes or ("pull",))
    try:
        yield made
    finally:
        await made.servers.close()
        for pid in made.pids() if made.log.exists() else ():
            with pytest.raises(ProcessLookupError):
                os.killpg(pid, 0)


@pytest.mark.parametrize("kind", ["pull", "push", "silent"])
async def test_only_the_errors_that_an_edit_brought_are_reported(
    tmp_path: Path, environ: dict[str, str], kind: str
) -> None:
    async with bench(tmp_path, environ, kind) as world:
        path = world.write("a.bug", "old BUG\nfine\n")
        await world.read("a.bug")
        report = await world.edit("a.bug", "first\nold BUG\nnew BUG\n")
        assert report.text == "a.bug:3:5: a bug [bug]\n(1 older error in a.bug not shown)"
        assert [error["range"]["start"]["line"] for error in report.diagnostics[str(path)]] == [2]
        assert (await world.edit("a.bug", "first\nold BUG\nnew BUG\nmore\n")).text == ""
        assert (await world.edit("a.bug", "clean\n")).text == ""
        assert world.heard


async def test_nothing_starts_before_a_file_of_its_language_is_read(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("notes.txt", "BUG")
        await world.read("notes.txt")
        assert not world.log.exists()
        assert [(one.id, one.status) for one in await world.servers.states()] == [("scripted", "ready")]


async def test_a_cold_server_is_not_waited_for_and_its_findings_come_with_the_next_edit(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "old BUG\n")
        assert (await world.edit("a.bug", "old BUG\nnew BUG\n")).text == ""
        await world.idle()
        report = await world.edit("b.bug", "fine\n")
        assert report.text == "a.bug:2:5: a bug [bug]\n(1 older error in a.bug not shown)"


async def test_errors_in_a_new_file_are_new_and_a_deleted_file_is_closed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        path = world.folder / "b.bug"
        assert "b.bug:1:1: a bug" in (await world.edit("b.bug", "BUG\n")).text
        path.unlink()
        await world.servers.after_edit([FileChange(path, "BUG\n", None)], limit_s=60)
        [server] = world.servers.running()
        assert path not in server.documents


async def test_a_server_that_dies_costs_no_wait_and_is_restarted(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        os.kill(world.pids()[0], signal.SIGKILL)
        [server] = world.servers.running()
        await server.connection.ended.wait()
        assert (await world.edit("a.bug", "BUG\n")).text == ""
        await world.idle()
        assert len(world.pids()) == 2
        assert (await world.edit("a.bug", "BUG\nBUG 2\n")).text.count("a bug") == 2


async def test_a_server_that_dies_twice_stays_off_until_it_is_restarted(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        for _ in range(2):
            await world.read("a.bug")
            [server] = world.servers.running()
            os.kill(server.connection.pid, signal.SIGKILL)
            await server.connection.ended.wait()
        await world.read("a.bug")
        [state] = await world.servers.states()
        assert (state.status, state.detail) == ("error", "it ended twice in 5 minutes; restart it with /lsp")
        assert await world.servers.restart("scripted")
        await world.read("a.bug")
        assert (await world.servers.states())[0].status == "connected"


async def test_a_server_that_cannot_start_says_so(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "crash") as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        [state] = await world.servers.states()
        assert (state.status, state.detail) == ("error", "it could not be started: it ended at once")


async def test_a_frozen_server_is_waited_for_once_only(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "pull", "freeze") as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        assert (await world.edit("a.bug", "FREEZE\n", limit_s=0.3)).text == ""
        async with asyncio.timeout(30):
            await world.edit("a.bug", "FREEZE BUG\n", limit_s=1000)


async def test_edits_in_a_row_open_no_further_documents(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        for number in range(10):
            await world.edit("a.bug", f"{number}\n")
        assert (world.messages("textDocument/didOpen"), world.messages("textDocument/didChange")) == (1, 10)
        assert world.messages("textDocument/diagnostic") == 11


async def test_what_others_changed_is_not_blamed_on_an_edit(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        world.write("b.bug", "fine\n")
        await world.read("a.bug")
        await world.read("b.bug")
        world.write("b.bug", "BUG by the user\n")
        assert (await world.edit("a.bug", "also fine\n")).text == ""
        assert (await world.edit("b.bug", "BUG by the user\nnew BUG\n")).text.startswith("b.bug:2:5:")


async def test_at_most_four_servers_run(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        table = await world.servers.table()
        roots = [world.folder / name for name in "abcde"]
        table.root_of = lambda path, server: path.parent  # pyright: ignore[reportAttributeAccessIssue] - a project in each folder
        for number, root in enumerate(roots):
            root.mkdir()
            world.clock = number
            world.write(f"{root.name}/x.bug", "fine\n")
            await world.read(f"{root.name}/x.bug")
        assert sorted(one.root.name for one in world.servers.running()) == ["b", "c", "d", "e"]
