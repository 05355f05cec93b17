"""Files of a batch, its tasks and its results."""

import json
from pathlib import Path
from typing import Any


def write_tasks(folder: Path, *tasks: dict[str, Any]) -> Path:
    """Write tasks into a file of the folder and return its path."""
    path = folder / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    return path


def read_results(tasks: Path) -> dict[str, Any]:
    """Return the results of the batch of this file by task; each task has one."""
    lines = tasks.with_suffix(".results.jsonl").read_text().splitlines()
    found = {one["id"]: one for one in map(json.loads, lines)}
    assert len(found) == len(lines)
    return found
