"""A git that stalls, fails, prints anything or is killed: the folder opens all the same, and one line says what is wrong."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.project import git
from opencode_tui.engine.project.discover import GLOBAL_PROJECT, discover
from opencode_tui.schema.error import GitUnavailableError
from opencode_tui.storage.paths import Paths
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


STALLS = "sleep 600"
FAULTS = {
    "fails": ("echo 'fatal: no luck' >&2; exit 128", "git rev-list failed in .*: exit code 128"),
    "prints garbage": ("head -c 5000 /dev/urandom", "printed no commits; check which git is first on PATH"),
    "prints a page": ("echo '<html>'", "printed no commits; check which git is first on PATH"),
    "is killed": ("kill -9 $$", r"git rev-list failed in .*: exit code (-9|137)"),
    "stalls": (STALLS, "took longer than 0.5 s"),
}

PutGit = Callable[[str], dict[str, str]]


@pytest.fixture
def put_git(tmp_path: Path, environ: dict[str, str]) -> PutGit:
    """Put a git that does this first on PATH; return the environment."""

    def put(body: str) -> dict[str, str]:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        return {**environ, "PATH": f"{program.parent}:{environ['PATH']}"}

    return put


@pytest.mark.parametrize("fault", FAULTS, ids=[name.replace(" ", "-") for name in FAULTS])
def test_a_new_repository_opens_with_a_warning(
    fault: str, folder: Path, paths: Paths, put_git: PutGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git.SafeGit.run_blocking, "__kwdefaults__", {"more": None, "timeout_s": 0.5})
    monkeypatch.setattr(git, "VERSION_S", 0.5)
    body, words = FAULTS[fault]
    project = discover(folder, paths=paths, environ=put_git(body))
    (warning,) = project.warnings
    assert project.id == GLOBAL_PROJECT and "\n" not in warning
    with pytest.raises(GitUnavailableError, match=words):
        raise GitUnavailableError(warning)


def test_a_version_that_is_none_is_not_shown(folder: Path, put_git: PutGit) -> None:
    with pytest.raises(GitUnavailableError, match="printed no version; check which git is first on PATH"):
        git.git_version(folder, put_git("head -c 5000 /dev/urandom"))


def test_the_screen_says_that_it_is_opening_while_git_stalls_and_opens_without_it(
    folder: Path, put_git: PutGit
) -> None:
    settings: dict[str, Any] = {"model": "fake/fake-model"}
    with ModelServer() as server:
        line = CommandLine(folder, put_git(STALLS), provider=server.config(), settings=settings)
        words = ["-m", "opencode_tui"]
        with ScreenTerminal(words, folder=folder, environ=line.variables()) as terminal:
            terminal.sees(f"Opening {folder}")
            terminal.type("meanwhile")
            terminal.sees("meanwhile")
            terminal.reads("version took longer than 5 s")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0
        with ScreenTerminal(words, folder=folder, environ=line.variables()) as terminal:
            terminal.sees(f"Opening {folder}")
            terminal.press("ctrl+c")
            terminal.sees("again to quit")
            terminal.press("ctrl+c")
            assert terminal.ends(timeout=PATIENCE_S) == 0
        assert line.survivors(grace_s=5) == []


@pytest.mark.parametrize("what", ["version", "rev-list"])
def test_a_git_that_stalls_ends_with_a_run_that_is_interrupted(what: str, folder: Path, put_git: PutGit) -> None:
    begun = folder / ".git" / "begun"
    body = f'case " $* " in *" {what} "*) touch {begun}; sleep 600;; *) echo git version 2.39.5;; esac'
    with ModelServer() as server:
        line = CommandLine(folder, put_git(body), provider=server.config(), settings={"model": "fake/fake-model"})
        run = line.start("run", "hello")
        try:
            wait_until(lambda: begun.exists() or run.poll() is not None)
            assert begun.exists()
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=PATIENCE_S)
            assert line.survivors(grace_s=5) == []
        finally:
            kill_session(run)
            line.kill_survivors()
