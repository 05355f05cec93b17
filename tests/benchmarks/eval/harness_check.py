"""Reads instances and predictions with the code of SWE-bench's own harness and grades the test logs with it.

Runs with a Python that has the package `swebench`, without anything of this project: `PYTHON harness_check.py FOLDER`. The folder
has `instances.jsonl`, `predictions.jsonl`, `predictions.json` and a log of pytest for each instance, `INSTANCE_ID.log`. Prints a
JSON object: what the harness counts as resolved, and the instances that it would run.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    folder = Path(sys.argv[1])
    harness: dict[str, Any] = {
        name: importlib.import_module(f"swebench.harness.{name}")
        for name in ("utils", "run_evaluation", "grading", "log_parsers.python")
    }
    instances_path = str(folder / "instances.jsonl")
    read = harness["utils"].get_predictions_from_file
    predictions = read(str(folder / "predictions.jsonl"), instances_path, "test")
    assert predictions == read(str(folder / "predictions.json"), instances_path, "test")
    by_id = {one["instance_id"]: one for one in predictions}
    run = harness["run_evaluation"].get_dataset_from_preds(instances_path, "test", [], by_id, "check", False)
    resolved: list[str] = []
    for instance in run:
        log = (folder / f"{instance['instance_id']}.log").read_text(encoding="utf-8")
        outcomes = harness["log_parsers.python"].parse_log_pytest(log, None)
        report = harness["grading"].get_eval_tests_report(outcomes, instance)
        if harness["grading"].get_resolution_status(report) == "RESOLVED_FULL":
            resolved.append(instance["instance_id"])
    print(json.dumps({"resolved": resolved, "run": [one["instance_id"] for one in run]}))


if __name__ == "__main__":
    main()
