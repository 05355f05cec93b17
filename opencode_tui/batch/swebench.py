"""Instances of SWE-bench as tasks, and results as its predictions.

The fields are those of the data set (https://www.swebench.com, "Datasets"): `instance_id`, `repo` as OWNER/NAME, `base_commit` and
`problem_statement` are read. What would give the answer away, the change, its tests and the hints, is left out of the task, and
the task works in a clone without later commits.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from opencode_tui.batch.task import BatchTask, TaskResult, make_task
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.json_text import JsonError, TooDeepError, load_json, shallow
from opencode_tui.schema.record import JsonObject

PREDICTION_FORMATS = (".jsonl", ".json")

_REPOSITORY = re.compile(r"(?!\.)[\w.-]+/(?!\.)[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_REQUIRED = ("instance_id", "repo", "base_commit", "problem_statement")
_MOST_NAMED = 3

_PROMPT = """\
{problem}

---
The text above is an issue of the repository in the current folder. Change the code so that the issue is resolved, in general and
not only for its examples. What works now must still work. Find the cause before you edit, and run the tests that there are. Nobody
can answer a question: decide for yourself where the issue is open.
"""
"""The problem comes first, because the session's title is its first words."""


def is_instances(data: bytes) -> bool:
    """Return whether a file has instances: a JSON list, or lines, the first with an `instance_id` and no `prompt`."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return True
    try:
        first = load_json(text.partition(b"\n")[0])
    except JsonError:
        return False
    return isinstance(first, dict) and "instance_id" in first and "prompt" not in first


def read_instances(data: bytes, name: str, repositories: Path) -> list[BatchTask]:
    """Return a task for each instance of a JSON list or of JSON lines, with its checkout below `repositories` as `dir`.

    Raises ConfigError for the first wrong instance, with its number, the key and the remedy, and for repositories without a
    checkout. Blocks.
    """
    tasks: dict[str, BatchTask] = {}
    missing: dict[str, None] = {}
    for where, value in _read_values(data, name):
        fields = _check_instance(value, where)
        if fields["instance_id"] in tasks:
            raise ConfigError(f"{where}: instance_id {fields['instance_id']!r} is there twice; remove one of the two")
        folder = _find_checkout(repositories, fields["repo"])
        if folder is None:
            missing[fields["repo"]] = None
        task = {
            "id": fields["instance_id"],
            "prompt": _PROMPT.format(problem=fields["problem_statement"].strip()),
            "dir": str(folder),
            "base": fields["base_commit"],
            "isolate": True,
        }
        tasks[fields["instance_id"]] = make_task(task, where)
    if not tasks:
        raise ConfigError(f"{name} has no instances; write a JSON list, or one JSON object per line")
    if missing:
        raise ConfigError(_describe_missing(list(missing), repositories))
    return list(tasks.values())


def _read_values(data: bytes, name: str) -> Iterator[tuple[str, object]]:
    """Yield each value of a list or of the lines, with the text that says where it is."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: not UTF-8; convert it") from None
    if text.lstrip().startswith("["):
        for number, value in enumerate(cast("list[object]", _parse(text, name, 1)), 1):
            yield f"{name}: instance {number}", value
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{name}:{number}", _parse(line, name, number)


def _parse(text: str, name: str, line: int) -> object:
    try:
        return shallow(json.loads(text))
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{name}:{line + error.lineno - 1}: not valid JSON ({error.msg}); write a JSON list, or one JSON object per line"
        ) from None
    except (RecursionError, TooDeepError):
        raise ConfigError(f"{name}:{line}: nested too deeply; write a JSON list, or one JSON object per line") from None


def _check_instance(value: object, where: str) -> dict[str, str]:
    """Return the fields that are read, all strings. Raises ConfigError."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: not an object; write the keys {', '.join(_REQUIRED)}")
    instance = cast(JsonObject, value)
    fields: dict[str, str] = {}
    for key in _REQUIRED:
        field = instance.get(key)
        if field is None:
            raise ConfigError(f"{where}: {key} is missing; write the keys {', '.join(_REQUIRED)}")
        if not isinstance(field, str) or not field.strip():
            raise ConfigError(f"{where}: {key}: {str(field)[:40]!r} is not a text; correct the value")
        fields[key] = field
    if not _REPOSITORY.fullmatch(fields["repo"]):
        raise ConfigError(f"{where}: repo: {fields['repo'][:60]!r} is not OWNER/NAME; correct the value")
    if not _COMMIT.fullmatch(fields["base_commit"]):
        raise ConfigError(
            f"{where}: base_commit: {fields['base_commit'][:60]!r} is not the id of a commit; write 7 to 64 hexadecimal digits"
        )
    return fields


def _find_checkout(repositories: Path, repository: str) -> Path | None:
    """Return the folder of a repository, `OWNER__NAME` or `OWNER/NAME`, or None."""
    folders = (repositories / repository.replace("/", "__"), repositories / repository)
    return next((folder for folder in folders if folder.is_dir()), None)


def _describe_missing(missing: list[str], repositories: Path) -> str:
    named = ", ".join(missing[:_MOST_NAMED])
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    first = repositories / missing[0].replace("/", "__")
    return f"no checkout of {named}{more} in {repositories}; clone each there, e.g. to {first}, or name another folder with --repos"


def check_predictions_path(path: Path, *, is_resumed: bool) -> None:
    """Raise ConfigError when predictions cannot or must not be written to a path: nothing that exists is lost. Blocks."""
    if path.suffix not in PREDICTION_FORMATS:
        raise ConfigError(
            f"--predictions: {path} must end with {' or '.join(PREDICTION_FORMATS)}; the ending is the format"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"--predictions: there is no folder {path.parent}; create it, or name another file")
    if path.exists() and not (is_resumed and _has_predictions(path)):
        raise ConfigError(f"--predictions: {path} exists; remove it, or name another file")


def _has_predictions(path: Path) -> bool:
    """Return whether a file is one that `write_predictions` wrote, which may be replaced."""
    try:
        values = [value for _, value in _read_values(path.read_bytes(), path.name)]
    except (OSError, ConfigError):
        return False
    return all(isinstance(value, dict) and "model_patch" in value for value in values)


def write_predictions(path: Path, tasks: Iterable[BatchTask], results: Mapping[str, TaskResult]) -> int:
    """Write a prediction for each task with a result, in the order of the tasks, and return their number.

    A task without a change has an empty patch, which the harness counts as not solved; one without a model, because it ended
    before a request, has the model of the others. Raises ConfigError. Blocks.
    """
    model = next((result.model for result in results.values() if result.model), "opencode-tui")
    predictions = [_prediction(results[task.id], model) for task in tasks if task.id in results]
    if path.suffix == ".json":
        text = json.dumps(predictions, indent=2) + "\n"
    else:
        text = "".join(json.dumps(one) + "\n" for one in predictions)
    try:
        path.write_text(text, encoding="ascii")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written ({error.strerror}); --resume writes it to another file of --predictions"
        ) from error
    return len(predictions)


def _prediction(result: TaskResult, model: str) -> JsonObject:
    return {
        "instance_id": result.id,
        "model_name_or_path": result.model or model,
        "model_patch": result.diff,
    }
