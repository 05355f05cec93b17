"""Language servers: what edits report, and what happens when servers end, freeze or are too many. With a scripted server."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from opencode_tui.engine.lsp.change import FileChange
from opencode_tui.engine.lsp.connection import ServerGoneError
from opencode_tui.engine.lsp.diagnostics import FileErrors, errors_of, new_errors
from opencode_tui.engine.lsp.document import MAX_BYTES
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


async def test_the_errors_of_an_edited_file_are_reported_when_another_file_takes_too_long(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ, "pull", "slow") as world:
        world.write("a.bug", "fine\n")
        world.write("b.bug", "SLOW\n")
        await world.read("a.bug")
        world.servers.after_read(world.folder / "b.bug")
        [server] = world.servers.running()
        while not server.connection._waiting:
            await asyncio.sleep(0.01)
        for task in tuple(server._tasks):
            task.cancel()
        await world.idle()
        assert world.folder / "b.bug" in server.documents
        change = FileChange(world.folder / "a.bug", "fine\n", "BUG\n")
        [found] = await server.check([change], limit_s=1)
        assert found.rows == ["1:1: a bug [bug]"]


async def test_a_server_that_stays_silent_makes_no_old_error_new(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "push", "mute") as world:
        path = world.write("a.bug", "old BUG\n")
        await world.read("a.bug")
        [server] = world.servers.running()
        texts = ["old BUG\n", *(f"old BUG\nMUTE {number}\n" for number in range(3)), "old BUG\nnew BUG\n"]
        changes = [FileChange(path, before, after) for before, after in pairwise(texts)]
        for change in changes[:2]:  # nothing is pushed while the text contains MUTE
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await server.check([change])
        assert await server.check(changes[2:3]) == []
        server._silent = 0  # the machine may be slow
        [found] = await server.check(changes[3:])
        assert found.rows == ["2:5: a bug [bug]"]


async def test_a_renamed_file_has_no_new_errors(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        source, target = world.write("a.bug", "old BUG\n"), world.folder / "b.bug"
        await world.read("a.bug")
        source.rename(target)
        target.write_text("old BUG\nnew BUG\n")
        moved = FileChange(target, None, "old BUG\nnew BUG\n", source=source)
        report = await world.servers.after_edit([moved, FileChange(source, "old BUG\n", None)], limit_s=60)
        assert report.text == "b.bug:2:5: a bug [bug]\n(1 older error in b.bug not shown)"


async def test_the_reason_is_known_at_once_where_a_server_dies_at_its_start(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ, "crash") as world:
        path = world.write("a.bug", "fine\n")
        with pytest.raises(ServerGoneError, match="it ended at once"):
            await world.servers.server_for(path, limit_s=1000)
        await world.idle()


async def test_texts_that_are_too_large_are_not_sent(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        await world.edit("b.bug", "x" * (MAX_BYTES + 1))
        [server] = world.servers.running()
        assert list(server.documents) == [world.folder / "a.bug"]


def test_errors_at_impossible_positions_are_kept() -> None:
    start = {"line": -7, "character": float("inf")}
    errors = errors_of([{"message": "bad", "range": {"start": start, "end": start}}], "one\ntwo")
    assert new_errors(Path("/a"), "one\ntwo", FileErrors(), errors, "utf-16").rows == ["1:1: bad"]
