"""The records of a batch: a task, its result, and the order that one task process gets.

A line of the tasks file is a `BatchTask`, a line of the results file a `TaskResult`. Unknown fields survive.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.field import Field
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.model import require_model_ref
from opencode_tui.schema.record import JsonObject, Record, ValidationError, absent

Status = Literal["done", "failed", "timeout", "rejected"]

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_KEYS = "id, prompt, dir, base, model, agent, timeout, check, isolate"


class BatchTask(Record):
    """One task. `dir` is a folder in a repository, `base` a commit of it (HEAD by default), `check` a shell command.

    The task is done when `check` exits with 0 in its worktree; without one, when the turn ends without an error. `timeout` is in
    seconds and covers both. With `isolate` the task works in a clone of `base` that has nothing newer, not in a worktree.
    """

    id: str
    prompt: str
    dir: str | None = absent()
    base: str | None = absent()
    model: str | None = absent()
    agent: str | None = absent()
    timeout: float | None = absent()
    check: str | None = absent()
    isolate: bool | None = absent()

    def fingerprint(self) -> str:
        """Return a short digest of all fields: a changed task has another one."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]


class TaskOrder(Record):
    """What one task process gets: a task with all defaults filled in.

    `directory` is absolute. `commit` is the full id of the commit to start from, `timeout` in seconds, `max_cost` in USD. With
    `isolate` the task works in a clone of the commit, with `export_session` the result has the session's records in `export`, for a
    store elsewhere.
    """

    task: BatchTask
    directory: str
    commit: str
    model: str | None = absent()
    agent: str | None = absent()
    timeout: float | None = absent()
    max_cost: float | None = absent()
    isolate: bool = False
    export_session: bool = False


class CheckResult(Record):
    """The exit code of a task's check, None after its time limit, and the end of its output."""

    exit: int | None = None
    output: str = ""


class TaskTokens(Record):
    """The tokens of a task: sent without cached ones, written, and those that the provider's cache had."""

    input: int = 0
    output: int = 0
    cached: int = 0


class TaskResult(Record):
    """The result of one task. `cost` is USD; `diff` has the changes since the commit `base`, as `git apply` reads them.

    `error` says why a task is not done. `refused` are calls that were not allowed although the task went on. `task_hash` is the
    fingerprint of the task; `seconds` is the time of its whole process; `export` are the records of the session and its agents'
    sessions, if they were asked for.
    """

    id: str
    status: Status
    session: str | None = absent()
    answer: str = ""
    diff: str = ""
    files: list[str] = Field(default_factory=list[str])
    cost: float = 0
    tokens: TaskTokens = Field(default_factory=TaskTokens)
    seconds: float = 0
    check: CheckResult | None = absent()
    error: str | None = absent()
    refused: list[str] | None = absent()
    base: str | None = absent()
    directory: str | None = absent()
    model: str | None = absent()
    task_hash: str | None = absent()
    attempts: int | None = absent()
    worker: str | None = absent()
    export: list[JsonObject] | None = absent()

    def to_line(self) -> bytes:
        """Return the result as one line of JSON with a line feed; halves of characters become question marks."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def failed_result(order: TaskOrder, error: str, *, seconds: float = 0, status: Status = "failed") -> TaskResult:
    """Return the result of a task without a turn."""
    return TaskResult(
        id=order.task.id,
        status=status,
        error=error,
        seconds=round(seconds, 3),
        base=order.commit,
        directory=order.directory,
        task_hash=order.task.fingerprint(),
    )


def read_tasks(data: bytes, name: str) -> list[BatchTask]:
    """Return the tasks of a file. Raises ConfigError with the line, the key and the remedy of the first wrong one."""
    tasks = list(_read(data, name))
    if not tasks:
        raise ConfigError(f'{name} has no tasks; write one JSON object per line, e.g. {{"id": "t1", "prompt": "…"}}')
    return tasks


def _read(data: bytes, name: str) -> Iterator[BatchTask]:
    lines: dict[str, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            value: Any = load_json(line.decode("utf-8-sig"))
        except ValueError as error:
            reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not valid JSON"
            raise ConfigError(f"{where}: {reason}; write one JSON object per line") from None
        task = make_task(value, where)
        if task.id in lines:
            raise ConfigError(f"{where}: id {task.id!r} is also that of line {lines[task.id]}; ids must differ")
        lines[task.id] = number
        yield task


def make_task(value: object, where: str) -> BatchTask:
    """Return the task of a JSON value. Raises ConfigError that begins with `where`."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: not an object; write the keys {_KEYS}")
    fields = {key: one for key, one in cast(JsonObject, value).items() if one is not None}
    try:
        task = BatchTask.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "value"
        if first["type"] == "missing":
            raise ConfigError(
                f"{where}: {key} is missing; write the keys {_KEYS} (id and prompt are required)"
            ) from None
        raise ConfigError(f"{where}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}; correct the value") from None
    if not _ID.fullmatch(task.id):
        raise ConfigError(
            f"{where}: id: {task.id[:60]!r} is not an id; use up to 100 of A-Z, a-z, 0-9 and '_.+-', a letter or digit first"
        )
    if not task.prompt.strip():
        raise ConfigError(f"{where}: prompt: it is empty; write what the agent has to do")
    if task.timeout is not None and not task.timeout > 0:
        raise ConfigError(f"{where}: timeout: {task.timeout:g} is not a number of seconds above 0")
    if task.model is not None:
        require_model_ref(task.model, f"{where}: model")
    return task


def prompt_tasks(prompt: str, folders: Iterable[str]) -> list[BatchTask]:
    """Return one task a folder, with the folder's name as ID; equal names get a number."""
    names: dict[str, int] = {}
    tasks: list[BatchTask] = []
    for folder in folders:
        name = re.sub(r"[^A-Za-z0-9_.+-]", "-", Path(os.path.abspath(folder)).name).lstrip(".-+")[:90] or "root"
        names[name] = names.get(name, 0) + 1
        number = names[name]
        tasks.append(
            BatchTask(id=name if number == 1 else f"{name}-{number}", prompt=prompt, dir=os.path.abspath(folder))
        )
    return tasks
