"""Honest jobs of real tools inside the sandbox: each must run without a question and end as it does outside, in each tier.

Run: python -m tests.benchmarks honest (Linux; a few minutes, installs packages from PyPI and npm into a temporary folder first).
Goal: all jobs in tier A; in tier B all but those that need a socket. A job whose tool is missing is left out and named; at most 4
may be.
Every job also runs outside, as proof that a failure is the sandbox's. Then the tools whose caches of the user are warm run offline
(`warm_caches.py`): the second run inside may last at most 1.2 times as long as outside.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.warm_caches import measure_warm

TIERS = ("bubblewrap", "landlock")
MOST_LEFT_OUT = 4
_TIMEOUT_S = 300

_NODE_PACKAGES = ("vitest@3", "vite@7", "typescript@5", "eslint@9", "is-number@7")
_PYTHON_PACKAGES = ("pytest", "pytest-xdist", "tox", "ruff", "mypy", "coverage", "setuptools", "wheel", "uv")


@dataclass(frozen=True, slots=True)
class Job:
    """A command in a project. `needs` are programs; `socket` marks that tier B refuses it; `refused` that every tier does."""

    name: str
    project: str
    command: str
    needs: Sequence[str] = ()
    socket: bool = False
    refused: bool = False


_PROJECTS = Path(__file__).with_name("honest_projects.txt")
"""The files of the projects: a line `=== PROJECT/PATH` before each."""

_CLEAN = (
    "git checkout -qf main; git reset -q --hard start; git clean -fdq; git worktree prune;"
    " git branch --list topic side one | xargs -r git branch -qD; true"
)

_JOBS = Path(__file__).with_name("honest_jobs.jsonl")


def read_jobs() -> list[Job]:
    """Return the jobs of the data file."""
    return [Job(**json.loads(line)) for line in _JOBS.read_text().splitlines()]


def prepare(root: Path) -> None:
    """Make the projects and install their packages; this happens outside."""
    for piece in _PROJECTS.read_text().split("=== ")[1:]:
        path, _, text = piece.partition("\n")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for folder in root.iterdir():
        (folder / ".gitignore").write_text("node_modules\n.venv\ntarget\nbuild\n.other\n.m2\n")
        run("git init -qb main && git config user.email a@example.org && git config user.name A", folder)
        run("git add -A && git commit -qm start && git tag start", folder)
    run(f"{sys.executable} -m venv .venv && .venv/bin/pip install -q {' '.join(_PYTHON_PACKAGES)}", root / "py")
    if shutil.which("npm"):
        run(f"npm install --no-audit --no-fund -D {' '.join(_NODE_PACKAGES)}", root / "node")
        run("npm install --no-audit --no-fund is-number@7", root / "node-lock")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command outside and raise when it fails."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done


def failure_outside(job: Job, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Run a job outside, unless it must be refused; return what is missing or the end of its output when it failed."""
    missing = [program for program in job.needs if shutil.which(program) is None and not Path(program).exists()]
    if missing:
        return f"{', '.join(missing)} missing"
    return None if job.refused else failure(["bash", "-c", job.command], folder, environ)


def is_asked(job: Job, folder: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the command needs approval under the default rules."""
    words = [sys.executable, "-m", "opencode_tui", "permission", "explain", "bash", job.command, "--format", "json"]
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["action"] != "allow"


def failure_inside(job: Job, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Run a job inside the sandbox; return the end of its output when it failed."""
    return failure(
        [sys.executable, "-m", "opencode_tui", "debug", "sandbox", "--", "bash", "-c", job.command], folder, environ
    )


def failure(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str | None:
    """Run a program; return the end of its output when it failed."""
    done = subprocess.run(
        words, cwd=folder, env=environ, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    return None if done.returncode == 0 else f"exit {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}"


def measure(root: Path, environ: Mapping[str, str]) -> list[Figure]:
    """Run every job outside and in each tier."""
    left_out: list[str] = []
    failed: dict[str, int] = dict.fromkeys(TIERS, 0)
    asked = 0
    for job in read_jobs():
        folder = root / job.project
        problem = failure_outside(job, folder, environ)
        if job.project == "git":
            run(_CLEAN, folder)
        if problem is not None:
            left_out.append(f"{job.name}: {problem}")
            continue
        for tier in TIERS:
            here = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({"experimental": {"sandbox": {"tier": tier}}})}
            question = is_asked(job, folder, here)
            asked += question and not job.refused
            if job.refused:
                verdict = "asks, as it should" if question else "MUST ASK"
                failed[tier] += not question
            else:
                problem = failure_inside(job, folder, here)
                expected = job.socket and tier == "landlock"
                failed[tier] += problem is not None and not expected
                verdict = "ok" if problem is None else "refused: a socket" if expected else f"FAILED {problem}"
                verdict += "  ASKS" if question else ""
            print(f"{job.name:<36} {tier:<11} {verdict}", flush=True)
            if job.project == "git":
                run(_CLEAN, folder)
    for name in left_out:
        print(f"left out: {name}")
    return [
        *(Figure(f"jobs that fail in {tier}", float(count), 0, "") for tier, count in failed.items()),
        Figure("jobs that ask", float(asked), 0, ""),
        Figure("jobs left out", float(len(left_out)), MOST_LEFT_OUT, ""),
    ]


def main() -> int:
    """Prepare the projects in a temporary folder, run all jobs, report."""
    with tempfile.TemporaryDirectory(prefix="honest-") as name:
        root = Path(name, "code")
        prepare(root)
        own = {f"XDG_{kind}_HOME": str(Path(name, kind.lower())) for kind in ("DATA", "STATE", "CONFIG")}
        figures = measure(root, {**os.environ, **own})
        warm = Path(name, "warm")
        warm.mkdir()
        rows, left_out = measure_warm(warm)
        for line in left_out:
            print(f"left out: {line}")
        return report(
            [*figures, *rows, Figure("tools with warm caches left out", float(len(left_out)), MOST_LEFT_OUT, "")]
        )


if __name__ == "__main__":
    sys.exit(main())
