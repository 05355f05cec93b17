"""Commands on a disk that hangs: they end with ctrl+c, and `doctor` names the disk."""

import signal
import time
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.faults.failing_disk import FailingDisk
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


COMMANDS = (
    ("session", "search", "first"),
    ("snapshot", "size"),
    ("debug", "snapshot", "track"),
    ("run", "second"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command))
def test_an_interruption_ends_a_command_that_the_disk_holds(
    folder: Path, environ: dict[str, str], tmp_path: Path, disk: FailingDisk, command: tuple[str, ...]
) -> None:
    with ModelServer() as server:
        settings = {"model": "fake/fake-model"}
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        assert line.run("run", "first").code == 0
        disk.slow(tmp_path / "home", PATIENCE_S * 10)
        process = line.start(*command)
        ends_at = time.monotonic() + PATIENCE_S
        while not disk.count and process.poll() is None and time.monotonic() < ends_at:
            time.sleep(0.01)
        assert disk.count, "the disk holds nothing"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) != 0
        disk.heal()
        assert line.survivors(grace_s=5) == []
        assert line.run("run", "third").code == 0


def test_run_says_that_the_session_waits_and_ends_with_an_interruption(
    folder: Path, environ: dict[str, str], tmp_path: Path, disk: FailingDisk
) -> None:
    with ModelServer() as server:
        settings = {"model": "fake/fake-model"}
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        assert line.run("run", "first").code == 0
        disk.slow(tmp_path / "home", PATIENCE_S * 10)
        words = ["-m", "opencode_tui", "run", "second"]
        with ScreenTerminal(words, folder=folder, environ=line.variables()) as terminal:
            terminal.sees("Making the session")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.ends() != 0
        disk.heal()
        assert line.survivors(grace_s=5) == []


def test_doctor_names_a_disk_that_hangs(folder: Path, environ: dict[str, str], paths: Paths, disk: FailingDisk) -> None:
    line = CommandLine(folder, {**environ, **disk.variables()})
    paths.data.mkdir(parents=True, exist_ok=True)
    disk.slow(paths.data, PATIENCE_S * 10)
    said = line.run("doctor")
    assert said.code == 1
    assert "did not store a file within" in said.stdout
