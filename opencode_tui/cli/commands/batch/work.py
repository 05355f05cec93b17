"""What `opencode-tui batch` does: read the tasks, check them, run them, report."""

import asyncio
import os
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencode_tui.batch.journal import Journal, open_journal
from opencode_tui.batch.pool import BatchEnd, BatchLimits, run_batch
from opencode_tui.batch.swebench import check_predictions_path, is_instances, read_instances, write_predictions
from opencode_tui.batch.task import BatchTask, TaskOrder, TaskResult, prompt_tasks, read_tasks
from opencode_tui.cli.commands.batch.cluster import open_workers
from opencode_tui.cli.commands.batch.progress import TerminalProgress, summary
from opencode_tui.cli.commands.batch.results import apply_results, make_branches, with_changes
from opencode_tui.cli.engine_access import run_main
from opencode_tui.cli.table import print_table
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.client.local import open_clients
from opencode_tui.client.task_repository import TaskRepository, open_repository, remove_leftovers
from opencode_tui.schema.api.request import PromptInput
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.model import parse_model_ref, require_model_ref
from opencode_tui.text.quantity import plural

RESULTS = ".results.jsonl"
_MOST_NAMED = 5
_HEADS = ("ID", "FOLDER", "BASE", "MODEL", "TIMEOUT", "CHECK", "PROMPT")


def run_tasks(options: Mapping[str, Any]) -> int:
    """Run a batch and return the exit code: 0 when all tasks are done, else 1. Raises OpencodeError before anything runs."""
    tasks, out = _read_tasks(options)
    if options["model"]:
        require_model_ref(options["model"], "--model")
    begin = time.monotonic()
    is_known = options["is_resumed"] or options["is_dry"]
    with open_journal(out, is_resumed=is_known) as journal, _predicting(options, tasks, journal):
        missing = [task for task in tasks if task.id not in journal.results]
        _report_changed(tasks, journal)

        async def main() -> BatchEnd:
            orders = await _prepare(missing, options, _base_folder(options))
            if options["is_dry"] and not orders:
                say(f"nothing to run: {plural(len(tasks), 'task')} with results in {journal.path}")
                return BatchEnd((), 0)
            if options["is_dry"]:
                print_table(_HEADS, [_row(order) for order in orders])
                return BatchEnd((), 0)
            return await _run(orders, options, journal)

        try:
            end = run_main(main)
        except KeyboardInterrupt:
            _report_interruption(len(tasks), journal)
            raise
        results = [journal.results[task.id] for task in tasks if task.id in journal.results]
        if end.stopped:
            say(f"{end.stopped}: {plural(end.missing, 'task')} without a result; --resume runs them")
        if not options["is_dry"]:
            print_result(f"{summary(results, time.monotonic() - begin, len(tasks) - len(results))} · {out}")
        refused = run_main(lambda: _use_results(tasks, results, options)) if results else 0
    is_good = not refused and (options["is_dry"] or all(one.status == "done" for one in results))
    return 0 if is_good and (options["is_dry"] or len(results) == len(tasks)) else 1


async def _run(orders: Sequence[TaskOrder], options: Mapping[str, Any], journal: Journal) -> BatchEnd:
    await remove_leftovers(os.environ)
    if not orders:
        return BatchEnd((), 0)
    limits = BatchLimits(options["total_timeout"], options["total_cost"])
    before, is_queued = list(journal.results.values()), options["scheduler"] is not None
    progress = TerminalProgress(len(orders), before=before, is_queued=is_queued, most=limits.cost)
    async with open_workers(options, orders, report=progress.report) as (workers, jobs):
        say(f"{plural(len(orders), 'task')}, {workers.describe()}")
        try:
            return await run_batch(orders, workers, journal, jobs=jobs, limits=limits, progress=progress)
        finally:
            progress.close()


async def _use_results(tasks: Sequence[BatchTask], results: Sequence[TaskResult], options: Mapping[str, Any]) -> int:
    """Make the branches and apply the changes that the options ask for; return how many results were refused."""
    refused = 0
    if options["has_branches"]:
        prompts = {task.id: task.prompt for task in tasks}
        refused += await make_branches(with_changes(results, "no branch"), prompts, is_dry=options["is_dry"])
    if options["is_applied"]:
        chosen = with_changes(results, "not applied")
        refused += await apply_results(chosen, is_dry=options["is_dry"], is_sure=options["is_sure"])
    return refused


def _report_interruption(count: int, journal: Journal) -> None:
    name = journal.path if journal.results else "no file"
    say(f"{len(journal.results)} of {plural(count, 'task')} finished, results in {name}; --resume runs the rest")


def _row(order: TaskOrder) -> tuple[str, ...]:
    limit = "" if order.timeout is None else f"{order.timeout:g} s"
    words = " ".join(order.task.prompt.split())
    return (
        order.task.id,
        order.directory,
        order.commit[:12],
        order.model or "default",
        limit,
        order.task.check or "",
        words,
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
        raise ConfigError(
            f"{name} cannot be read ({error.strerror}); name a file with one JSON object per line"
        ) from error
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
    """Write the predictions of all results when the batch has ended or is interrupted. Raises ConfigError before it starts."""
    name = None if options["is_dry"] else options["predictions"]
    if name:
        check_predictions_path(Path(name), is_resumed=options["is_resumed"])
    try:
        yield
    except KeyboardInterrupt:
        _write_predictions(name, tasks, journal)
        raise
    _write_predictions(name, tasks, journal)


def _write_predictions(name: str | None, tasks: Sequence[BatchTask], journal: Journal) -> None:
    if name and journal.results:
        count = write_predictions(Path(name), tasks, journal.results)
        say(f"{plural(count, 'prediction')} in {name}")


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
        say(f"changed since their results, which are kept: {_names(changed)}; remove their lines to run them again")
    if gone:
        say(f"results of tasks that are not in this batch any more: {_names(gone)}")


def _names(ids: Sequence[str]) -> str:
    """Return the first of these ids, and how many more there are."""
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return ", ".join(ids[:_MOST_NAMED]) + more


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
                isolate=options["is_isolated"] if task.isolate is None else task.isolate,
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
    ignored: set[str] = set()
    async with open_clients(os.environ, Path(next(iter(wanted))[0])) as clients:
        for (directory, model, agent), task_id in wanted.items():
            client = await clients.at(directory)
            request = PromptInput(model=parse_model_ref(model) if model else None, agent=agent, parts=[])
            try:
                await client.prompts.check(request)
            except OpencodeError as error:
                raise ConfigError(f"task {task_id}: {error}") from error
            ignored.update(map(str, (await client.settings.notices()).ignored))
    if ignored:
        count = plural(len(ignored), "setting")
        say(f"{count} of untrusted folders without effect, e.g. {sorted(ignored)[0]}")
