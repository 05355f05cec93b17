"""The same inexact edits through the edit tools of real OpenCode programs and ours. Needs OPENCODE_PROGRAMS (see real_opencode).

The cases are those of `bench_edits`; OpenCode's server reads and edits each file with a scripted model. Goal: ours changes nothing
else than was meant in any of them, and refuses no more than any OpenCode.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.benchmarks.bench_edits import find_hunks
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.support.importing.real_opencode import PROGRAMS, RealOpenCode, program_of
from tests.support.provider.model_server import ModelServer
from tests.support.source.edit_cases import Case, make_cases, outcome_of
from tests.support.world.repo import make_repo

VERSIONS = ("1.1.65", "1.18.33")
CASES, QUICK_CASES = 600, 200
_CASES_OF_A_SESSION = 10


def run_cases(client: httpx.Client, project: Path, cases: Sequence[Case]) -> list[str]:
    """Return the outcome of each case through the server's read and edit tools."""
    outcomes: list[str] = []
    session = ""
    for number, case in enumerate(cases):
        if number % _CASES_OF_A_SESSION == 0:
            session = client.post("/session", json={}).raise_for_status().json()["id"]
        path = project / f"case_{number}{Path(case.name).suffix}"
        path.write_bytes(case.file.encode())
        edit = {"filePath": str(path), "oldString": case.old, "newString": case.new}
        calls = [("read", {"filePath": str(path)}), ("edit", {**edit, "replaceAll": case.replace_all})]
        text = " ".join(f"<<tool {name} {_escaped(arguments)}>>" for name, arguments in calls)
        message = {"parts": [{"type": "text", "text": text}]}
        client.post(f"/session/{session}/message", json=message).raise_for_status()
        outcomes.append(_outcome(case, path.read_bytes()))
        path.unlink()
    return outcomes


def _escaped(arguments: object) -> str:
    """Return JSON in which no directive of the scripted model begins or ends."""
    return json.dumps(arguments).replace("<", "\\u003c").replace(">", "\\u003e")


def _outcome(case: Case, after: bytes) -> str:
    if after == case.file.encode():
        return "refused as it must be" if case.want is None else "refused"
    return "right" if case.want is not None and after == case.want.encode() else "wrong"


def main() -> int:
    """Print a table of right, refused and wrong for each disturbance, then the figures."""
    programs = {version: program for version in VERSIONS if (program := program_of(version)) is not None}
    if not programs:
        print(f"skipped: {PROGRAMS} has no opencode {', '.join(VERSIONS)}")
        return 0
    cases = make_cases(find_hunks(), rounds(CASES, QUICK_CASES))
    outcomes = {"ours": [outcome_of(case) for case in cases]}
    with tempfile.TemporaryDirectory() as folder, ModelServer() as model:
        for version, program in programs.items():
            repo = make_repo(Path(folder) / version / "project")
            repo.commit("begin", **{"a.txt": "a\n"})
            real = RealOpenCode(program, Path(folder) / version / "home", repo.path, model.config())
            with real.serve() as client:
                outcomes[f"opencode {version}"] = run_cases(client, repo.path, cases)
    _print_table(cases, outcomes)
    totals = {name: Counter(found) for name, found in outcomes.items()}
    refused = min(total["refused"] for name, total in totals.items() if name != "ours")
    return report(
        [
            Figure("ours: edits that change something else than was meant", totals["ours"]["wrong"], 0, ""),
            Figure("ours: refused of those that should be applied", totals["ours"]["refused"], refused, ""),
        ]
    )


def _print_table(cases: Sequence[Case], outcomes: dict[str, list[str]]) -> None:
    kinds = sorted({case.kind for case in cases})
    print(f"{'right / refused / wrong':<36}" + "".join(f"{name:>20}" for name in outcomes))
    for kind in (*kinds, "all"):
        cells: list[str] = []
        for found in outcomes.values():
            counted = Counter(one for one, case in zip(found, cases, strict=True) if kind in (case.kind, "all"))
            right = counted["right"] + counted["refused as it must be"]
            cells.append(f"{right} / {counted['refused']} / {counted['wrong']}")
        print(f"{kind:<36}" + "".join(f"{cell:>20}" for cell in cells))
    print("\nright: also refused where it must be")


if __name__ == "__main__":
    sys.exit(main())
