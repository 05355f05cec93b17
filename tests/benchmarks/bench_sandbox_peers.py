"""The hostile scripts of the sandbox's tests in ours and in other sandboxes, one table: what each holds.

Run: python -m tests.benchmarks sandbox_peers (Linux, as root, with bubblewrap; everything runs inside a guard). The peers are npm's
`@openai/codex` (`codex sandbox`) and `@anthropic-ai/sandbox-runtime` (`srt`), found by `PEERS`, a folder with `node_modules/.bin`,
else on PATH; one that is missing is left out with a word. Goal: ours, in tier A, holds at least what each peer holds.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.tool.process.process import Ended
from tests.benchmarks.comparison import Figure, report
from tests.engine.sandbox import hostile
from tests.engine.sandbox.confined import Confined

OURS = ("bubblewrap", "landlock")
PEERS = ("codex", "srt")
_TIMEOUT_S = 1_500


@dataclass
class Peer(Confined):
    """Runs commands in the sandbox of another program, with the project as its only writable folder."""

    program: str = ""

    def run(
        self,
        text: str,
        *,
        timeout_ms: int = 20_000,
        cancel_after_s: float | None = None,
        cancel_at: bytes = b"",
        limits: Limits = NO_LIMITS,
    ) -> tuple[Ended, str]:
        """Run a command line to its end and return how it ended, and its output."""
        assert cancel_after_s is None and not cancel_at and limits == NO_LIMITS
        done = subprocess.run(
            self._words(text), cwd=self.project, env=self._environ(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout_ms / 1000, check=False,
        )  # fmt: skip
        return Ended("exit", done.returncode), done.stdout.decode(errors="replace")

    def _words(self, text: str) -> list[str]:
        if Path(self.program).name == "codex":
            return [self.program, "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", "bash", "-c", text]
        settings = self.base.parent / "srt.json"
        hidden = [str(path) for path in (self.outside, self.home, *self.policy.hidden)]
        files = {"denyRead": hidden, "allowWrite": [str(self.project)], "denyWrite": []}
        network = {"allowedDomains": list[str](), "deniedDomains": list[str]()}
        settings.write_text(json.dumps({"network": network, "filesystem": files}))
        return [self.program, "-s", str(settings), "-c", text]

    def _environ(self) -> dict[str, str]:
        return {**self.policy.environ, "CODEX_HOME": str(self.base.parent / "codex")}


class PeerWorld(hostile.World):
    """The outside of the hostile scripts, for another program."""

    def make_confined(self, base: Path) -> Confined:
        """Return what runs the scripts."""
        program = find(self.name)
        assert program is not None
        return Peer("bubblewrap", base, program=program)


def find(name: str) -> str | None:
    """Return the path of a peer's program."""
    folder = os.environ.get("PEERS")
    return shutil.which(name, path=f"{folder}/node_modules/.bin" if folder else None)


def guarded(name: str, base: Path) -> dict[str, list[str]]:
    """Run all scripts in a sandbox, inside a guard with one writable folder; return what each reached."""
    (base / "tmp").mkdir(parents=True)
    (base / "codex").mkdir()
    seen = {
        Path.cwd(),
        Path(sys.prefix),
        *(Path(one) for one in sys.path if one),
        Path(os.environ.get("PEERS", "/usr")),
    }
    below = [str(path) for path in sorted(seen) if path.is_relative_to("/tmp") and path.exists()]
    command = [
        "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",  # a whole /proc, without which srt's cannot be mounted
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", "/proc", "/proc", "--tmpfs", "/dev/shm",
        "--bind", str(base), str(base), "--bind", str(base / "tmp"), "/tmp",
        *(word for path in below for word in ("--ro-bind", path, path)),
        "--unshare-net", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--new-session",
        "--", sys.executable, "-m", "tests.benchmarks.bench_sandbox_peers", name, str(base / "world"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def compare() -> int:
    """Run the scripts in every sandbox, print the table."""
    names = [*OURS, *(name for name in PEERS if find(name))]
    print(*(f"{name} is not installed (npm); left out" for name in PEERS if name not in names), sep="\n")
    with tempfile.TemporaryDirectory(dir=Path.home() / ".cache", prefix="peers-") as folder:
        reached = {name: guarded(name, Path(folder, name)) for name in names}
    print(f"{'':<42}" + "".join(f"{name:>12}" for name in names))
    for script in hostile.SCRIPTS:
        print(f"{script:<42}" + "".join(f"{'-' if reached[name][script] else 'held':>12}" for name in names))
    held = {name: {script for script, what in found.items() if not what} for name, found in reached.items()}
    print(f"{'held':<42}" + "".join(f"{len(held[name]):>12}" for name in names))
    return report([
        Figure(f"held by {name} but not by ours", float(len(held[name] - held["bubblewrap"])), 0, "")
        for name in names
        if name not in OURS
    ])  # fmt: skip


def main() -> int:
    """Compare, or inside the guard run the scripts in one sandbox."""
    if len(sys.argv) == 1:
        return compare()
    name, base = sys.argv[1:]
    Path(base).mkdir()
    make = hostile.World if name in OURS else PeerWorld
    hostile.run_all(lambda: make(name, Path(base)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
