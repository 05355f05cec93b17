"""Tasks of an evaluation: repositories, instances in the form of SWE-bench, and the steps of the scripted model.

A task is a text with a line `=== KIND ARGUMENT` before each section:

    problem          what is wrong or missing, as the model reads it
    file PATH        a file at the base commit
    test PATH        a file that the test patch adds
    fail, pass       the IDs of the tests that must pass after the change, those that fail before it and those that pass
    read, write, edit, patch, bash
                     a step of the model, in order; an edit has blocks `<<<<` old text `====` new text `>>>>`
    answer           what the model says at the end
    right PATH       a file of a right change, where the model's own is wrong on purpose
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.provider.model_script import Answer, Call, Conversation, DirectiveModel, read_conversation

_SECTION = re.compile(r"^=== (\w+) ?(.*)\n", re.MULTILINE)
_EDIT = re.compile(r"<<<<\n(.*?)====\n(.*?)>>>>\n", re.DOTALL)
_OWNER = "small"
_IGNORED = "__pycache__/\n.pytest_cache/\n"
_DATE = "2024-05-01T12:00:00+00:00"


@dataclass(frozen=True, slots=True)
class EvalTask:
    """A task as its text has it; the files are by path, the sections of the model in order."""

    name: str
    problem: str
    files: dict[str, str]
    tests: dict[str, str]
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    steps: tuple[Call, ...]
    answer: str
    right: dict[str, str]

    @property
    def instance_id(self) -> str:
        """The ID of the instance, which also names the repository."""
        return f"{_OWNER}__{self.name}-1"


def read_task(name: str, text: str) -> EvalTask:
    """Return the task of a text."""
    sections = _SECTION.split(text)[1:]
    files: dict[str, dict[str, str]] = {"file": {}, "test": {}, "right": {}}
    words: dict[str, str] = {}
    steps: list[Call] = []
    for kind, argument, body in zip(*[iter(sections)] * 3, strict=True):
        if kind in files:
            files[kind][argument] = body
        elif kind in ("problem", "answer", "fail", "pass"):
            words[kind] = body.strip()
        else:
            steps.append(_step(kind, argument, body))
    return EvalTask(
        name,
        words["problem"],
        files["file"],
        files["test"],
        tuple(words["fail"].splitlines()),
        tuple(words["pass"].splitlines()),
        tuple(steps),
        words["answer"],
        files["right"],
    )


def _step(kind: str, argument: str, body: str) -> Call:
    match kind:
        case "read":
            return Call("read", {"filePath": argument})
        case "write":
            return Call("write", {"filePath": argument, "content": body})
        case "bash":
            return Call("bash", {"command": body.strip(), "description": "Run a command"})
        case "patch":
            return Call("apply_patch", {"patchText": body})
        case "edit":
            edits = [{"oldString": old, "newString": new} for old, new in _EDIT.findall(body)]
            if len(edits) == 1:
                return Call("edit", {"filePath": argument, **edits[0]})
            return Call("multiedit", {"filePath": argument, "edits": edits})
        case _:
            raise ValueError(f"no section {kind!r}")


class EvalModel(DirectiveModel):
    """Answers with the steps of the task whose problem is in the prompt, one a request, whatever the results say."""

    def __init__(self, tasks: list[EvalTask]) -> None:
        super().__init__()
        self._tasks = tasks

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the next step of the task that the conversation is about."""
        talk = read_conversation(body)
        task = self._find(talk)
        if task is None or not talk.has_tools:
            return super().answer(body)
        if talk.steps_done < len(task.steps):
            return Answer(text="", calls=(task.steps[talk.steps_done],), usage=(1500, 60, 0))
        return Answer(text=task.answer, usage=(1500, 30, 0))

    def _find(self, talk: Conversation) -> EvalTask | None:
        return next((task for task in self._tasks if task.problem in talk.prompt), None)


def build_repository(task: EvalTask, repositories: Path) -> dict[str, Any]:
    """Make the git repository of a task below a folder, as `OWNER__NAME`, and return its instance."""
    folder = repositories / f"{_OWNER}__{task.name}"
    write_files(folder, {**task.files, ".gitignore": _IGNORED, "tests/__init__.py": ""})
    git(folder, "init", "-qb", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    base = git(folder, "rev-parse", "HEAD").strip()
    test_patch = _patch_of(folder, task.tests)
    return {
        "repo": f"{_OWNER}/{task.name}",
        "instance_id": task.instance_id,
        "base_commit": base,
        "patch": _patch_of(folder, task.right) if task.right else "",
        "test_patch": test_patch,
        "problem_statement": task.problem,
        "hints_text": "HINT: not for the model",
        "created_at": _DATE,
        "version": "1.0",
        "FAIL_TO_PASS": list(task.fail_to_pass),
        "PASS_TO_PASS": list(task.pass_to_pass),
        "environment_setup_commit": base,
    }


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _patch_of(folder: Path, files: dict[str, str]) -> str:
    """Return the diff that changes these files, and leave the repository as it was."""
    write_files(folder, files)
    git(folder, "add", "-A")
    patch = git(folder, "diff", "--cached", "--binary")
    git(folder, "reset", "-q", "--hard")
    return patch


def git(folder: Path, *words: str, stdin: str | None = None) -> str:
    """Run git with a fixed author, without settings of the machine, and return its output; raises when it fails."""
    fixed = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _AUTHOR.items()}
    environ = {**os.environ, **fixed, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environ, input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


_AUTHOR = {"NAME": "A", "EMAIL": "a@example.org", "DATE": _DATE}
