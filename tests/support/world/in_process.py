"""Commands of the command line inside the test's process: ten times quicker than a process each, for what needs none."""

import io
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from opencode_tui.cli.main import run_command_line
from tests.support.world.cli import CommandLine, Finished
from tests.support.world.waiting import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended and what it wrote."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Commands:
    """The command line in a folder and an environment."""

    folder: Path
    environ: Mapping[str, str]
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, stdin: str = "") -> Answer:
        """Run a command to its end; standard input is no terminal."""
        with self.monkeypatch.context() as patch:
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            code = run_command_line(list(arguments))
        written = self.capsys.readouterr()
        return Answer(code, written.out, written.err)


@dataclass(frozen=True)
class LineInProcess(CommandLine):
    """A command line whose `run` and `turn` are executed inside the test's process; `start` still starts one."""

    monkeypatch: pytest.MonkeyPatch = field(kw_only=True)
    capsys: pytest.CaptureFixture[str] = field(kw_only=True)

    def run(self, *arguments: str, stdin: str | bytes = b"", timeout: float = PATIENCE_S) -> Finished:
        """Run a command to its end; `timeout` is that of the test."""
        del timeout
        begin = time.monotonic()
        given = stdin if isinstance(stdin, str) else stdin.decode()
        commands = Commands(self.folder, self.variables(), self.monkeypatch, self.capsys)
        done = commands.run(*arguments, stdin=given)
        return Finished(done.code, done.stdout, done.stderr, time.monotonic() - begin)


def in_process(line: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LineInProcess:
    """Return the same command line without a process for each command."""
    return LineInProcess(
        line.folder,
        line.environ,
        line.provider,
        line.settings,
        line.model,
        line.marker,
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
