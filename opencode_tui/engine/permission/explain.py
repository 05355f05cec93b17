"""Why what a tool asks would be allowed, asked for or denied: the rule that decides, where it was set, the grant that answers."""

from collections.abc import Sequence

from opencode_tui.engine.permission.decision import Query, is_granted
from opencode_tui.engine.permission.ruleset import evaluate, strictness
from opencode_tui.schema.permission import Action, PermissionReport, Rule, Verdict

UNKNOWABLE = "runs arbitrary code"


def explain(
    queries: Sequence[Query], *, rules: Sequence[Rule], origins: Sequence[str], grants: Sequence[Rule]
) -> PermissionReport:
    """Return the verdicts on these queries of one tool call under these rules and grants.

    `origins` says of each rule where it was set, empty for one that is built in.
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
