"""Grades predictions as the harness of SWE-bench does: on a clean checkout with the test patch, by the tests that must pass."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.eval.task_set import git

_OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Grade:
    """What the tests say about a change; `problem` is set where it could not be tested. `output` is that of pytest."""

    failing: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    problem: str = ""
    output: str = ""

    @property
    def is_solved(self) -> bool:
        """Whether every test passes that must."""
        return not (self.failing or self.broken or self.problem)

    def __str__(self) -> str:
        if self.is_solved:
            return "solved"
        return self.problem or f"{len(self.failing)} tests still fail, {len(self.broken)} broken"


def grade(instance: dict[str, Any], repositories: Path, patch: str) -> Grade:
    """Apply a patch and the test patch to a clean checkout of the base commit, run the tests and grade them."""
    with tempfile.TemporaryDirectory(prefix="grade-") as name:
        folder = Path(name, "checkout")
        git(repositories, "clone", "-q", str(repository_of(instance, repositories)), str(folder))
        git(folder, "checkout", "-q", instance["base_commit"])
        try:
            if patch:
                git(folder, "apply", "-", stdin=patch)
            git(folder, "apply", "-", stdin=instance["test_patch"])
        except RuntimeError as error:
            return Grade(problem=f"the patch does not apply: {error}")
        output = run_tests(folder)
    passed = {test for outcome, test in _OUTCOME.findall(output) if outcome == "PASSED"}
    return Grade(_missing(instance["FAIL_TO_PASS"], passed), _missing(instance["PASS_TO_PASS"], passed), output=output)


def repository_of(instance: dict[str, Any], repositories: Path) -> Path:
    """Return the repository of an instance."""
    return repositories / instance["repo"].replace("/", "__")


def run_tests(folder: Path) -> str:
    """Run the tests of a folder and return what pytest prints, with the outcome of each test."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=folder,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=_TIMEOUT_S,
        check=False,
    ).stdout


def _missing(wanted: Sequence[str], passed: set[str]) -> tuple[str, ...]:
    return tuple(test for test in wanted if test not in passed)
