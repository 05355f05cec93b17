"""What commands of one folder do to each other's mounts, and what happens when a mounted file is replaced from outside."""

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.git_settings import same_but_tracking
from opencode_tui.engine.sandbox.launch import Launch
from opencode_tui.engine.sandbox.mounts import MountsChangedError
from opencode_tui.engine.sandbox.refusal import HostView
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess
from opencode_tui.storage.safe_folder import Disk, NotAFolderError
from tests.engine.sandbox.confined import Confined
from tests.support.world.machine import PYTHON
from tests.support.world.waiting import PATIENCE_S

RENAME_EXCHANGE = 2


def plan(confined: Confined, text: str) -> Launch:
    return confined.plan(("/bin/bash", "-c", "--", text))


def start(confined: Confined, launch: Launch, feed: Callable[[bytes], None], cancel: int) -> Ended:
    command = Command("", confined.project, confined.policy.environ, 20_000, "/bin/bash", launch)
    return ShellProcess(command, feed, cancel=cancel).run()


def run_planned(confined: Confined, launch: Launch) -> tuple[Ended, str]:
    """Run a launch that was planned before and return how it ended, and its output."""
    pieces: list[bytes] = []
    cancel, end = os.pipe()
    try:
        return start(confined, launch, pieces.append, cancel), b"".join(pieces).decode(errors="replace")
    finally:
        os.close(cancel)
        os.close(end)


class Background:
    """A command that runs beside others; its output until now, and its end."""

    def __init__(self, confined: Confined, text: str) -> None:
        self.output = b""
        self.launch = plan(confined, text)
        self._cancel, self._end = os.pipe()
        self._seen = threading.Condition()
        self._confined = confined
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.ended = start(self._confined, self.launch, self._feed, self._cancel)

    def _feed(self, data: bytes) -> None:
        with self._seen:
            self.output += data
            self._seen.notify_all()

    def wait_for(self, text: bytes) -> None:
        with self._seen:
            assert self._seen.wait_for(lambda: text in self.output, PATIENCE_S), self.output

    def wait(self) -> Ended:
        self._thread.join(PATIENCE_S)
        return self.ended

    def stop(self) -> None:
        os.write(self._end, b"!")
        self._thread.join()
        os.close(self._cancel)
        os.close(self._end)


@contextmanager
def beside(confined: Confined, text: str) -> Generator[Background]:
    running = Background(confined, text)
    try:
        yield running
    finally:
        running.stop()


def exchange(one: Path, other: Path) -> None:
    """Swap two paths at once."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = -100
    if libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


@pytest.mark.slow
def test_a_folder_that_is_exchanged_with_a_link_all_the_time_is_open_or_none(tmp_path: Path) -> None:
    """A look-up finds one of both, or that it changed; each is an answer, and no other error."""
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    own = (tmp_path / "a").stat().st_ino
    is_over = threading.Event()

    def exchange_all_the_time() -> None:
        while not is_over.is_set():
            exchange(tmp_path / "a", tmp_path / "link")

    running = threading.Thread(target=exchange_all_the_time)
    running.start()
    found = {"open": 0, "none": 0}
    look = HostView()
    try:
        for _ in range(3_000):
            assert look.real(str(tmp_path / "a")) in (str(tmp_path / "a"), str(tmp_path / "outside"))
            try:
                with Disk(str(tmp_path)).open("a") as folder:
                    assert folder.descriptor is not None
                    assert os.fstat(folder.descriptor).st_ino == own
                found["open"] += 1
            except NotAFolderError:
                found["none"] += 1
    finally:
        is_over.set()
        running.join()
    assert found["open"] and found["none"]


def link_to(confined: Confined, target: Path, *, relative: bool) -> Path:
    """Return a link in the project that leads outside."""
    link = confined.project / "b"
    link.symlink_to(os.path.relpath(target, confined.project) if relative else target)
    return link


def reveal_home(confined: Confined) -> None:
    """Let the home exist inside, by a folder of tools in it."""
    tools = confined.home / ".tools"
    tools.mkdir()
    confined.limit(read=(*confined.policy.read, tools))


@pytest.fixture
def guarded(bubblewrap: Confined) -> Confined:
    """A project with a protected and a hidden file in a folder of its own each."""
    for name in ("a/.bashrc", "c/.env", ".git/config"):
        path = bubblewrap.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"CANARY {name}\n")
    project = bubblewrap.project
    bubblewrap.limit(read_only=(project / "a/.bashrc", project / ".git/config"), hidden=(project / "c/.env",))
    return bubblewrap


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("relative", [True, False])
def test_a_folder_that_became_a_link_is_not_mounted(guarded: Confined, relative: bool, is_flat: bool) -> None:
    guarded.limit(is_flat=is_flat)
    (guarded.home / ".bashrc").write_text("CANARY of the home\n")
    reveal_home(guarded)
    launch = plan(guarded, "cat b/* b/.* a/* a/.* ../home/.*; touch a/new")
    exchange(guarded.project / "a", link_to(guarded, guarded.home, relative=relative))
    try:
        output = run_planned(guarded, launch)[1]
    except MountsChangedError as error:
        output = str(error)
    assert output
    assert "CANARY of the home" not in output
    assert is_flat or sorted(os.listdir(guarded.home)) == [".bashrc", ".tools"]


@pytest.mark.parametrize("form", ["{up}/oldroot{path}", "/oldroot{path}"])
@pytest.mark.parametrize("name", ["a", "c"])
def test_no_mount_point_is_made_outside(guarded: Confined, form: str, name: str) -> None:
    """While bubblewrap mounts, the disk is reachable for it below /oldroot."""
    launch = plan(guarded, "true")
    depth = len(guarded.project.parts)
    link = guarded.project / "b"
    link.symlink_to(form.format(up="/".join([".."] * depth), path=guarded.home))
    exchange(guarded.project / name, link)
    ended = None
    with suppress(MountsChangedError):  # bubblewrap may fail by itself
        ended = run_planned(guarded, launch)[0]
    assert os.listdir(guarded.home) == []
    assert ended is None or ended.exit_code == 1


def test_a_protected_link_mounts_nothing_from_outside(bubblewrap: Confined) -> None:
    secret = bubblewrap.home / ".netrc"
    secret.write_text("CANARY\n")
    link = bubblewrap.project / ".envrc"
    link.symlink_to("../home/.netrc")
    reveal_home(bubblewrap)
    bubblewrap.limit(read_only=(link,))
    ended, output = bubblewrap.run("echo ran; cat .envrc ../home/.netrc")
    assert (ended.exit_code, "ran" in output, "CANARY" in output) == (1, True, False)


def test_a_protected_link_inside_the_project_holds_what_it_leads_to(bubblewrap: Confined) -> None:
    (bubblewrap.project / "hooks").mkdir()
    link = bubblewrap.project / ".husky"
    link.symlink_to("hooks")
    bubblewrap.limit(read_only=(link,))
    _, output = bubblewrap.run("echo x > hooks/pre-commit; echo x > .husky/pre-push; mv hooks other; ls hooks")
    assert output.count("Read-only file system") == 2
    assert "mv: cannot move" in output


def test_libraries_of_the_project_are_not_loaded_before_the_command_is_confined(bubblewrap: Confined) -> None:
    libraries = bubblewrap.project / "lib"
    libraries.mkdir()
    (libraries / "libcap.so.2").write_text("not a library")
    bubblewrap.limit(environ={**bubblewrap.policy.environ, "LD_LIBRARY_PATH": str(libraries)})
    ended, output = bubblewrap.run("echo $LD_LIBRARY_PATH")
    assert (ended.exit_code, output) == (0, f"{libraries}\n")


COVERED = "until test -e go; do sleep 0.02; done; until ! {} 2>/dev/null; do sleep 0.02; done; echo covered"


def replace(path: Path, text: str) -> None:
    """Replace a file as editors do."""
    new = path.with_name("new")
    new.write_text(text)
    new.rename(path)


@pytest.mark.fast_cases(".git/config-one stage", ".git/config-two stages")
@pytest.mark.parametrize("way", ["two stages", "one stage", "view"])
@pytest.mark.parametrize("name", ["c/.env", ".git/config"])
def test_a_file_that_is_replaced_while_a_command_runs_is_covered_again(guarded: Confined, name: str, way: str) -> None:
    guarded.limit(is_flat=way == "one stage")
    guarded.is_prepared = way == "view"
    path = guarded.project / name
    attempt = "cat c/.env" if name == "c/.env" else "true >> .git/config"
    with beside(guarded, f"echo begun; {COVERED.format(attempt)}") as running:
        assert running.launch.mounts is not None
        running.launch.mounts.accepts = lambda path, content: (path, content) == (str(path), b"new")
        running.wait_for(b"begun")
        replace(path, "new")
        (guarded.project / "go").touch()
        assert running.wait().exit_code == 0
    assert b"covered" in running.output
    assert b"The command was ended" not in running.output
    assert path.read_text() == "new"
    assert not running.launch.mounts.holds(path)


def test_a_file_that_is_removed_while_a_command_runs_needs_no_cover(guarded: Confined) -> None:
    with beside(guarded, "echo begun; until test -e go; do sleep 0.02; done; cat a/.bashrc") as running:
        running.wait_for(b"begun")
        (guarded.project / "c/.env").unlink()
        (guarded.project / "go").touch()
        assert running.wait().exit_code == 0
    assert b"CANARY a/.bashrc" in running.output


@pytest.mark.slow
def test_a_command_ends_when_a_protected_file_was_replaced_and_may_have_been_written_since(guarded: Confined) -> None:
    path = guarded.project / ".git/config"
    with beside(guarded, "echo begun; until true >> .git/config; do :; done 2>/dev/null; sleep 30") as running:
        running.wait_for(b"begun")
        replace(path, "CANARY new\n")
        ended = running.wait()
    assert (ended.reason, ended.exit_code) == ("exit", 137)
    assert f"The command was ended: {path} was replaced from outside".encode() in running.output
    assert running.launch.mounts is not None
    assert not running.launch.mounts.holds(path)


def test_a_file_that_was_moved_with_its_folder_is_compared_at_the_end(guarded: Confined) -> None:
    with beside(
        guarded, "echo begun; until test -e end; do :; done; echo x > moved/.bashrc; echo x > a/.bashrc"
    ) as moving:
        moving.wait_for(b"begun")
        (guarded.project / "a").rename(guarded.project / "moved")
        (guarded.project / "a").mkdir()
        (guarded.project / "end").touch()
        assert moving.wait().exit_code == 0
    assert (guarded.project / "moved/.bashrc").read_text() == "CANARY a/.bashrc\n"
    assert moving.launch.mounts is not None
    assert not moving.launch.mounts.holds(guarded.project / "a/.bashrc")


def test_a_mount_that_held_is_known_after_the_end(guarded: Confined) -> None:
    launch = plan(guarded, "true")
    assert run_planned(guarded, launch)[0].exit_code == 0
    paths = (*guarded.policy.read_only, *guarded.policy.hidden)
    assert launch.mounts is not None
    assert [launch.mounts.holds(path) for path in paths] == [True, True, True]
    assert not launch.mounts.holds(guarded.project / "other")


@pytest.mark.slow
def test_commands_beside_each_other_each_hold_their_mounts(guarded: Confined) -> None:
    with beside(guarded, "echo begun; read -r x") as first, beside(guarded, "echo begun; sleep 30") as second:
        first.wait_for(b"begun")
        second.wait_for(b"begun")
        guarded.run("mkdir -p d/e; echo x > d/.env; mv d f; rm -r f; : 2>&1 >> .git/config")
        assert (guarded.project / ".git/config").read_text() == "CANARY .git/config\n"
        replace(guarded.project / ".git/config", "x")
        second.wait()
    assert b"The command was ended" in second.output


FLIP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
print("flipping", flush=True)
while True:
    libc.renameat2(-100, b"a", -100, b"b", 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("relative", [True, False])
def test_a_background_command_that_swaps_a_folder_with_a_link_opens_nothing(
    bubblewrap: Confined, relative: bool
) -> None:
    (bubblewrap.home / ".bashrc").write_text("CANARY\n")
    (bubblewrap.project / "flip.py").write_text(FLIP)
    target = os.path.relpath(bubblewrap.home, bubblewrap.project) if relative else bubblewrap.home
    with beside(bubblewrap, f"mkdir a; echo x > a/.bashrc; ln -s {target} b; {PYTHON} flip.py") as flipping:
        flipping.wait_for(b"flipping")
        reveal_home(bubblewrap)
        bubblewrap.limit(read_only=(bubblewrap.project / "a/.bashrc",))
        outputs: list[str] = []
        for _ in range(8):
            try:
                outputs.append(bubblewrap.run("cat a/.bashrc b/.bashrc; echo y >> a/.bashrc; ls -A ../home")[1])
            except OSError as error:
                outputs.append(str(error))
    assert len(outputs) == 8
    assert [output for output in outputs if "CANARY" in output] == []
    assert (bubblewrap.home / ".bashrc").read_text() == "CANARY\n"
    assert sorted(os.listdir(bubblewrap.home)) == [".bashrc", ".tools"]


BEFORE = b'[core]\n\tbare = false\n[remote "origin"]\n\turl = u\n'


@pytest.mark.parametrize(
    ("after", "is_same"),
    [
        (BEFORE + b'[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n', True),
        (BEFORE + b'[branch "main"]\n\tremote = https://elsewhere/x\n', False),
        (BEFORE + b'[branch "main"]\n\tremote = origin\n\tmergeOptions = -s x\n', False),
        (BEFORE + b"\tfetch = x\n", False),
        (BEFORE.replace(b"false\n", b'false\n[branch "x"]\n\tremote = origin\n[core]\n\tfsmonitor = x\n'), False),
        (BEFORE.replace(b"[remote", b'[branch "x"]\nremote = origin\n\tfsmonitor = x\n[remote'), False),
        (BEFORE + b'[branch "x"] fsmonitor = x\n', False),
        (BEFORE + b'[alias]\n\tx = !a \\\n[branch "x"]\n', False),
    ],
)
def test_only_what_branches_track_counts_as_harmless(after: bytes, is_same: bool) -> None:
    assert same_but_tracking(BEFORE, after) is is_same


def test_git_itself_changes_only_what_branches_track(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", "/nowhere")
    before = (tmp_path / ".git/config").read_bytes()
    git("config", "branch.main.remote", "origin")
    git("config", "branch.main.merge", "refs/heads/main")
    assert same_but_tracking(before, (tmp_path / ".git/config").read_bytes())


@pytest.mark.slow
def test_more_files_than_bubblewrap_can_hide_end_the_command_in_one_line(bubblewrap: Confined) -> None:
    hidden = [bubblewrap.project / str(number) / ".env" for number in range(3_100)]
    for path in hidden:
        path.parent.mkdir()
        path.write_text("K=1")
    bubblewrap.limit(hidden=tuple(hidden))
    with pytest.raises(
        OSError, match=r"^bubblewrap cannot hide 3,100 files such as .*/\.env; delete those that were generated$"
    ):
        plan(bubblewrap, "true")
