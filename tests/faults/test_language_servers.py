"""Language servers that stall, break off or send nonsense: edits and questions end in time, and nothing is left over."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from opencode_tui.engine.lsp import server as language_server
from opencode_tui.engine.lsp.connection import ServerGoneError
from tests.faults.conftest import CANCEL_S, quickest
from tests.support.faults import pipe
from tests.support.lsp.world import Bench
from tests.support.shell.bench import survivors
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


EDIT_S = 0.3


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """The file that controls the program that breaks pipes."""
    return tmp_path / "fault"


@pytest.fixture
def bench(tmp_path: Path, environ: dict[str, str], control: Path) -> Bench:
    folder = tmp_path / "project"
    folder.mkdir()
    return Bench(folder, environ, before=(sys.executable, "-S", pipe.__file__, str(control)))


@pytest.mark.parametrize("kind", ["stall", "drip", "garbage", "close", "exit", "deaf"])
async def test_an_edit_does_not_wait_longer_than_its_time(bench: Bench, control: Path, kind: str) -> None:
    bench.write("a.bug", "fine\n")
    await bench.read("a.bug")
    control.write_text(kind)

    async def measure() -> float:
        watch = Stopwatch()
        assert (await bench.edit("a.bug", f"BUG {time.monotonic()}\n", limit_s=EDIT_S)).text == ""
        return watch.seconds - EDIT_S

    assert await quickest(measure) < CANCEL_S
    watch = Stopwatch()
    await bench.servers.close()
    assert watch.seconds < 10


async def test_a_server_that_does_not_start_has_a_deadline_and_a_reason(
    bench: Bench, control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_server, "START_S", 0.3)
    control.write_text("stall")
    path = bench.write("a.bug", "fine\n")
    with pytest.raises(ServerGoneError, match="scripted is off: "):
        await bench.servers.server_for(path, limit_s=PATIENCE_S)
    await bench.servers.close()


async def test_a_question_to_a_server_that_does_not_start_is_canceled_at_once(bench: Bench, control: Path) -> None:
    control.write_text("stall")
    path = bench.write("a.bug", "fine\n")

    async def measure() -> float:
        question = asyncio.create_task(bench.servers.server_for(path, limit_s=PATIENCE_S))
        await asyncio.sleep(0.1)
        watch = Stopwatch()
        question.cancel()
        await asyncio.wait({question})
        return watch.seconds

    assert await quickest(measure) < CANCEL_S
    await bench.servers.close()


@pytest.fixture
def real(tmp_path: Path, environ: dict[str, str], control: Path) -> Bench:
    """A folder with the language server of basedpyright."""
    folder = tmp_path / "project"
    folder.mkdir()
    before = (sys.executable, "-S", pipe.__file__, str(control))
    program = (str(Path(sys.executable).with_name("basedpyright-langserver")), "--stdio")
    return Bench(folder, environ, before=before, program=program, extension=".py")


@pytest.mark.parametrize("kind", ["stall", "drip", "garbage", "close", "deaf"])
async def test_a_real_server_that_breaks_while_it_starts_has_a_deadline_and_a_reason(
    real: Bench, control: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(language_server, "START_S", 2)  # whole, it needs 0.7 s
    control.write_text(kind)
    path = real.write("a.py", "x = 1\n")
    with pytest.raises(ServerGoneError, match="scripted is off: "):
        await real.servers.server_for(path, limit_s=PATIENCE_S)
    watch = Stopwatch()
    await real.servers.close()
    assert watch.seconds < 10
    assert survivors(str(control)) == []


async def test_an_edit_does_not_wait_for_a_real_server_that_breaks(real: Bench, control: Path) -> None:
    real.write("a.py", "x = 1\n")
    await real.read("a.py")
    assert "reportAssignmentType" in (await real.edit("a.py", "x: int = 'wrong'\n", limit_s=PATIENCE_S)).text
    for kind in ("stall", "deaf"):
        control.write_text(kind)

        async def measure() -> float:
            watch = Stopwatch()
            await real.edit("a.py", f"x: int = '{time.monotonic()}'\n", limit_s=EDIT_S)
            return watch.seconds - EDIT_S

        assert await quickest(measure) < CANCEL_S
        control.unlink()
    await real.servers.close()
    assert survivors(str(control)) == []


async def test_a_symbol_that_a_server_does_not_answer_is_not_waited_for(bench: Bench, control: Path) -> None:
    path = bench.write("a.bug", "fine\n")
    await bench.read("a.bug")
    assert len(bench.servers.running()) == 1
    control.write_text("stall")
    assert await bench.servers.find_symbol(path, name="x", line=None, limit_s=EDIT_S) is None

    async def measure() -> float:
        asking = asyncio.create_task(bench.servers.find_symbol(path, name="x", line=None, limit_s=PATIENCE_S))
        await asyncio.sleep(0.05)
        assert not asking.done()
        watch = Stopwatch()
        asking.cancel()
        await asyncio.wait({asking})
        return watch.seconds

    assert await quickest(measure) < CANCEL_S
    await bench.servers.close()
