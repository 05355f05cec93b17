"""Language servers: what edits report, and what happens when servers end, freeze or are too many. With a scripted server."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from opencode_tui.engine.lsp.change import EditReport, FileChange
from opencode_tui.engine.lsp.connection import ServerGoneError
from opencode_tui.engine.lsp.diagnostics import FileErrors, errors_of, new_errors
from opencode_tui.engine.lsp.document import MAX_BYTES
from opencode_tui.engine.lsp.language_servers import Mode, ServerOptions
from opencode_tui.engine.lsp.symbols import FoundSymbol
from tests.support.lsp.world import Bench
from tests.support.world.waiting import PATIENCE_S


@asynccontextmanager
async def bench(
    tmp_path: Path, environ: dict[str, str], *modes: str, options: ServerOptions | None = None
) -> AsyncGenerator[Bench]:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Bench(folder, environ, modes or ("pull",), options)
    try:
        yield made
    finally:
        await made.servers.close()
        for pid in made.pids() if made.log.exists() else ():
            with pytest.raises(ProcessLookupError):
                os.killpg(pid, 0)


@pytest.mark.slow_cases("silent")
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


@pytest.mark.parametrize("kind", ["pull", "push"])
async def test_a_server_that_cuts_a_character_in_half_is_read_and_goes_on(
    tmp_path: Path, environ: dict[str, str], kind: str
) -> None:
    """JSON.stringify writes such a half as an escape: ECMA-262, 15th edition, 25.5.2.3 QuoteJSONString."""
    async with bench(tmp_path, environ, kind, "cut") as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        assert (await world.edit("a.bug", "new BUG\n")).text == "a.bug:1:5: a bug \ufffd [bug]"
        assert (await world.edit("a.bug", "BUG\n")).text == "a.bug:1:1: a bug \ufffd [bug]"
        assert len(world.pids()) == 1


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
        first = await world.edit("a.bug", "old BUG\nnew BUG\n")
        assert (first.text, first.unchecked) == ("", ["scripted"])
        assert "Not checked yet: scripted is starting" in first.message
        await world.idle()
        report = await world.edit("b.bug", "fine\n")
        assert report.text == "a.bug:2:5: a bug [bug]\n(1 older error in a.bug not shown)"
        assert (report.unchecked, (await world.servers.postponed_errors("ses_1")).text) == ([], "")


@pytest.mark.parametrize("kind", ["pull", "push", "silent"])
async def test_what_a_cold_server_finds_is_reported_once_and_to_the_session_of_the_edit(
    tmp_path: Path, environ: dict[str, str], kind: str
) -> None:
    async with bench(tmp_path, environ, kind, "held") as world:
        world.write("a.bug", "old BUG\n")
        assert (await world.edit("a.bug", "old BUG\nnew BUG\n")).unchecked == ["scripted"]
        assert (await world.servers.postponed_errors("ses_1", limit_s=PATIENCE_S)).text == ""  # not known yet
        world.let_start()
        await world.idle()
        assert (await world.servers.postponed_errors("ses_2", limit_s=PATIENCE_S)).text == ""
        found = await world.servers.postponed_errors("ses_1", limit_s=PATIENCE_S)
        assert found.text == "a.bug:2:5: a bug [bug]\n(1 older error in a.bug not shown)"
        assert (await world.servers.postponed_errors("ses_1", limit_s=PATIENCE_S)).text == ""
        assert (await world.edit("a.bug", "old BUG\nnew BUG\nmore BUG\n")).text.startswith("a.bug:3:6: a bug")


async def test_a_cold_server_of_a_correct_edit_reports_nothing_later(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "pull", "held") as world:
        world.write("a.bug", "old BUG\n")
        assert (await world.edit("a.bug", "fine\n")).unchecked == ["scripted"]
        assert (await world.edit("a.bug", "now BUG\n")).unchecked == ["scripted"]
        assert (await world.edit("a.bug", "fine\n")).unchecked == ["scripted"]
        world.let_start()
        await world.idle()
        assert (await world.servers.postponed_errors("ses_1", limit_s=PATIENCE_S)).text == ""


async def test_a_server_that_cannot_start_leaves_nothing_to_wait_for(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "crash") as world:
        world.write("a.bug", "fine\n")
        assert (await world.edit("a.bug", "BUG\n")).unchecked == ["scripted"]
        await world.idle()
        assert (await world.servers.postponed_errors("ses_1", limit_s=PATIENCE_S)).text == ""
        assert (await world.edit("a.bug", "BUG 2\n")).message == ""


async def test_errors_in_a_new_file_are_new_and_a_deleted_file_is_closed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        path = world.folder / "b.bug"
        assert "b.bug:1:1: a bug" in (await world.edit("b.bug", "BUG\n")).text
        path.unlink()
        await world.servers.after_edit([FileChange(path, "BUG\n", None)], "ses_1", limit_s=PATIENCE_S)
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


@pytest.mark.slow
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
        assert (state.status, state.detail) == ("error", "it ended 2 times in 5 minutes; restart it with /lsp")
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
        async with asyncio.timeout(PATIENCE_S):
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


@pytest.mark.slow
@pytest.mark.parametrize(("idle_s", "is_running"), [(0, True), (599, True), (600, True), (601, False), (7200, False)])
async def test_a_server_without_use_is_stopped_and_starts_again_when_it_is_needed(
    tmp_path: Path, environ: dict[str, str], *, idle_s: float, is_running: bool
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        world.clock = 1000
        await world.read("a.bug")
        world.clock += idle_s
        await world.servers.apply_limits()
        [state] = await world.servers.states()
        assert (state.status, state.detail, bool(world.servers.running())) == (
            ("connected" if is_running else "stopped"),
            "",
            is_running,
        )
        await world.read("a.bug")
        assert len(world.pids()) == (1 if is_running else 2)
        assert (await world.edit("a.bug", "BUG\n")).text == "a.bug:1:1: a bug [bug]"


async def test_an_edit_counts_as_use(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        for _ in range(3):
            world.clock += 500
            await world.edit("a.bug", f"{world.clock}\n")
            await world.servers.apply_limits()
        assert len(world.servers.running()) == len(world.pids()) == 1


async def test_a_server_that_uses_too_much_memory_is_stopped_and_says_so(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ, options=ServerOptions(memory=100_000)) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        updates = world.updates
        await world.servers.apply_limits()
        [state] = await world.servers.states()
        assert state.status == "error"
        assert re.fullmatch(r"it used 0\.\d GB of memory, more than 0\.0001 GB; restart it with /lsp", state.detail)
        assert world.updates > updates
        await world.read("a.bug")
        assert (await world.edit("a.bug", "BUG\n")).text == ""
        assert (world.servers.running(), len(world.pids())) == ([], 1)
        assert await world.servers.restart("scripted")
        await world.idle()
        assert len(world.servers.running()) == 1


async def test_the_memory_of_a_server_counts_its_children_and_is_shown(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        await world.read("a.bug")
        await world.servers.apply_limits()
        [state] = await world.servers.states()
        assert state.memory is not None and 1_000_000 < state.memory < 500_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crashes_s", "is_off"),
    [((0, 10), True), ((0, 299), True), ((0, 301), False), ((0, 301, 550), True), ((0, 400, 800, 1200), False)],
)
async def test_crashes_that_are_far_apart_do_not_count(
    tmp_path: Path, environ: dict[str, str], crashes_s: tuple[float, ...], *, is_off: bool
) -> None:
    async with bench(tmp_path, environ) as world:
        world.write("a.bug", "fine\n")
        for at in crashes_s:
            world.clock = at
            await world.read("a.bug")
            [server] = world.servers.running()
            os.kill(server.connection.pid, signal.SIGKILL)
            await server.connection.ended.wait()
            await world.servers.apply_limits()
        await world.read("a.bug")
        [state] = await world.servers.states()
        assert (state.status == "error", bool(state.detail)) == (is_off, is_off)


async def test_files_that_a_command_changed_are_made_known(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ) as world:
        for name in ("open.bug", "gone.bug", "same.bug"):
            world.write(name, "fine\n")
            await world.read(name)
        world.write("open.bug", "BUG by a command\n")
        (world.folder / "gone.bug").unlink()
        world.write("new.txt", "x")
        names = ("open.bug", "gone.bug", "same.bug", "new.txt", "never.txt", "../outside.txt")
        world.servers.files_changed(
            [world.folder / name for name in names[:-1]] + [world.folder.parent / "outside.txt"]
        )
        await world.idle()
        [server] = world.servers.running()
        assert {path.name for path in server.documents} == {"open.bug", "same.bug"}
        report = await world.edit("open.bug", "BUG by a command\nBUG by an edit\n")
        assert report.text.startswith("open.bug:2:1:")
        expected = ["2 open.bug", "3 gone.bug", "1 new.txt", "2 new.txt", "3 never.txt", "2 open.bug"]
        assert world.notices.read_text().splitlines() == expected


async def test_nothing_is_reported_before_the_end_of_a_turn_where_it_is_set_so(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with bench(tmp_path, environ, options=ServerOptions(mode="turn")) as world:
        paths = [world.write("a.bug", "old BUG\n"), world.write("b.bug", "fine\n"), world.folder / "c.bug"]
        await world.read("a.bug")
        texts = ["old BUG\nnew BUG\n", "old BUG\nnew BUG\nand BUG\n", "old BUG\nand BUG\n"]
        assert [(await world.edit("a.bug", text)).text for text in texts] == [""] * 3
        assert (await world.edit("b.bug", "still fine\n")).text == ""
        assert (await world.edit("c.bug", "BUG\n")).text == ""
        report = await world.servers.after_turn(paths, "ses_1", limit_s=PATIENCE_S)
        lines = ["a.bug:2:5: a bug [bug]", "(1 older error in a.bug not shown)", "c.bug:1:1: a bug [bug]"]
        assert report.text.splitlines() == lines
        assert list(report.diagnostics) == [str(paths[0]), str(paths[2])]
        assert (await world.servers.after_turn(paths, "ses_1", limit_s=PATIENCE_S)).text == ""
        assert (await world.servers.after_turn([], "ses_1", limit_s=PATIENCE_S)).text == ""


@pytest.mark.parametrize("mode", ["edit", "off"])
async def test_the_end_of_a_turn_reports_nothing_in_other_modes(
    tmp_path: Path, environ: dict[str, str], mode: Mode
) -> None:
    async with bench(tmp_path, environ, options=ServerOptions(mode=mode)) as world:
        path = world.write("a.bug", "fine\n")
        await world.read("a.bug")
        assert bool((await world.edit("a.bug", "BUG\n")).text) == (mode == "edit")
        assert (await world.servers.after_turn([path], "ses_1", limit_s=PATIENCE_S)).text == ""
        assert world.log.exists() == (mode == "edit")


@pytest.mark.slow
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


@pytest.mark.slow
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
        changes = [moved, FileChange(source, "old BUG\n", None)]
        report = await world.servers.after_edit(changes, "ses_1", limit_s=PATIENCE_S)
        assert report.text == "b.bug:2:5: a bug [bug]\n(1 older error in b.bug not shown)"
        assert (world.messages("textDocument/didOpen"), world.messages("textDocument/didClose")) == (2, 1)
        assert world.notices.read_text().splitlines() == ["1 b.bug", "3 a.bug"]


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


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [
        ((0, 0), (0, 9), (1, 1)),
        ((2, 0), (4, 5), (3, 5)),
        ((2, 0), (4, 0), (3, 4)),
        ((2, 0), (2, 0), (3, 3)),
        ((2, 4), (3, 0), (3, 3)),
        ((2, 4), (1, 0), (3, 2)),
    ],
)
def test_the_lines_of_a_symbol(start: tuple[int, int], end: tuple[int, int], lines: tuple[int, int]) -> None:
    places = [dict(zip(("line", "character"), place, strict=True)) for place in (start, end)]
    assert FoundSymbol("f", 12, {"start": places[0], "end": places[1]}).lines == lines


@pytest.mark.parametrize("kind", ["pull", "push", "silent"])
@pytest.mark.parametrize("mode", ["edit", "turn"])
async def test_the_end_of_a_turn_waits_for_a_server_that_is_starting(
    tmp_path: Path, environ: dict[str, str], mode: Mode, kind: str
) -> None:
    async with bench(tmp_path, environ, kind, "held", options=ServerOptions(mode=mode)) as world:
        path = world.write("a.bug", "old BUG\n")
        assert (await world.edit("a.bug", "old BUG\nnew BUG\n")).text == ""
        ending = asyncio.create_task(world.servers.after_turn([path], "ses_1", limit_s=PATIENCE_S))
        done, _ = await asyncio.wait({ending}, timeout=0.05)
        assert not done
        world.let_start()
        report = await ending
        assert report.text.splitlines()[0] == "a.bug:2:5: a bug [bug]"
        assert list(report.unchecked) == []
        assert (await world.servers.after_turn([path], "ses_1", limit_s=PATIENCE_S)).text == ""


@pytest.mark.parametrize("mode", ["edit", "turn"])
async def test_the_end_of_a_turn_names_a_server_that_is_still_starting(
    tmp_path: Path, environ: dict[str, str], mode: Mode
) -> None:
    async with bench(tmp_path, environ, "pull", "held", options=ServerOptions(mode=mode)) as world:
        path = world.write("a.bug", "old BUG\n")
        await world.edit("a.bug", "old BUG\nnew BUG\n")
        report = await world.servers.after_turn([path], "ses_1", limit_s=0.05)
        assert (report.text, list(report.unchecked)) == ("", ["scripted (it is still starting)"])
        assert (await world.servers.after_turn([], "ses_1", limit_s=0.05)).unchecked == ()
        world.let_start()
        later = await world.servers.after_turn([path], "ses_1", limit_s=PATIENCE_S)
        assert later.text.splitlines()[0] == "a.bug:2:5: a bug [bug]"


async def test_the_end_of_a_turn_of_another_session_waits_for_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, environ, "pull", "held") as world:
        path = world.write("a.bug", "old BUG\n")
        await world.edit("a.bug", "old BUG\nnew BUG\n")
        assert await world.servers.after_turn([path], "ses_2", limit_s=PATIENCE_S) == EditReport()
        world.let_start()
