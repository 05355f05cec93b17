"""What confining a command costs: `true` unconfined, in tier B and in tier A, in turns of one run; the search for protected files.

Run: python -m tests.benchmarks.bench_sandbox (Linux). Goals: tier B at most 2 ms more than unconfined, tier A at most 10 ms. In a
project of 50,000 files the search after a command finds everything within 100 ms, and within 1 s where each folder has changed.
"""

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from opencode_tui.engine.sandbox.changes import ProjectFiles, compare
from opencode_tui.engine.sandbox.folders import Surroundings, system_folders, toolchain_folders
from opencode_tui.engine.sandbox.launch import plan_launch
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.engine.tool.process.process import Command, ShellProcess, find_shell
from tests.benchmarks.comparison import Figure, median_ms, report

GOALS_MS: dict[Tier, float] = {"landlock": 2, "bubblewrap": 10}
ROUNDS = 100


def make_policy(base: Path) -> Policy:
    """Return the policy of a project with the toolchains of this machine and some protected and hidden files."""
    project, temp = base / "project", base / "temp"
    for name in (".git/hooks", ".husky", ".vscode", "packages/one"):
        (project / name).mkdir(parents=True)
    protected = [project / name for name in (".git/config", ".vscode/tasks.json", ".envrc")]
    hidden = [project / name for name in (".env", "packages/one/.env")]
    for path in (*protected, *hidden):
        path.write_text("")
    temp.mkdir()
    read = (*system_folders(), *toolchain_folders(os.environ, Surroundings(Path.home(), (), project)))
    read_only = (*protected, project / ".git/hooks", project / ".husky")
    return Policy(read, (project,), read_only, tuple(hidden), temp, "none", dict(os.environ))


def run(tier: Tier, policy: Policy, shell: str, cancel: int) -> None:
    """Run `true`, with the planning of its start."""
    folder = policy.write[0]
    launch = None if tier == "none" else plan_launch(tier, policy, (shell, "-c", "--", "true"), folder)
    command = Command("true", folder, policy.environ, 10_000, shell, launch)
    printed: list[bytes] = []
    ended = ShellProcess(command, printed.append, cancel=cancel).run()
    assert (ended.exit_code, printed) == (0, []), (ended, printed)


def measure(base: Path) -> list[Figure]:
    policy, shell = make_policy(base), find_shell(os.environ, base)
    tiers: list[Tier] = [tier for tier in GOALS_MS if probe(tier, os.environ).works]
    cancel, _ = os.pipe()
    works = [partial(run, tier, policy, shell, cancel) for tier in ("none", *tiers)]
    unconfined_ms, *confined_ms = median_ms(*works, rounds=ROUNDS)
    print(f"unconfined: {unconfined_ms:.2f} ms; {len(policy.read)} readable paths")
    return [
        Figure(f"{tier}: more than unconfined", ours - unconfined_ms, GOALS_MS[tier])
        for tier, ours in zip(tiers, confined_ms, strict=True)
    ]


def search(project: Path) -> list[Figure]:
    """Return what the search after a command misses in a large project, and how long it takes."""
    folders = [project / f"package{first}/module{second}" for first in range(100) for second in range(50)]
    for folder in folders:
        folder.mkdir(parents=True)
        for number in range(10):
            (folder / f"file{number}.py").touch()
    files = ProjectFiles(project)
    files.refresh()
    before, last = files.record(), folders[-1]
    created = [
        last / "deep/.envrc",
        last / "nested/.git/config",
        last / "nested/.git/hooks/pre-commit",
        last / ".husky/x",
    ]
    for path in created:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    begin = time.perf_counter()
    files.refresh()
    found = [change.path for change in compare(before, files.record())]
    few_ms = (time.perf_counter() - begin) * 1000
    for folder in folders:
        (folder / "new.py").touch()
    begin = time.perf_counter()
    files.refresh()
    all_ms = (time.perf_counter() - begin) * 1000
    return [
        Figure("protected files missed of 4", float(len(set(created) - set(found))), 0, ""),
        Figure("search in 50,000 files", few_ms, 100),
        Figure("search, each folder changed", all_ms, 1000),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        base = Path(os.path.realpath(name))
        sys.exit(report([*measure(base), *search(base / "large")]))
