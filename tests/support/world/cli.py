"""The real command in a child process of its own session, in an environment of its own.

    line = CommandLine(folder, environ, provider=server.config())
    done = line.run("run", "--format", "json", "-m", "fake/fake-model", "hello")
    assert done.code == 0 and done.parts("text")[-1]["text"] == "Echo: hello"
    assert line.survivors() == []

Every process that the command starts inherits a marker variable; `survivors` looks for it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import opencode_tui
from tests.support.world.waiting import PATIENCE_S

MARKER = "OPENCODE_TUI_TEST_MARKER"
PACKAGE_ROOT = Path(opencode_tui.__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended; `seconds` from its start to its end."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of `--format json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def parts(self, kind: str) -> list[dict[str, Any]]:
        """Return the parts of the lines of one type, such as `text` or `tool_use`."""
        return [event["part"] for event in self.events if event["type"] == kind]

    @property
    def session_id(self) -> str:
        """The session that the lines speak of."""
        return self.events[0]["sessionID"]


@dataclass(frozen=True)
class CommandLine:
    """`opencode-tui` in a folder and an environment, with these providers and settings."""

    folder: Path
    environ: Mapping[str, str]
    provider: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str = "fake/fake-model"
    marker: str = field(default_factory=lambda: uuid4().hex)
    root: Path = PACKAGE_ROOT
    """The folder with the program."""

    def run(self, *arguments: str, stdin: str | bytes = b"", timeout: float = PATIENCE_S) -> Finished:
        """Run a command to its end; it reads `stdin`, which is empty without one."""
        begin = time.monotonic()
        process = self.start(*arguments, stdin=subprocess.PIPE)
        try:
            given = stdin.encode() if isinstance(stdin, str) else stdin
            stdout, stderr = process.communicate(given, timeout=timeout)
        finally:
            kill_session(process)
        return Finished(process.returncode, stdout.decode(), stderr.decode(), time.monotonic() - begin)

    def turn(self, message: str, *options: str, stdin: str | bytes = b"", timeout: float = PATIENCE_S) -> Finished:
        """Run one turn with `--format json`."""
        return self.run(*self.turn_arguments(message, *options), stdin=stdin, timeout=timeout)

    def start_turn(self, message: str, *options: str) -> "subprocess.Popen[bytes]":
        """Start one turn with `--format json`; its output goes to pipes."""
        return self.start(*self.turn_arguments(message, *options))

    def turn_arguments(self, message: str, *options: str) -> list[str]:
        """Return the arguments of one turn."""
        return ["run", "--format", "json", "-m", self.model, *options, message]

    def start(self, *arguments: str, stdin: int | IO[bytes] = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        """Start a command in a session of its own; its output goes to pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "opencode_tui", *arguments],
            cwd=self.folder,
            env=self.variables(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def variables(self) -> dict[str, str]:
        """Return the environment of the command."""
        settings = {**self.settings, **({"provider": self.provider} if self.provider else {})}
        content = {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)} if settings else {}
        return {**self.environ, **content, MARKER: self.marker, "PYTHONPATH": str(self.root)}

    def survivors(self, *, grace_s: float = 0.0) -> list[str]:
        """Return the command lines of the processes that are left, after waiting at most so long for them to go."""
        deadline = time.monotonic() + grace_s
        while (left := _marked(f"{MARKER}={self.marker}")) and time.monotonic() < deadline:
            time.sleep(0.01)
        return left

    def kill_survivors(self) -> None:
        """Kill the processes that are left."""
        for left in self.survivors():
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(int(left.split()[0]), signal.SIGKILL)


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that `start` started, with its whole process group, and reap it; one that has ended is only reaped."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            pipe.close()
    process.wait()


def read_events(process: "subprocess.Popen[bytes]", count: int | None = None) -> list[dict[str, Any]]:
    """Return the next `count` lines of `--format json`, or all until the end; half a line at the end does not count."""
    assert process.stdout is not None
    events: list[dict[str, Any]] = []
    while (count is None or len(events) < count) and (line := process.stdout.readline()).endswith(b"\n"):
        events.append(json.loads(line))
    return events


def _marked(marker: str) -> list[str]:
    if not Path("/proc/self/environ").exists():
        listing = subprocess.run(["ps", "eww", "-axo", "command"], check=True, capture_output=True, text=True).stdout
        return [line for line in listing.splitlines() if marker in line]
    found: list[str] = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            found += _command_of(process, marker.encode())
    return found


def _command_of(process: Path, marker: bytes) -> Sequence[str]:
    try:
        if marker not in (process / "environ").read_bytes().split(b"\0"):
            return ()
        return (
            f"{process.name} {(process / 'cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}",
        )
    except OSError:  # it has ended meanwhile, or is somebody else's
        return ()
