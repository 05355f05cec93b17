"""A project, an own temp folder and the outside, and commands that run confined in each tier that works here."""

import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.engine.sandbox.launch import Launch, plan_launch
from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess
from tests.support.world.waiting import PATIENCE_S

SYSTEM = tuple(Path(os.path.realpath(name)) for name in ("/usr", "/etc", "/opt", "/nix") if os.path.exists(name))


@dataclass
class Confined:
    """Runs commands in a tier; `policy` may be replaced."""

    tier: Tier
    base: Path
    policy: Policy = field(init=False)
    is_prepared: bool = False
    """Whether each command starts in a prepared view."""

    def __post_init__(self) -> None:
        for folder in (self.project, self.temp, self.outside, self.home):
            folder.mkdir()
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        writable = (self.project, self.temp)
        self.policy = Policy(SYSTEM + toolchains(), writable, (), (), self.temp, "none", environ)

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def temp(self) -> Path:
        return self.base / "own temp"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def home(self) -> Path:
        return self.base / "home"

    def limit(self, **changes: object) -> None:
        """Change the policy."""
        self.policy = replace(self.policy, **changes)

    def plan(self, argv: Sequence[str]) -> Launch:
        """Return how a program starts, when the view is there if commands start in a prepared one."""
        launch = plan_launch(self.tier, self.policy, argv, self.project)
        if not self.is_prepared:
            return replace(launch, view=None)
        end = time.monotonic() + PATIENCE_S
        while launch.view is None:
            assert time.monotonic() < end, "no view was prepared"
            time.sleep(0.02)
            launch = plan_launch(self.tier, self.policy, argv, self.project)
        return launch

    def run(
        self,
        text: str,
        *,
        timeout_ms: int = 60_000,
        cancel_after_s: float | None = None,
        cancel_at: bytes = b"",
        limits: Limits = NO_LIMITS,
    ) -> tuple[Ended, str]:
        """Run a command line to its end and return how it ended, and its output; `cancel_at` is output that cancels it."""
        argv = ("/bin/bash", "-c", "--", text)
        launch = None if self.tier == "none" else self.plan(argv)
        command = Command(text, self.project, self.policy.environ, timeout_ms, "/bin/bash", launch, limits=limits)
        pieces: list[bytes] = []
        cancel, cancel_end = os.pipe()
        timer = threading.Timer(cancel_after_s or 0, lambda: os.write(cancel_end, b"!"))

        def feed(data: bytes) -> None:
            pieces.append(data)
            if cancel_at and cancel_at in data:
                os.write(cancel_end, b"!")

        try:
            if cancel_after_s is not None:
                timer.start()
            ended = ShellProcess(command, feed, cancel=cancel).run()
        finally:
            timer.cancel()
            os.close(cancel)
            os.close(cancel_end)
        return ended, b"".join(pieces).decode(errors="replace")


def toolchains() -> tuple[Path, ...]:
    """Return the folders of this interpreter."""
    return tuple({Path(os.path.realpath(name)) for name in (sys.prefix, sys.base_prefix)})
