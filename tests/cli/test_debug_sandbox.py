"""`debug sandbox`: a program runs confined, with its own exit code; once by the real command, for the rest in this process."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.sandbox.conftest import require
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import LineInProcess, in_process
from tests.support.world.repo import make_repo


@pytest.fixture(params=["bubblewrap", "landlock"])
def line(request: pytest.FixtureRequest, tmp_path: Path, environ: dict[str, str]) -> CommandLine:
    """A small repository, whose commands are confined in each tier that works here."""
    (tmp_path / "probe").mkdir()
    require(request.param, tmp_path / "probe")
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "a1\n"})
    content = json.dumps({"experimental": {"sandbox": {"tier": request.param}}})
    return CommandLine(repo.path, {**environ, "OPENCODE_CONFIG_CONTENT": content})


@pytest.fixture
def here(line: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LineInProcess:
    """The same commands without a process for each."""
    return in_process(line, monkeypatch, capsys)


@pytest.mark.slow
def test_program_runs_confined_and_its_exit_code_is_ours(line: CommandLine):
    outside = line.folder.parent / "outside"
    script = f"cat a.txt; echo b > b.txt; echo x > {outside}; exit 7"
    done = line.run("debug", "sandbox", "--", "bash", "-c", script)
    assert done.code == 7
    assert done.stdout.startswith("a1\n")
    assert (line.folder / "b.txt").read_text() == "b\n"
    assert not outside.exists()


def test_without_a_program_the_state_is_printed(here: LineInProcess):
    state = json.loads(here.run("debug", "sandbox").stdout)
    assert state["tier"] in ("bubblewrap", "landlock")
    assert (state["reason"], state["mode"]) == ("", "auto")


@pytest.mark.fast_cases("bubblewrap")
def test_read_only_keeps_the_project_as_it_is(here: LineInProcess):
    done = here.run("debug", "sandbox", "--read-only", "--", "bash", "-c", "cat a.txt; echo b > b.txt")
    assert done.code != 0
    assert done.stdout.startswith("a1\n")
    assert not (here.folder / "b.txt").exists()


def test_new_protected_file_is_named(here: LineInProcess):
    done = here.run("debug", "sandbox", "--", "bash", "-c", "echo x > .envrc")
    assert done.code == 0
    assert ".envrc" in done.stderr


@pytest.mark.fast_cases("landlock")
def test_program_that_is_missing_fails_like_in_a_shell(here: LineInProcess):
    assert here.run("debug", "sandbox", "--", "no-such-program").code in (126, 127)


def test_where_no_sandbox_works_one_line_says_why(here: LineInProcess):
    content = json.dumps({"experimental": {"sandbox": {"mode": "off"}}})
    off = replace(here, environ={**here.environ, "OPENCODE_CONFIG_CONTENT": content})
    done = off.run("debug", "sandbox", "--", "true")
    assert done.code != 0
    assert done.stderr.count("\n") == 1
    assert "no sandbox works here" in done.stderr
