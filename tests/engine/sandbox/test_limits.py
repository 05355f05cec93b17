"""What a command may use at most: in tier A, in tier B, and outside the sandbox."""

import os
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.sandbox.limits import Limits, find_limits, machine_memory, parse_size
from opencode_tui.engine.tool.process.limit_watch import MOST_SESSIONS
from opencode_tui.schema.api.limit import ReachedLimit, format_size
from tests.engine.sandbox.confined import Confined
from tests.engine.sandbox.conftest import require
from tests.support.shell.bench import new_token, survivors
from tests.support.world.machine import PYTHON
from tests.support.world.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")

MB = 1 << 20


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Confined:
    return Confined("none", tmp_path) if request.param == "none" else require(request.param, tmp_path)


@pytest.fixture
def plain(tmp_path: Path) -> Confined:
    return Confined("none", tmp_path)


def until_limited(name: str) -> str:
    """Return a command line that waits until the shell has a limit, as that comes a moment after its start."""
    return f"while [ $(ulimit -{name}) = unlimited ]; do sleep 0.02; done"


def python(source: str) -> str:
    """Return a command line that runs a program; it must not become the shell's only process."""
    return f"{shlex.quote(PYTHON)} -I -S -c {shlex.quote(source)}; true"


def end_by_processes(commands: Confined, text: str) -> None:
    token = new_token()
    ended, _ = commands.run(text.format(n=token), limits=Limits(processes=30))
    assert (ended.reason, ended.exit_code) == ("limit", None)
    assert ended.limit == ReachedLimit(kind="processes", value=30)
    assert survivors(token) == []


@pytest.mark.slow
def test_a_command_with_too_many_processes_ends_with_all_of_them(held: Confined) -> None:
    end_by_processes(held, "for one in {{1..40}}; do sleep {n} & done; wait")


@pytest.mark.slow
@pytest.mark.parametrize("start", ["setsid sleep {n} &", "(setsid sleep {n} &);", "env -i setsid -f sleep {n};"])
def test_processes_that_leave_the_session_count_too(landlock: Confined, start: str) -> None:
    end_by_processes(landlock, "for one in {{1..40}}; do " + start + " done; sleep {n}")


@pytest.mark.slow
def test_a_crowd_of_sessions_ends_where_each_has_a_share_of_its_own(held: Confined) -> None:
    token = new_token()
    spin = (
        f"ulimit -t 20; exec -a {token} bash -c 'while :; do :; done'"  # they end by themselves if this test is killed
    )
    text = f"for one in $(seq {MOST_SESSIONS + 8}); do setsid nice -n 19 bash -c {shlex.quote(spin)} & done; sleep 60"
    shares = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not (shares.exists() and shares.read_text().strip() == "1"):
        pytest.skip("the kernel does not share the cores among sessions here")
    ended, _ = held.run(text, limits=Limits(processes=2_000))
    assert ended.limit == ReachedLimit(kind="sessions", value=MOST_SESSIONS)
    assert survivors(token) == []


@pytest.mark.slow
def test_a_command_that_ends_at_its_limit_leaves_another_alone(tmp_path: Path) -> None:
    """The processes of both have lost their parents and lead sessions of their own."""
    (tmp_path / "other").mkdir()
    other = Confined("none", tmp_path / "other")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            other.run,
            "for one in 1 2 3; do (setsid sleep 1.5 &); done; sleep 2; echo done",
            limits=Limits(processes=100),
        )
        end_by_processes(Confined("none", tmp_path), "for one in {{1..40}}; do (setsid sleep {n} &); done; sleep {n}")
        ended, output = waiting.result()
    assert (ended.limit, ended.exit_code, output) == (None, 0, "done\n")


@pytest.mark.slow
def test_this_program_has_its_former_share_of_the_cores_after_a_busy_command(plain: Confined) -> None:
    file = Path("/proc/self/autogroup")

    def share() -> str:
        return file.read_text() if file.exists() else ""

    wait_until(lambda: "nice -" not in share())  # the processes of a test run have one share, and each may change it
    before = share()
    spin = "for one in $(seq $(($(nproc) * 4))); do (while :; do :; done) & done; sleep {}; kill $(jobs -p)"
    with ThreadPoolExecutor(2) as pool:  # the second is still busy when the first has ended
        runs = [pool.submit(plain.run, spin.format(seconds), limits=Limits(processes=100)) for seconds in (0.3, 0.6)]
        assert [run.result()[0].limit for run in runs] == [None, None]
    wait_until(lambda: share() == before)


def test_threads_count_too(plain: Confined) -> None:
    start = "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"
    source = f"import threading, time\nfor _ in range(60): {start}\ntime.sleep(30)"
    ended, _ = plain.run(python(source), limits=Limits(processes=12))
    assert ended.limit == ReachedLimit(kind="threads", value=48)


@pytest.mark.slow
def test_one_process_reaches_the_limit_of_memory(held: Confined) -> None:
    ended, _ = held.run(
        python("import time; kept = bytearray(b'x') * (160 << 20); time.sleep(30)"), limits=Limits(memory=128 * MB)
    )
    assert (ended.reason, ended.limit) == ("limit", ReachedLimit(kind="memory", value=128 * MB))


@pytest.mark.slow
def test_the_memory_of_all_processes_counts_together(plain: Confined) -> None:
    one = python("import time; kept = bytearray(b'x') * (48 << 20); time.sleep(30)")
    ended, _ = plain.run(f"({one}) & ({one}) & ({one}) & wait", limits=Limits(memory=128 * MB))
    assert ended.limit == ReachedLimit(kind="memory", value=128 * MB)


@pytest.mark.slow
def test_memory_that_processes_share_counts_once(plain: Confined) -> None:
    source = "import os, time; kept = bytearray(b'x') * (64 << 20); [os.fork() for _ in range(3)]; time.sleep(0.6)"
    ended, _ = plain.run(python(source), limits=Limits(memory=256 * MB))
    assert (ended.reason, ended.exit_code, ended.limit) == ("exit", 0, None)


@pytest.mark.slow
def test_files_in_memory_count_in_a_namespace(bubblewrap: Confined) -> None:
    ended, _ = bubblewrap.run("head -c 160M /dev/zero > /dev/shm/file; sleep 30", limits=Limits(memory=128 * MB))
    assert ended.limit == ReachedLimit(kind="memory", value=128 * MB)


def test_reserved_memory_does_not_count(plain: Confined) -> None:
    source = "import mmap, time; kept = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | 0x4000); time.sleep(0.3)"
    assert plain.run(python(source), limits=Limits(memory=128 * MB))[0].exit_code == 0


@pytest.mark.slow
def test_an_endless_file_ends(held: Confined) -> None:
    ended, _ = held.run(f"{until_limited('f')}; yes > endless", limits=Limits(file_size=32 * MB))
    assert ended.limit == ReachedLimit(kind="file_size", value=32 * MB)
    assert 0 < (held.project / "endless").stat().st_size <= 64 * MB


@pytest.mark.slow
def test_an_endless_file_ends_the_rest_of_the_line_too(plain: Confined) -> None:
    part = "head -c 4M /dev/zero; sleep 0.02"
    ended, output = plain.run(f"while :; do {part}; done > endless; echo went on", limits=Limits(file_size=48 * MB))
    assert ended.reason == "limit" and "went on" not in output


@pytest.mark.slow
def test_an_endless_file_ends_while_free_space_grows(plain: Confined) -> None:
    with (plain.project / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 128 * MB)
    part = "head -c 4M /dev/zero; sleep 0.02"
    text = f"sleep 0.3; rm ballast; while :; do {part}; done > endless"
    ended, _ = plain.run(text, limits=Limits(file_size=48 * MB))
    assert ended.limit == ReachedLimit(kind="file_size", value=48 * MB)


@pytest.mark.slow
def test_a_large_file_that_a_command_only_reads_does_not_count(plain: Confined) -> None:
    with (plain.project / "large").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 128 * MB)
    text = "exec 3<large; head -c 32M /dev/zero >part; cat part part >other & wait; sleep 1.2; echo done"
    ended, output = plain.run(text, limits=Limits(file_size=96 * MB))
    assert (ended.reason, ended.limit, output) == ("exit", None, "done\n")


def test_a_program_that_ignores_the_kernels_signal_ends_too(plain: Confined) -> None:
    source = (
        "import time\nwith open('endless', 'wb') as file:\n    while True: file.write(bytes(8 << 20)); time.sleep(0.02)"
    )
    ended, _ = plain.run(python(source), limits=Limits(file_size=96 * MB))
    assert ended.limit == ReachedLimit(kind="file_size", value=96 * MB)


def test_the_kernel_holds_the_size_of_a_file(plain: Confined) -> None:
    ended, _ = plain.run(f"{until_limited('f')}; exec truncate -s 200M sparse", limits=Limits(file_size=64 * MB))
    assert (ended.reason, ended.exit_code, ended.limit) == ("exit", 153, ReachedLimit(kind="file_size", value=64 * MB))


def test_open_files_are_limited_for_each_process(held: Confined) -> None:
    ended, output = held.run(
        "until [ $(ulimit -Hn) = 90 ]; do sleep 0.02; done; ulimit -Hn; ulimit -n 100", limits=Limits(open_files=90)
    )
    assert output.splitlines()[0] == "90"
    assert ended.exit_code != 0


@pytest.mark.slow
def test_a_command_below_its_limits_ends_as_without_them(plain: Confined) -> None:
    limits = Limits(memory=512 * MB, processes=100, file_size=64 * MB, open_files=200)
    ended, output = plain.run("sleep 0.3 & sleep 0.3; wait; echo done; exit 3", limits=limits)
    assert (ended.reason, ended.exit_code, ended.limit, output) == ("exit", 3, None, "done\n")


@pytest.mark.slow
def test_programs_give_way_once_they_are_more_than_the_cores(plain: Confined) -> None:
    spin = "for one in $(seq $(($(nproc) + 2))); do (while :; do :; done) & done; until [ $(nice) = 10 ]; do sleep 0.05; done; "
    ended, output = plain.run(f"{spin} nice; bash -c nice; kill $(jobs -p)", limits=Limits(processes=100))
    assert output.split()[-1] == "10"
    assert ended.limit is None


def test_commands_of_one_program_have_different_limits_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """By it a process that has lost everything else is known; fewer threads for each next command must not make two alike."""
    present = iter(range(1_000, 0, -1))
    monkeypatch.setattr("opencode_tui.engine.sandbox.limits.count_threads", lambda: (next(present), 0))
    limits = [Limits(processes=100).for_command(Path("/")).highest_processes for _ in range(300)]
    assert len(set(limits)) == 300
    assert [least <= limit < least + 512 for least, limit in zip(range(1_400, 1_100, -1), limits, strict=True)] == [
        True
    ] * 300


def test_the_defaults_are_those_of_the_machine() -> None:
    limits = find_limits(None)
    assert (limits.memory, limits.processes, limits.open_files) == (machine_memory() // 2, 2_000, 65_536)
    disk = os.statvfs("/")
    size = limits.for_command(Path("/")).file_size
    assert size is not None
    assert abs(size - disk.f_bavail * disk.f_frsize // 2) < 1 << 30


def test_zero_and_none_are_no_limit() -> None:
    settings = SandboxSettings(memory="none", processes=0, file_size="none", open_files=0)
    assert find_limits(settings) == Limits()


@pytest.mark.parametrize(("text", "size"), [("8 GB", 8 << 30), ("1.5GB", 3 << 29), ("512 MB", 512 << 20), ("none", 0)])
def test_a_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(8 << 30, "8 GB"), (3 << 29, "1.5 GB"), (512 << 20, "512 MB"), (12_630_000_000, "11.8 GB"), (7, "7 bytes")],
)
def test_a_size_is_shown(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (ReachedLimit(kind="memory", value=8 << 30), "stopped at 8 GB of memory"),
        (ReachedLimit(kind="processes", value=2_000), "stopped at 2,000 processes"),
        (ReachedLimit(kind="file_size", value=10 << 30), "stopped: a file reached 10 GB"),
    ],
)
def test_the_words_name_the_limit(limit: ReachedLimit, words: str) -> None:
    assert limit.words == words
