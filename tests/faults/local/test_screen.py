"""A disk that fails under the screen: it says so, answers keys, goes on when the disk works, and says what quitting loses."""

import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.faults.failing_disk import FailingDisk
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def hold_an_answer(server: ModelServer) -> threading.Event:
    """Let the next answer be `begun the-end`, whose end waits for the event."""
    go_on = threading.Event()
    server.script(Answer(text="begun the-end", holds=(("the-end", go_on),)))
    return go_on


def test_checks_in_a_folder_that_was_deleted_say_so_and_other_pages_open(folder: Path, environ: dict[str, str]) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, environ, provider=server.config(), settings=settings)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            terminal.sees("fake-model")
            shutil.rmtree(folder)
            terminal.type("/doctor\r")
            terminal.reads("no longer exists; quit")
            terminal.type("/config\r")
            terminal.sees("Settings")
            terminal.press("escape")
            terminal.sees("Ask anything")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0
        assert line.survivors(grace_s=5) == []


def test_quitting_while_the_disk_is_full_says_what_is_not_stored(
    folder: Path, environ: dict[str, str], paths: Paths, disk: FailingDisk
) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            go_on = hold_an_answer(server)
            terminal.sees("fake-model")
            terminal.type("first\r")
            terminal.sees("begun")
            disk.fail(paths.data, "full")
            go_on.set()
            terminal.reads("free some space")  # where the row ends depends on the folder's name
            terminal.sees("Stopped")
            terminal.type("a draft")
            terminal.sees("a draft")
            disk.heal()
            terminal.press("enter")
            terminal.sees("Echo: ")
            terminal.sees("Done")

            go_on = hold_an_answer(server)
            terminal.type("second\r")
            terminal.read_until(lambda: terminal.shown().count("begun") == 2)
            disk.fail(paths.data, "full")
            go_on.set()
            terminal.sees("Stopped")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 1
            said = " ".join(bytes(terminal.raw).decode(errors="replace").split())
            assert "what happened last could not be stored: cannot write" in said
            assert "TaskGroup" not in said
        assert line.survivors(grace_s=5) == []


def test_quitting_while_the_disk_hangs_ends_and_nothing_is_left_running(
    folder: Path, environ: dict[str, str], paths: Paths, disk: FailingDisk
) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            terminal.sees("fake-model")
            disk.slow(paths.storage, PATIENCE_S * 10)
            terminal.type("first\r")
            terminal.read_until(lambda: disk.count > 0)
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.ends() != 0
        disk.heal()
        assert line.survivors(grace_s=5) == []
        assert line.run("run", "second").code == 0
    assert read_store(paths.storage).unfinished == []


def test_a_prompt_that_waits_for_a_disk_that_hangs_is_named_and_given_back(
    folder: Path, environ: dict[str, str], tmp_path: Path, disk: FailingDisk
) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            terminal.sees("fake-model")
            terminal.type("first\r")
            terminal.sees("Done")
            disk.slow(tmp_path / "home", PATIENCE_S * 10)
            terminal.type("second\r")
            terminal.sees("Sending the prompt")
            assert "second" not in terminal.shown()
            terminal.press("escape")
            terminal.sees("second")
            terminal.read_until(lambda: "Sending" not in terminal.shown())
            disk.heal()
            terminal.press("enter")
            terminal.read_until(lambda: terminal.shown().count("Echo: ") == 2)
            terminal.sees("Done")  # a turn that runs is asked about
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0
        assert line.survivors(grace_s=5) == []


@pytest.mark.parametrize("sent", ["", "second\r"])
def test_the_screen_ends_although_the_disk_takes_neither_a_draft_nor_the_time(
    folder: Path, environ: dict[str, str], tmp_path: Path, disk: FailingDisk, sent: str
) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config(), settings=settings)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            terminal.sees("fake-model")
            terminal.type("first\r")
            terminal.sees("Done")
            disk.slow(tmp_path / "home", PATIENCE_S * 10)
            if sent:
                terminal.type(sent)
                terminal.sees("Sending the prompt")
            terminal.type("a draft")
            terminal.sees("a draft")
            terminal.press("ctrl+x", "q")
            if sent:
                terminal.sees("stop and quit")
                terminal.answer("s")
            terminal.ends()
            said = bytes(terminal.raw).decode(errors="replace")
            assert f"what you typed could not be stored: {sent.replace(chr(13), ' ')}a draft" in said
        disk.heal()
        assert line.survivors(grace_s=5) == []


def test_a_draft_that_a_full_disk_does_not_store_is_shown_when_the_screen_ends(
    folder: Path, environ: dict[str, str], paths: Paths, disk: FailingDisk
) -> None:
    line = CommandLine(folder, {**environ, **disk.variables()})
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
        terminal.sees("demo")
        disk.fail(paths.state, "full")
        terminal.paste("a draft\nof two lines")
        terminal.sees("of two lines")
        terminal.press("ctrl+x", "q")
        terminal.ends()
        assert "what you typed could not be stored: a draft of two lines" in bytes(terminal.raw).decode(
            errors="replace"
        )


@pytest.mark.parametrize("place", ["home", "home/.local/share/opencode-tui/storage"])
def test_quitting_while_the_disk_hangs_at_the_start_ends(
    folder: Path, environ: dict[str, str], tmp_path: Path, disk: FailingDisk, place: str
) -> None:
    with ModelServer() as server:
        line = CommandLine(folder, {**environ, **disk.variables()}, provider=server.config())
        disk.slow(tmp_path / place, PATIENCE_S * 10)
        with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
            terminal.sees("Opening")
            terminal.read_until(lambda: disk.count > 0)
            terminal.press("ctrl+x", "q")
            terminal.ends()
            assert disk.count > 0
            assert "another process" not in bytes(terminal.raw).decode(errors="replace")
        disk.heal()
        assert line.survivors(grace_s=5) == []
