"""What `opencode-tui batch` does: read the tasks, check them, run them, report."""

import asyncio
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencode_tui.batch.journal import Journal, open_journal
from opencode_tui.batch.pool import BatchEnd, BatchLimits, run_batch
from opencode_tui.batch.swebench import check_predictions_path, is_instances, read_instances, write_predictions
from opencode_tui.batch.task import BatchTask, TaskOrder, prompt_tasks, read_tasks
from opencode_tui.cli.commands.batch.cluster import open_workers
from opencode_tui.cli.engine_access import run_main
from opencode_tui.cli.terminal import say
from opencode_tui.client.local import open_clients
from opencode_tui.client.task_repository import TaskRepository, open_repository, remove_leftovers
from opencode_tui.schema.api.request import PromptInput
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.model import parse_model_ref, require_model_ref

RESULTS = ".results.jsonl"


def run_tasks(options: Mapping[str, Any]) -> int:
    """Run a batch and return the exit code: 0 when all tasks are done, else 1. Raises OpencodeError before anything runs."""
    tasks, out = _read_tasks(options)
    if options["model"]:
        require_model_ref(options["model"], "--model")
    if options["predictions"]:
        check_predictions_path(Path(options["predictions"]), is_resumed=options["is_resumed"])
    with open_journal(out, is_resumed=options["is_resumed"]) as journal, _predicting(options, tasks, journal):
        missing = [task for task in tasks if task.id not in journal.results]
        _report_changed(tasks, journal)

        async def main() -> BatchEnd:
            orders = await _prepare(missing, options, _base_folder(options))
            await remove_leftovers(os.environ)
            limits = BatchLimits(options["total_timeout"], options["total_cost"])
            async with open_workers(options, orders) as (workers, jobs):
                return await run_batch(orders, workers, journal, jobs=jobs, limits=limits, progress=_Lines(len(orders)))

        try:
            end = run_main(main)
        except KeyboardInterrupt:
            say(f"{len(journal.results)} of {len(tasks)} tasks have results in {out}; --resume runs the rest")
            raise
    if end.stopped:
        say(f"{end.stopped}; {end.missing} tasks have no result; --resume runs them")
    return 0 if not end.missing and all(one.status == "done" for one in journal.results.values()) else 1


class _Lines:
    """A line for each task that ends."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._ended = 0

    def started(self, order: TaskOrder) -> None:
        """Do nothing."""

    def cost(self, order: TaskOrder, usd: float) -> None:
        """Do nothing."""

    def ended(self, order: TaskOrder, result: Any) -> None:
        """Write the line."""
        self._ended += 1
        say(
            f"[{self._ended}/{self._count}] {result.id}: {result.status}"
            + (f" ({result.error})" if result.error else "")
        )


def _read_tasks(options: Mapping[str, Any]) -> tuple[list[BatchTask], Path]:
    """Return the tasks and the results file. Raises ConfigError."""
    name, prompt, folders = options["tasks"], options["prompt"], options["dirs"]
    if prompt is not None:
        if name is not None:
            raise ConfigError("give either TASKS or --prompt with --dirs")
        if not prompt.strip() or not folders:
            raise ConfigError('--prompt needs a text and --dirs, e.g. --prompt "update the readme" --dirs a --dirs b')
        return prompt_tasks(prompt, folders), Path(options["out"] or f"batch{RESULTS}")
    if name is None:
        raise ConfigError(
            "no tasks given; name a file of tasks, or use --prompt with --dirs (see `opencode-tui batch --help`)"
        )
    if name == "-":
        tasks = _parse_tasks(sys.stdin.buffer.read(), "standard input", options["repos"])
        return tasks, Path(options["out"] or f"batch{RESULTS}")
    path = Path(name).expanduser()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{name} cannot be read ({error.strerror}); name a file with a JSON object a line") from error
    return _parse_tasks(data, name, options["repos"]), Path(options["out"] or path.with_suffix(RESULTS))


def _parse_tasks(data: bytes, name: str, repositories: str | None) -> list[BatchTask]:
    """Return the tasks of a file of tasks or of instances. Raises ConfigError."""
    if is_instances(data):
        if repositories is None:
            raise ConfigError(
                f"{name} has instances of SWE-bench; name the folder with checkouts of their repositories with --repos"
            )
        return read_instances(data, name, Path(os.path.abspath(Path(repositories).expanduser())))
    if repositories is not None:
        raise ConfigError(f"--repos is for instances of SWE-bench, but {name} has tasks; use `dir` in them")
    return read_tasks(data, name)


@contextmanager
def _predicting(options: Mapping[str, Any], tasks: Sequence[BatchTask], journal: Journal) -> Generator[None]:
    """Write the predictions of all results when the batch has ended or is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        _write_predictions(options["predictions"], tasks, journal)
        raise
    _write_predictions(options["predictions"], tasks, journal)


def _write_predictions(name: str | None, tasks: Sequence[BatchTask], journal: Journal) -> None:
    if name:
        count = write_predictions(Path(name), tasks, journal.results)
        say(f"{count} predictions in {name}")


def _base_folder(options: Mapping[str, Any]) -> Path:
    name = options["tasks"]
    return Path.cwd() if name in (None, "-") else Path(os.path.abspath(Path(name).expanduser())).parent


def _report_changed(tasks: Sequence[BatchTask], journal: Journal) -> None:
    """Say which tasks differ from those that have results."""
    known = {task.id: task.fingerprint() for task in tasks}
    changed = [
        one.id
        for one in journal.results.values()
        if one.task_hash and known.get(one.id, one.task_hash) != one.task_hash
    ]
    gone = [name for name in journal.results if name not in known]
    if changed:
        say(f"changed since their results, which are kept: {', '.join(changed)}; remove their lines to run them again")
    if gone:
        say(f"results of tasks that are not in this batch any more: {', '.join(gone)}")


def _under(base: Path, name: str) -> Path:
    return base / os.path.expanduser(name)


async def _prepare(tasks: Sequence[BatchTask], options: Mapping[str, Any], base_folder: Path) -> list[TaskOrder]:
    """Return the orders. Raises ConfigError or ModelNotFoundError for a task that could not run."""
    here = Path.cwd()
    repositories: dict[Path, TaskRepository] = {}
    commits: dict[tuple[Path, str], str] = {}
    orders: list[TaskOrder] = []
    for task in tasks:
        folder = here if task.dir is None else _under(base_folder, task.dir)
        try:
            if folder not in repositories:
                repositories[folder] = await asyncio.to_thread(open_repository, os.environ, folder)
            base = task.base or "HEAD"
            if (folder, base) not in commits:
                commits[folder, base] = await repositories[folder].find_commit(base)
        except OpencodeError as error:
            raise ConfigError(f"task {task.id}: {error}") from error
        orders.append(
            TaskOrder(
                task=task,
                directory=str(repositories[folder].directory),
                commit=commits[folder, base],
                model=task.model or options["model"],
                agent=task.agent or options["agent"],
                timeout=task.timeout or options["timeout"],
                max_cost=options["max_cost"],
            )
        )
    if options["scheduler"] is None:
        await _check_models(orders)
    for repository in {one.repository.worktree: one for one in repositories.values()}.values():
        if count := await repository.count_uncommitted():
            files = "1 uncommitted file" if count == 1 else f"{count} uncommitted files"
            say(f"{repository.repository.worktree} has {files}, which the tasks do not see: they start from commits")
    return orders


async def _check_models(orders: Sequence[TaskOrder]) -> None:
    """Raise ConfigError for a model or an agent that does not exist in the folder of its task."""
    wanted = {(order.directory, order.model, order.agent): order.task.id for order in orders}
    if not wanted:
        return
    async with open_clients(os.environ, Path(next(iter(wanted))[0])) as clients:
        for (directory, model, agent), task_id in wanted.items():
            client = await clients.at(directory)
            request = PromptInput(model=parse_model_ref(model) if model else None, agent=agent, parts=[])
            try:
                await client.prompts.check(request)
            except OpencodeError as error:
                raise ConfigError(f"task {task_id}: {error}") from error
