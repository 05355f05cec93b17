"""A place to run shell commands in with the real tool, and a look at what they leave running."""

import asyncio
import itertools
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.tool.builtin.bash import BashTool
from opencode_tui.engine.tool.kit import ShellEnvironment
from opencode_tui.engine.tool.tool import ToolContext, ToolResult
from tests.support.world.tools import Workbench
from tests.support.world.waiting import PATIENCE_S

_numbers = itertools.count(1)


@dataclass
class ShellBench(Workbench):
    """`shown` is what was reported to the screen, in order; `named` the patterns that only a rule of their own would allow."""

    environ: dict[str, str] = field(default_factory=dict[str, str])
    shown: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    named: list[str] = field(default_factory=list[str])
    full_texts: list[Path] = field(default_factory=list[Path])

    def __post_init__(self) -> None:
        super().__post_init__()
        home = Path(self.environ["HOME"])
        shell = ShellEnvironment(
            environ=self.environ,
            home=home,
            reserve_output=self._reserve,
            secrets=Lazy(lambda: Secrets({})),
            may=lambda agent, tool: tool != "task" or agent == "build",
        )
        self.tool = BashTool(shell)

    @property
    def context(self) -> ToolContext:
        return replace(super().context, progress=lambda title, metadata: self.shown.append(metadata))

    async def run(self, command: str, **written: Any) -> ToolResult:
        """Run a command as a model's call does."""
        return await self.call(self.tool, command=command, **{"description": "Tries something", **written})

    async def record(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        self.named.extend(must_ask)
        await super().record(permission, patterns, always=always, metadata=metadata)

    def _reserve(self) -> Path:
        path = self.folder.parent / f"tool_{len(self.full_texts)}"
        self.full_texts.append(path)
        return path


def new_token() -> str:
    """Return a number of seconds that no other command of the tests sleeps."""
    return f"4{os.getpid()}.{next(_numbers):03}"


def survivors(token: str, *, grace_s: float = PATIENCE_S) -> list[str]:
    """Return the command lines of live processes that hold a text; on a busy machine a killed one needs some time to end."""
    deadline = time.monotonic() + grace_s
    while (found := running(token)) and time.monotonic() < deadline:
        time.sleep(0.005)
    return found


def running(token: str) -> list[str]:
    """Return the command lines of the processes that hold a text and live now."""
    found: list[str] = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            words = _read(f"/proc/{name}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
            if token in words and b") Z" not in _read(f"/proc/{name}/stat"):
                found.append(words)
    return found


async def until_running(token: str, count: int = 1) -> None:
    """Wait until so many processes hold a text in their command line; fails after 5 s."""
    async with asyncio.timeout(PATIENCE_S):
        while len(running(token)) < count:
            await asyncio.sleep(0.005)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
