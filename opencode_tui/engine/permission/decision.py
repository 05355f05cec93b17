"""The decision about one query: denied by a rule, allowed, or left to the user. Pure. Source: reference, section 27."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from opencode_tui.engine.permission.ruleset import evaluate, evaluate_layers, matches
from opencode_tui.schema.error import DeniedError
from opencode_tui.schema.permission import Rule, Ruleset, ToolCallRef


class Query(Struct, frozen=True):
    """The permission that a tool call needs: every pattern must be allowed.

    `always` are the patterns that an `always` reply grants. Only a rule with exactly the same pattern allows a pattern in
    `must_ask`, because its effects can't be determined in advance.
    """

    session_id: str
    permission: str
    patterns: Sequence[str]
    always: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    tool: ToolCallRef | None = None
    must_ask: Collection[str] = ()


def open_patterns(query: Query, layers: Sequence[Ruleset]) -> list[str]:
    """Return the patterns that rules neither allow nor deny; `layers` are the agent's rules and those of its parents.

    A query without patterns needs approval for the whole permission. Raises DeniedError for the first pattern that a layer denies.
    """
    undecided: list[str] = []
    for pattern in query.patterns or ("*",):
        rule = evaluate_layers(query.permission, pattern, layers)
        if rule.action == "deny":
            raise DeniedError(query.permission, pattern, _rules_about(query.permission, layers))
        if rule.action == "ask" or (pattern in query.must_ask and not _is_named(query.permission, pattern, layers)):
            undecided.append(pattern)
    return undecided


def is_granted(query: Query, pattern: str, grants: Iterable[Rule]) -> bool:
    """Return whether a grant of the user covers an undecided pattern."""
    return any(
        grant.pattern == pattern if pattern in query.must_ask else matches(grant.pattern, pattern)
        for grant in grants
        if grant.action == "allow" and matches(grant.permission, query.permission)
    )


def _is_named(permission: str, pattern: str, layers: Sequence[Ruleset]) -> bool:
    """Return whether in every layer the deciding rule has exactly this pattern."""
    return pattern != "*" and all(evaluate(permission, pattern, layer).pattern == pattern for layer in layers)


def _rules_about(permission: str, layers: Sequence[Ruleset]) -> list[Rule]:
    return [rule for layer in layers for rule in layer if matches(rule.permission, permission)]
