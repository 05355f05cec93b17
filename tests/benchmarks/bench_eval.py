"""The evaluation from end to end: 20 instances in the form of SWE-bench, `batch`, predictions, and the tests that grade them.

Run: python -m tests.benchmarks eval (a few minutes). The scripted model solves 17 tasks of `eval/tasks` and answers three wrongly
on purpose: those must be found. Each task is also graded without a change (its tests must fail and pass as the instance says), and
the three with a right change. SWEBENCH_PYTHON, a Python with the package `swebench`, adds the verdict of its harness, which then
reads the predictions and grades the logs of the same test runs. `python -m tests.benchmarks.bench_eval --tasks NAME…` runs some
tasks only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.eval.grade import Grade, grade, repository_of
from tests.benchmarks.eval.task_set import EvalModel, EvalTask, build_repository, git, read_tasks
from tests.support.provider.model_server import ModelServer

_JOBS = 2
_HARNESS = "SWEBENCH_PYTHON"
_KEYS = {"instance_id", "model_name_or_path", "model_patch"}


def run_batch(root: Path, server: ModelServer, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the instances of a folder through `batch` with a store of its own."""
    own = {f"XDG_{kind}_HOME": str(root / kind.lower()) for kind in ("DATA", "STATE", "CONFIG", "CACHE")}
    config = {"model": "fake/fake-model", "provider": server.config()}
    environ = {
        **os.environ,
        **own,
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run(
        [sys.executable, "-m", "opencode_tui", "batch", "instances.jsonl", "--repos", "repos", *words],
        cwd=root,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def state(instances: Sequence[Mapping[str, Any]], repositories: Path) -> list[str]:
    """Return what the repositories look like: commits, branches, worktrees, changes, the number and size of objects."""
    looks = ("worktree list", "for-each-ref", "status --porcelain", "rev-parse HEAD", "count-objects -v")
    return [git(repository_of(dict(one), repositories), *look.split()) for one in instances for look in looks]


def check_harness(root: Path, grades: Mapping[str, Grade]) -> set[str] | None:
    """Return the instances that SWE-bench's harness counts as resolved, None without it."""
    python = os.environ.get(_HARNESS)
    if not python:
        return None
    for name, one in grades.items():
        (root / f"{name}.log").write_text(one.output, encoding="utf-8")
    script = Path(__file__).parent / "eval" / "harness_check.py"
    done = subprocess.run(
        [python, str(script), str(root)], cwd=root, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise SystemExit(f"the harness refuses the predictions: {done.stderr[-1000:]}")
    return set(json.loads(done.stdout.splitlines()[-1])["resolved"])


def measure(root: Path, tasks: Sequence[EvalTask]) -> list[Figure]:
    """Build the repositories, run the batch, grade the predictions, print a line a task."""
    repositories = root / "repos"
    instances = {task.instance_id: build_repository(task, repositories) for task in tasks}
    (root / "instances.jsonl").write_text("".join(json.dumps(one) + "\n" for one in instances.values()))
    before = state(list(instances.values()), repositories)
    with ModelServer(model=EvalModel(list(tasks))) as server:
        done = run_batch(root, server, "--predictions", "predictions.jsonl", "--jobs", str(_JOBS))
        again = run_batch(root, server, "--predictions", "predictions.json", "--resume")
        sent = json.dumps(server.bodies)
    if not (root / "predictions.jsonl").exists():
        raise SystemExit(f"batch wrote no predictions: {done.stderr[-2000:]}")
    predictions = [json.loads(line) for line in (root / "predictions.jsonl").read_text().splitlines()]
    patches = {one["instance_id"]: one["model_patch"] for one in predictions}
    with ThreadPoolExecutor(_JOBS) as pool:
        bare = pool.map(lambda one: grade(one, repositories, ""), instances.values())
        right = pool.map(
            lambda one: grade(one, repositories, one["patch"]), (i for i in instances.values() if i["patch"])
        )
        graded = pool.map(lambda one: grade(one, repositories, patches.get(one["instance_id"], "")), instances.values())
    grades = dict(zip(instances, graded, strict=True))
    wrong_instances = sum(
        set(one.failing) != set(instance["FAIL_TO_PASS"]) or bool(one.broken or one.problem)
        for one, instance in zip(bare, instances.values(), strict=True)
    )
    for task in tasks:
        print(
            f"{task.instance_id:<28} {len(patches.get(task.instance_id, '').splitlines()):>4} lines  {grades[task.instance_id]}"
        )
    solved = {name for name, one in grades.items() if one.is_solved}
    expected = {task.instance_id for task in tasks if task.is_solved}
    print(f"solved {len(solved)} of {len(tasks)}; the model answers {len(tasks) - len(expected)} wrongly on purpose")
    resolved = check_harness(root, grades)
    print(
        f"the harness of SWE-bench: not asked (set {_HARNESS} to a Python with `swebench`); only the schema is checked"
        if resolved is None
        else f"the harness of SWE-bench reads the predictions and counts {len(resolved)} as resolved"
    )
    hidden = ["HINT: not for the model", "FAIL_TO_PASS", *(path for task in tasks for path in task.tests)]
    leaked = [word for word in hidden if word in sent]
    return [
        Figure("tasks with another outcome than expected", float(len(solved ^ expected)), 0, ""),
        Figure("... by the harness of SWE-bench", float(len((resolved or expected) ^ expected)), 0, ""),
        Figure("instances whose tests are not as they say", float(wrong_instances), 0, ""),
        Figure("right changes that fail", float(sum(not one.is_solved for one in right)), 0, ""),
        Figure(
            "predictions that miss or break the schema", float(_bad_predictions(predictions, list(instances))), 0, ""
        ),
        Figure(".json that differs from .jsonl", float(_read_list(root) != predictions), 0, ""),
        Figure("repositories that changed", float(state(list(instances.values()), repositories) != before), 0, ""),
        Figure("hints or tests shown to the model", float(len(leaked)), 0, ""),
        Figure("unexpected exit codes of batch", float((done.returncode, again.returncode) != (0, 0)), 0, ""),
    ]


def _read_list(root: Path) -> object:
    path = root / "predictions.json"
    return json.loads(path.read_text()) if path.exists() else None


def _bad_predictions(predictions: Sequence[Mapping[str, object]], names: Sequence[str]) -> int:
    bad = sum(set(one) != _KEYS or not all(isinstance(value, str) for value in one.values()) for one in predictions)
    return bad + ([one["instance_id"] for one in predictions] != list(names))


def main() -> int:
    """Run the evaluation in a temporary folder and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", metavar="NAME")
    wanted = parser.parse_args().tasks
    tasks = [task for task in read_tasks() if not wanted or task.name in wanted]
    with tempfile.TemporaryDirectory(prefix="eval-") as name:
        return report(measure(Path(name), tasks))


if __name__ == "__main__":
    sys.exit(main())
