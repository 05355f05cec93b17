"""Random lists of rules × calls: the decisions of OpenCode 2's evaluator and of ours. Needs OPENCODE_PROGRAMS (see real_preview).

The preview is asked through its API: each list is an agent of its settings, each call a request for approval.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from opencode_tui.config.sources.layer import parse_layer
from opencode_tui.engine.permission.ruleset import evaluate, from_config, most_restrictive, strictness
from opencode_tui.schema.error import ConfigError
from tests.benchmarks.comparison import Figure, report
from tests.support.importing.real_opencode import PROGRAMS
from tests.support.importing.real_preview import PreviewSession, RealPreview, preview_program
from tests.support.provider.model_server import ModelServer
from tests.support.random_rules import calls, preview_effect, rules
from tests.support.world.repo import make_repo

LISTS, CALLS, GROUPS = 1_000, 5, 4
"""Lists of one group share the rules of the settings; each group has a server of its own."""


class Comparison:
    """Both evaluators over the same lists."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.laxer: list[str] = []

    def compare(
        self, settings: dict[str, Any], agent: str, asked: tuple[str, list[str]], theirs: str, home: Path
    ) -> None:
        """Count how a decision of ours is beside theirs."""
        try:
            layer = parse_layer(json.dumps(settings), source="opencode.json", origin="user", folder=home)
        except ConfigError:
            self.counts["refused"] += 1
            return
        own = layer.value["agent"][agent].get("permission", {})
        ruleset = [*from_config(layer.value["permission"], home=home), *from_config(own, home=home)]
        action, resources = asked
        ours = most_restrictive(evaluate(action, resource, ruleset) for resource in resources).action
        given = [*settings["permissions"], *settings["agents"][agent]["permissions"]]
        if preview_effect(given, action, resources, str(home)) != theirs:
            self.counts["the statement of their evaluator is wrong"] += 1
            self.laxer.append(f"stated wrongly: {given} {asked} → {theirs}")
        elif ours == theirs:
            self.counts["the same"] += 1
        elif strictness(ours) > strictness(theirs):  # type: ignore[arg-type] - an effect is an action
            self.counts["stricter"] += 1
        else:
            self.counts["laxer"] += 1
            self.laxer.append(f"{given} {asked}: {theirs} there, {ours} here")


def ask(client: httpx.Client, session: str, agent: str, action: str, resources: list[str]) -> str:
    """Return the decision of the preview's evaluator."""
    body = {"agent": agent, "action": action, "resources": resources}
    answer = client.post(f"/api/session/{session}/permission", json=body)
    assert answer.is_success, answer.text[:500]
    return str(answer.json()["data"]["effect"])


def run(program: Path, top: Path, chance: random.Random, comparison: Comparison, provider: dict[str, Any]) -> None:
    """Compare one group."""
    repo = make_repo(top / "project")
    repo.commit("begin", **{"a.txt": "a\n"})
    preview = RealPreview(program, top / "home", repo.path, provider)
    agents = {f"a{at}": {"permissions": rules(chance)} for at in range(LISTS // GROUPS)}
    settings: dict[str, Any] = {"permissions": rules(chance, 3), "agents": agents}
    preview.configure(**settings)
    with preview.serve() as client:
        session = PreviewSession(client, repo.path).id
        for name, agent in agents.items():
            given = [*settings["permissions"], *agent["permissions"]]
            for asked in calls(chance, given, CALLS, str(preview.home)):
                theirs = ask(client, session, name, *asked)
                one = {"permissions": settings["permissions"], "agents": {name: agent}}
                comparison.compare(one, name, asked, theirs, preview.home)


def main() -> int:
    """Compare and return the exit code."""
    program = preview_program()
    if program is None:
        print(f"skipped: {PROGRAMS} has no preview of OpenCode 2; the head of real_preview.py says how to install it")
        return 0
    comparison = Comparison()
    chance = random.Random(37)
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        for group in range(GROUPS):
            run(program, Path(name, str(group)), chance, comparison, model.config())
    for line in comparison.laxer[:10]:
        print(line[:1500])
    counts = comparison.counts
    return report(
        [
            Figure(f"laxer decisions of {sum(counts.values()):,} on {LISTS:,} lists", counts["laxer"], 0, ""),
            Figure(
                "decisions that the tests state wrongly", counts["the statement of their evaluator is wrong"], 0, ""
            ),
            Figure("stricter decisions", counts["stricter"], sum(counts.values()) // 10, ""),
            Figure("calls on lists that are refused", counts["refused"], sum(counts.values()) // 100, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
