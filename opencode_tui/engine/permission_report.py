"""Why something would be allowed, asked for or denied, found out by asking exactly as the tools ask."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.engine.permission.decision import Query, is_granted
from opencode_tui.engine.permission.ruleset import evaluate, strictness
from opencode_tui.engine.tool.bash_permission import ask_for_command
from opencode_tui.engine.tool.location import locate
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.permission import Action, PermissionReport, Rule, Verdict

UNKNOWABLE = "runs arbitrary code"
_PATHS = ("read", "edit")


class Act(Struct, frozen=True):
    """Something a tool might do: for `bash` a command line, for `read` and `edit` a path, else the pattern itself."""

    permission: str
    subject: str


@dataclass(slots=True)
class _Questions:
    """Takes down what a tool would ask, and lets it pass."""

    asked: list[Query] = field(default_factory=list[Query])

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        self.asked.append(
            Query(session_id="", permission=permission, patterns=patterns, always=always, must_ask=must_ask)
        )


async def explain(
    act: Act,
    *,
    rules: Sequence[Rule],
    origins: Sequence[str],
    grants: Sequence[Rule],
    directory: Path,
    worktree: Path,
    home: Path,
) -> PermissionReport:
    """Return the verdicts on an act under these rules and grants; nothing is run or stored.

    `origins` tell of each rule where it stands, empty for one that is built in.
    """
    questions = _Questions()
    context = ToolContext(
        session_id="",
        message_id="",
        call_id="",
        agent="",
        directory=directory,
        worktree=worktree,
        ask=questions,
        progress=lambda _title, _metadata: None,
    )
    if act.permission == "bash":
        await ask_for_command(act.subject, folder=directory, home=home, context=context)
    elif act.permission in _PATHS:
        place = await locate(act.subject, context)
        await questions(act.permission, place.read_patterns if act.permission == "read" else place.edit_patterns)
    else:
        await questions(act.permission, [act.subject])
    verdicts = [
        _verdict(query, pattern, rules=rules, origins=origins, grants=grants)
        for query in questions.asked
        for pattern in query.patterns
    ]
    always = [pattern for query in questions.asked for pattern in query.always]
    actions: list[Action] = ["allow", *(verdict.action for verdict in verdicts)]
    action = max(actions, key=strictness)
    return PermissionReport(action=action, verdicts=verdicts, always=always)


def _verdict(
    query: Query, pattern: str, *, rules: Sequence[Rule], origins: Sequence[str], grants: Sequence[Rule]
) -> Verdict:
    rule = evaluate(query.permission, pattern, rules)
    at = next((at for at, one in enumerate(rules) if one is rule), None)
    note = UNKNOWABLE if pattern in query.must_ask and rule.pattern != pattern else None
    action = "ask" if note and rule.action == "allow" else rule.action
    grant = None
    if action == "ask":
        grant = next((one for one in grants if is_granted(query, pattern, [one])), None)
    return Verdict(
        permission=query.permission,
        pattern=pattern,
        action="allow" if grant else action,
        rule=rule if at is not None else None,
        source=(origins[at] or None) if at is not None else None,
        grant=grant,
        note=note,
    )
