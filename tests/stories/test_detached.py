"""What runs goes on without its terminal: left by a question, a command or a hang-up, found again, and ended by itself."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from opencode_tui.storage.engine_claim import live_engines
from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, asks_for_summary
from tests.support.sessions.stored import read_store
from tests.support.terminal.screen_terminal import DEAF_S, ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.processes import is_running
from tests.support.world.repo import Repo
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


SHELL = ["-c", "import os; os.environ['PS1'] = 'SHELL> '; os.execvp('bash', ['bash', '--norc', '--noprofile'])"]
OUTSIDE = {"permission": {"bash": "ask"}}
WITHOUT_HANG_UPS = (
    "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP]); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
"""Runs a program that no hang-up reaches, as one below `nohup` before it handles the signal."""
LOOKS_INTO_ITSELF = """
import json, os, signal, sys, threading
out = sys.argv.pop()
def look(*_):
    with open(out + ".new", "w") as file:
        json.dump([one.name for one in threading.enumerate()], file)
    os.rename(out + ".new", out)
signal.signal(signal.SIGUSR1, look)
from opencode_tui.__main__ import main
sys.exit(main())
"""
"""Runs the program, which at SIGUSR1 writes the names of its threads to a file."""

Start = Callable[..., ScreenTerminal]


class Held:
    """A response whose end waits for `let_go`."""

    def __init__(self, server: ModelServer) -> None:
        self._may_end = threading.Event()
        server.script(Answer(text="begun and HELD here", holds=(("HELD", self._may_end),)))

    def begin(self, terminal: ScreenTerminal) -> None:
        """Send a prompt, and wait for the first words."""
        terminal.type("count\r")
        terminal.sees("begun and")

    def let_go(self) -> None:
        self._may_end.set()


@pytest.fixture
def held(server: ModelServer) -> Iterator[Held]:
    held = Held(server)
    yield held
    held.let_go()


def tool(command: str, **more: object) -> str:
    """Return the directive that calls bash."""
    return f"<<tool bash {json.dumps({'command': command, 'description': 'works', **more})}>>"


@pytest.fixture
def settings() -> dict[str, object]:
    return {"background": {"rest": 1}}


@pytest.fixture
def line(
    project: Repo, environ: dict[str, str], server: ModelServer, settings: dict[str, object], paths: Paths
) -> Iterator[CommandLine]:
    given = {"model": "fake/fake-model", **settings}
    line = CommandLine(project.path, environ, provider=server.config(), settings=given)
    yield line
    left = line.survivors(grace_s=PATIENCE_S)
    line.kill_survivors()
    stored = read_store(paths.storage)
    assert (left, stored.damaged, stored.strays) == ([], [], [])


@pytest.fixture
def start(line: CommandLine) -> Start:
    def open_screen(*arguments: str, size: tuple[int, int] = (110, 34), before: Sequence[str] = ()) -> ScreenTerminal:
        words = [*before, "-m", "opencode_tui", *arguments]
        return ScreenTerminal(words, folder=line.folder, environ=line.variables(), size=size)

    return open_screen


@pytest.fixture
def shell(line: CommandLine) -> Iterator[ScreenTerminal]:
    """The screen, started by a shell."""
    with ScreenTerminal(SHELL, folder=line.folder, environ=line.variables()) as terminal:
        terminal.sees("SHELL>")
        terminal.type(f"{sys.executable} -m opencode_tui\r")
        terminal.sees("Ask anything")
        yield terminal
        terminal.type("exit\r")


def detached(paths: Paths) -> int:
    """Wait for the engine to have no screen any more, and return its process."""
    wait_until(lambda: any(one.is_detached for one in live_engines(paths)))
    (engine,) = live_engines(paths)
    return engine.process.pid


def files_of(pid: int) -> list[str]:
    """Return what the descriptors of a process lead to."""
    return [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]


def has_undo(paths: Paths) -> bool:
    """Return whether the record of the only session says that its last turn is undone."""
    [session] = [json.loads(path.read_text()) for path in paths.storage.glob("session/*/*.json")]
    return "revert" in session


def test_who_quits_and_keeps_it_working_has_the_shell_again_and_returns_in_another_size(
    shell: ScreenTerminal, held: Held, start: Start, server: ModelServer, paths: Paths
) -> None:
    held.begin(shell)
    shell.press("ctrl+x", "q")
    shell.sees("keep working in the background")
    shell.answer("y")
    shell.sees("goes on in the background")
    shell.type("echo shell $((20 + 22))\r")
    shell.sees("shell 42")
    pid = detached(paths)
    if os.geteuid() == 0:  # an engine hides its descriptors from other processes of its user
        assert not [one for one in files_of(pid) if one.startswith("/dev/pts/")]
    with start("-c", size=(80, 24)) as again:
        again.sees("the engine in the background")
        assert "begun and" in again.shown() and "HELD" not in again.shown()
        held.let_go()
        again.sees("HELD here")
        again.sees("Done")
        again.press("ctrl+d", "ctrl+d")
        assert again.ends() == 0
    wait_until(lambda: not is_running(pid))
    assert len(server.requests) == 1  # nothing was asked again
    assert read_store(paths.storage).unfinished == []


def test_a_command_leaves_and_the_shell_that_brings_it_back_gets_the_terminal_again(
    shell: ScreenTerminal, held: Held, line: CommandLine, paths: Paths
) -> None:
    shell.type("/background\r")
    shell.sees("Nothing runs that could go on")
    held.begin(shell)
    shell.type("/background\r")
    shell.sees("Stopped")
    pid = detached(paths)
    shell.type("fg\r")
    shell.read_until(lambda: shell.foreground == os.getpgid(pid))
    shell.press("ctrl+c")
    shell.sees("this is the work in the background")
    shell.type("echo shell $((20 + 22))\r")
    shell.sees("shell 42")
    assert is_running(pid)
    assert line.run("stop", "--all", "--yes").code == 0


def test_where_no_shell_waits_the_terminal_says_so_and_ctrl_c_ends_it(start: Start, held: Held, paths: Paths) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        terminal.press("ctrl+x", "q")
        terminal.sees("keep working in the background")
        terminal.answer("y")
        terminal.sees("no shell waits in this terminal")
        assert detached(paths) == terminal.process.pid
        terminal.send("\x03")
        assert terminal.ends() == 0
    assert read_store(paths.storage).unfinished == []


def test_a_response_and_what_waits_in_the_queue_go_on_after_a_hang_up(
    start: Start, held: Held, server: ModelServer, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        terminal.press("ctrl+x", "j")
        terminal.sees("steer instead")
        terminal.type("then this\r")
        terminal.sees("then this")
        terminal.hang_up()
        detached(paths)
        with start("-c", size=(80, 24)) as again:
            again.sees("begun and")
            held.let_go()
            again.sees("Echo: then this")
            again.press("ctrl+d", "ctrl+d")
            assert again.ends() == 0
        assert terminal.process.wait(PATIENCE_S) == 0
    assert len(server.requests) == 2
    assert read_store(paths.storage).unfinished == []


def test_a_terminal_that_is_closed_without_a_signal_is_left_too(start: Start, held: Held, paths: Paths) -> None:
    with start(before=("-c", WITHOUT_HANG_UPS)) as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        terminal.hang_up()
        detached(paths)
        held.let_go()
        assert terminal.process.wait(PATIENCE_S) == 0
    with start("-c", before=("-c", WITHOUT_HANG_UPS)) as again:
        again.sees("HELD here")
        again.hang_up()
        again.process.wait(PATIENCE_S)
    assert read_store(paths.storage).unfinished == []


def test_a_command_goes_on_after_a_hang_up_and_runs_once(
    start: Start, line: CommandLine, server: ModelServer, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(
            f"work {tool('echo begun | tee -a log; while ! test -e go; do sleep 0.1; done; echo ended | tee -a log')}\r"
        )
        wait_until(lambda: (line.folder / "log").exists())
        terminal.hang_up()
        detached(paths)
        (line.folder / "go").touch()
        assert terminal.process.wait(PATIENCE_S) == 0
    assert (line.folder / "log").read_text() == "begun\nended\n"
    assert len(server.requests) == 2
    assert read_store(paths.storage).unfinished == []


def test_a_background_command_keeps_the_engine_after_a_hang_up(start: Start, line: CommandLine, paths: Paths) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        command = "while ! test -e go; do sleep 0.1; done; echo ended >log"
        terminal.type(f"begin {tool(command, background=True)}\r")
        terminal.sees("Done")
        terminal.hang_up()
        detached(paths)
        (line.folder / "go").touch()
        assert terminal.process.wait(PATIENCE_S) == 0
    assert (line.folder / "log").read_text() == "ended\n"


@pytest.mark.parametrize("settings", [{"background": {"rest": 1}, **OUTSIDE}])
def test_a_question_waits_through_a_hang_up_and_is_answered_once(
    start: Start, line: CommandLine, server: ModelServer, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(f"work {tool('echo once | tee -a log')}\r")
        terminal.sees("echo once")
        terminal.sees("run once")
        terminal.hang_up()
        detached(paths)
        assert not (line.folder / "log").exists()
        with start("-c", size=(90, 30)) as again:
            again.sees("run once")
            again.answer("y")
            again.sees("Done")
            again.press("ctrl+d", "ctrl+d")
            assert again.ends() == 0
        assert terminal.process.wait(PATIENCE_S) == 0
    assert (line.folder / "log").read_text() == "once\n"
    assert len(server.requests) == 2


@pytest.mark.parametrize("settings", [{"background": {"rest": 1}, **OUTSIDE}])
def test_two_terminals_that_come_back_answer_at_the_same_moment_and_the_command_runs_once(
    start: Start, line: CommandLine, server: ModelServer, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(f"work {tool('echo once | tee -a log')}\r")
        terminal.sees("run once")
        terminal.hang_up()
        detached(paths)
        with start("-c", size=(90, 30)) as first, start("-c", size=(70, 24)) as second:
            for one in (first, second):
                one.sees("run once")
                one.read_for(DEAF_S)
            first.press("y")
            second.press("y")
            for one in (first, second):
                one.sees("Done")
                one.sees_no_more("run once")
            for one in (first, second):
                one.press(
                    "ctrl+u", "ctrl+d", "ctrl+d"
                )  # the letter of the later one is text where the question was gone
                assert one.ends() == 0
        assert terminal.process.wait(PATIENCE_S) == 0
    assert (line.folder / "log").read_text() == "once\n"
    assert len(server.requests) == 2


def test_a_compaction_goes_on_after_a_hang_up(start: Start, server: ModelServer, paths: Paths) -> None:
    may_end = threading.Event()
    server.summary_answers.append(Answer(text="the pineapple HELD", holds=(("HELD", may_end),)))
    try:
        with start() as terminal:
            terminal.sees("Ask anything")
            terminal.type("remember the pineapple\r")
            terminal.sees("✓ Done")
            terminal.type("/compact\r")
            terminal.read_until(lambda: any(map(asks_for_summary, server.bodies)))
            terminal.hang_up()
            detached(paths)
            may_end.set()
            assert terminal.process.wait(PATIENCE_S) == 0
    finally:
        may_end.set()
    messages = [json.loads(path.read_text()) for path in paths.storage.glob("message/*/*.json")]
    assert [one["finish"] for one in messages if one.get("summary") is True] == ["stop"]
    assert sum(map(asks_for_summary, server.bodies)) == 1
    [session] = [json.loads(path.read_text()) for path in paths.storage.glob("session/*/*.json")]
    assert "compacting" not in session["time"]
    assert read_store(paths.storage).unfinished == []


def test_an_undo_is_whole_or_not_begun_after_a_hang_up_in_the_middle_of_it(
    start: Start, line: CommandLine, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type(f"make {tool('for n in $(seq 300); do echo $n >made$n; done')}\r")
        terminal.sees("✓ Done")
        terminal.press("ctrl+x", "u")
        terminal.sees("300 files")
        terminal.answer("y")
        terminal.hang_up()
        terminal.process.wait(PATIENCE_S)
    with start("-c", size=(90, 30)) as again:
        again.sees("Ask anything")
        wait_until(lambda: (has_undo(paths), len(list(line.folder.glob("made*")))) in ((True, 0), (False, 300)))
        again.press("ctrl+d", "ctrl+d")
        assert again.ends() == 0
    assert read_store(paths.storage).unfinished == []


def test_no_thread_of_the_screen_is_left_in_an_engine_without_a_terminal(
    line: CommandLine, held: Held, paths: Paths, tmp_path: Path
) -> None:
    found = tmp_path / "found"

    def look(pid: int) -> set[str]:
        found.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR1)
        wait_until(found.exists)
        return set(json.loads(found.read_text()))

    words = ["-c", LOOKS_INTO_ITSELF, str(found)]
    with ScreenTerminal(words, folder=line.folder, environ=line.variables()) as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        assert {"textual-output", "engine"} <= look(terminal.process.pid)
        terminal.hang_up()
        pid = detached(paths)
        for number in (signal.SIGSTOP, signal.SIGCONT):  # what continues it does not bring the screen back
            os.kill(pid, number)
        threads = look(pid)
        assert "engine" in threads
        assert not {"textual-output", "textual-input"} & threads
        held.let_go()
        assert terminal.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("settings", [{"background": {"hangup": False}}])
def test_with_the_setting_off_a_hang_up_ends_the_turn(start: Start, held: Held, paths: Paths) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        terminal.hang_up()
        terminal.process.wait(PATIENCE_S)
    assert read_store(paths.storage).unfinished == []


def test_a_killed_engine_without_a_terminal_leaves_whole_records_and_is_listed_as_stopped(
    start: Start, held: Held, line: CommandLine, paths: Paths
) -> None:
    with start() as terminal:
        terminal.sees("Ask anything")
        held.begin(terminal)
        terminal.hang_up()
        os.kill(detached(paths), signal.SIGKILL)
        terminal.process.wait(PATIENCE_S)
    assert json.loads(line.run("ps", "--format", "json").stdout)[0]["state"] == "stopped"
    with start("-c") as again:
        again.sees("Session ended unexpectedly")
        again.type("go on\r")
        again.sees("go on")
        again.sees("Done")
        again.press("ctrl+d", "ctrl+d")
        assert again.ends() == 0
    assert read_store(paths.storage).unfinished == []
