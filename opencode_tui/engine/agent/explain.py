"""The permissions that a tool call needs, and the rules and grants that allow or deny it. Runs nothing."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from opencode_tui.engine.permission.decision import Query, is_granted
from opencode_tui.engine.permission.ruleset import evaluate, strictness
from opencode_tui.engine.tool.builtin.bash_permission import ask_for_command
from opencode_tui.engine.tool.location import locate
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.permission import Action, PermissionReport, Rule, Verdict

UNKNOWABLE = "runs arbitrary code"
_PATHS = ("read", "edit")


def explain(
    queries: Sequence[Query], *, rules: Sequence[Rule], origins: Sequence[str], grants: Sequence[Rule]
) -> PermissionReport:
    """Return the verdicts on the queries of one tool call under these rules and grants.

    `origins` has the source of each rule, empty for a built-in one.
    """
    verdicts = [
        _verdict(query, pattern, rules=rules, origins=origins, grants=grants)
        for query in queries
        for pattern in query.patterns
    ]
    always = [pattern for query in queries for pattern in query.always]
    actions: list[Action] = ["allow", *(verdict.action for verdict in verdicts)]
    return PermissionReport(action=max(actions, key=strictness), verdicts=verdicts, always=always)


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


async def queries_of(permission: str, subject: str, *, directory: Path, worktree: Path, home: Path) -> list[Query]:
    """Return the queries of a tool that acts on `subject`.

    `subject` is a command line for `bash`, a path for `read` and `edit`, and the pattern itself for any other permission.
    """
    recorder = _Recorder()
    context = ToolContext(
        session_id="",
        message_id="",
        call_id="",
        agent="",
        directory=directory,
        worktree=worktree,
        ask=recorder,
        progress=lambda _title, _metadata: None,
    )
    if permission == "bash":
        await ask_for_command(subject, folder=directory, home=home, context=context)
    elif permission in _PATHS:
        location = await locate(subject, context)
        await recorder(permission, location.read_patterns if permission == "read" else location.edit_patterns)
    else:
        await recorder(permission, [subject])
    return recorder.queries


class _Recorder:
    """Records the queries of a tool and allows them."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        self.queries.append(
            Query(session_id="", permission=permission, patterns=patterns, always=always, must_ask=must_ask)
        )
