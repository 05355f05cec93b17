"""How the results of a batch get into the repositories: as branches, or as changes of the work tree."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from opencode_tui.batch.task import TaskResult
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.client.task_repository import TaskRepository, open_repository
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import plural

_SUBJECT_CHARS = 72


async def make_branches(results: Sequence[TaskResult], prompts: Mapping[str, str], *, is_dry: bool) -> int:
    """Make a branch of the changes of each result; return how many failed."""
    failed = 0
    for result in results:
        if is_dry:
            print_result(f"would make branch opencode-tui/batch-{result.id}: {_files(result)}")
            continue
        try:
            repository = await _open(result)
            message = _message(result, prompts.get(result.id, ""))
            branch, is_new = await repository.make_branch(
                f"batch-{result.id}", base=result.base or "HEAD", diff=result.diff, message=message
            )
        except OpencodeError as error:
            failed += 1
            say(f"{result.id}: no branch: {error}")
            continue
        print_result(f"branch {branch}{'' if is_new else ' (existed)'}: {_files(result)}")
    return failed


async def apply_results(results: Sequence[TaskResult], *, is_dry: bool, is_sure: bool) -> int:
    """Apply the changes of each result to its work tree, without those that conflict; return how many were refused."""
    refused = 0
    changed: dict[tuple[str, str], str] = {}
    can_apply: list[tuple[TaskResult, TaskRepository]] = []
    for result in results:
        try:
            repository = await _open(result)
            top = str(repository.repository.worktree)
            others = {changed[top, file] for file in result.files if (top, file) in changed}
            reason = await repository.find_conflict(result.diff, result.files)
        except OpencodeError as error:
            others, reason, top, repository = set[str](), str(error), "", None
        if others:
            reason = f"it changes the same files as {', '.join(sorted(others))}"
        if reason or repository is None:
            refused += 1
            say(f"{result.id}: not applied: {reason}")
            continue
        changed.update(((top, file), result.id) for file in result.files)
        can_apply.append((result, repository))
        if is_dry:
            print_result(f"would apply {result.id}: {_files(result)}")
        elif not is_sure and _is_terminal():
            say(f"apply {result.id}: {_files(result)}")
    if is_dry or not can_apply or not (is_sure or _is_agreed(len(can_apply), len(changed))):
        return refused
    for result, repository in can_apply:
        try:
            await repository.apply(result.diff)
        except OpencodeError as error:
            refused += 1
            say(f"{result.id}: not applied: {error}")
        else:
            print_result(f"applied {result.id}: {_files(result)}")
    return refused


def with_changes(results: Sequence[TaskResult], refusal: str) -> list[TaskResult]:
    """Return the results of done tasks that changed files; say which others are left out, after `refusal`, as `no branch`."""
    left = [one.id for one in results if one.status != "done"]
    same = [one.id for one in results if one.status == "done" and not one.diff]
    if left:
        say(f"{refusal} (not done): {', '.join(left)}")
    if same:
        say(f"{refusal} (no changes): {', '.join(same)}")
    return [one for one in results if one.status == "done" and one.diff]


def _is_agreed(count: int, files: int) -> bool:
    """Ask in a terminal; without one the option is the answer."""
    if not _is_terminal():
        return True
    words = f"Apply {plural(count, 'result')} to {plural(files, 'file')} of your work tree?"
    return click.confirm(words, err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


async def _open(result: TaskResult) -> TaskRepository:
    return await asyncio.to_thread(open_repository, os.environ, Path(result.directory or os.curdir))


def _files(result: TaskResult) -> str:
    return ", ".join(_some(result.files))


def _some(files: Sequence[str], count: int = 5) -> Iterator[str]:
    yield from files[:count]
    if len(files) > count:
        yield f"{len(files) - count} more"


def _message(result: TaskResult, prompt: str) -> str:
    """Return the message of a branch's commit: the task, its prompt, and the session."""
    subject = " ".join(f"{result.id}: {' '.join(prompt.split())}".split())[:_SUBJECT_CHARS].rstrip(" :")
    session = f"\n\nSession: {result.session}" if result.session else ""
    return f"{subject}{session}\n"
