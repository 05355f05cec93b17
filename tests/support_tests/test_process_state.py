"""What all tests of a process share is as it was after each of them; the test that changed it fails, and no other one."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.support.rows import each
from tests.support.snapshot.users import NOBODY
from tests.support.source.pages import ROOT
from tests.support.world.process_state import ProcessState


def _ignore(number: int, frame: FrameType | None) -> None: ...


@pytest.fixture
def before() -> Iterator[ProcessState]:
    state = ProcessState.read()
    yield state
    state.restore()
    state.close()


@each(
    ("change", "words"),
    [
        pytest.param(lambda folder: os.chdir(folder), "the working folder is {folder}", id="folder"),
        pytest.param(lambda _: os.umask(0o123), "the umask is 123", id="umask"),
        pytest.param(
            lambda _: os.environ.update(ADDED="x", HOME="y"), "variables are changed: ADDED, HOME", id="variable"
        ),
        pytest.param(lambda _: os.environ.pop("PATH"), "variables are changed: PATH", id="variable that is gone"),
        pytest.param(
            lambda _: signal.signal(signal.SIGHUP, _ignore), "the handler of SIGHUP is {handler}", id="signal"
        ),
    ],
)
def test_what_is_changed_is_named_and_restored(
    before: ProcessState, row_path: Path, change: Callable[[Path], object], words: str
) -> None:
    change(row_path)
    (found,) = before.restore()
    assert found == words.format(folder=row_path, handler=_ignore)
    assert before.restore() == []


def test_the_default_of_a_signal_that_was_ignored_is_no_fault_of_a_test(before: ProcessState) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ignored = ProcessState.read()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert ignored.restore() == []
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ignored.close()


def test_a_working_folder_that_is_gone_is_left(before: ProcessState, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert before.restore() == [f"the working folder is {gone} (deleted)"]
    assert Path.cwd().exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_user_in_another_folder_becomes_the_former_one(before: ProcessState, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    os.chdir(closed)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    names = [f"the user is {NOBODY}", f"the group is {NOBODY}", f"the working folder is {closed}"]
    assert before.restore() == names
    assert (os.geteuid(), os.getegid()) == (0, 0)


@pytest.mark.slow
def test_the_test_that_changes_it_fails_and_those_behind_it_pass(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import os, pytest\n"
        "@pytest.fixture\n"
        "def broken():\n"
        "    yield os.chdir('/')\n"
        "    raise OSError('broken')\n"
        "def test_a(): os.chdir('/')\n"
        "def test_b(monkeypatch): monkeypatch.setenv('X', 'y'); monkeypatch.chdir('/')\n"
        "def test_c(broken): os.environ['X'] = 'y'\n"
        "def test_d(): assert os.getcwd() != '/' and 'X' not in os.environ\n"
    )
    words = [
        "-q",
        "-rA",
        "--tb=short",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.support.world.process_state",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    ends = [line.partition(" - ")[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert ends == ["ERROR test_it.py::test_a", "ERROR test_it.py::test_c"], done.stdout
    assert "4 passed, 2 errors" in done.stdout
    assert "this test changed what all tests share: the working folder is / after it" in done.stdout
    assert "OSError: broken" in done.stdout
