"""The decision about one query: denied by a rule, allowed, or left to the user. Pure.

Source: docs/internals/permissions.md#rules.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.engine.permission.command_forms import NO_FORMS, CommandForms, matches
from opencode_tui.engine.permission.grants import Grant
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.permission.ruleset import BuiltInRule, evaluate, is_about, most_restrictive
from opencode_tui.schema.error import DeniedError
from opencode_tui.schema.permission import Approvals, Rule, Ruleset, ToolCallRef


class Query(Struct, frozen=True):
    """The permission that a tool call needs: every pattern must be allowed.

    `always` are the patterns that an `always` reply grants; with `always_for` these are only those of the patterns that the
    user must allow. A pattern in `by_user` is allowed only by a rule or a grant of the user, not by a built-in rule. One in
    `must_ask` is granted only by exactly this pattern, and unless it is in `by_user` too, also only allowed by such a rule.
    One in `steered` is a command that its kind does not describe, as with a settings file of the project: only a rule of the user
    or a grant with exactly this pattern covers it, or one for everything. No grant moves an `is_steered` query outside the sandbox.
    One in `partial` is a line that may hold more commands than were found: where each command needs the user, it is `steered`.
    `also` are further permissions that the call needs and that the same question asks for. A rejection of an `is_optional`
    question concerns this question alone. `is_foreign`: the call runs a program of others (an MCP server, a plugin), like a
    command, but outside the sandbox. A grant that was given for another `subject` (the definition of a server's tool) does not
    cover the query; an empty one is not compared. `forms` are other spellings of patterns, which rules and grants may use as well,
    `commands` the readings of those that are texts of commands.
    """

    session_id: str
    permission: str
    patterns: Sequence[str]
    always: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    tool: ToolCallRef | None = None
    must_ask: Collection[str] = ()
    by_user: Collection[str] = ()
    steered: Collection[str] = ()
    partial: Collection[str] = ()
    always_for: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    also: "Sequence[Query]" = ()
    is_steered: bool = False
    is_optional: bool = False
    is_foreign: bool = False
    subject: str = ""
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    commands: Mapping[str, CommandForms] = field(default_factory=dict[str, CommandForms])

    def rule_of(self, pattern: str, layer: Ruleset) -> Rule:
        """Return the rule of a ruleset that decides about a pattern."""
        forms, command = self.forms.get(pattern, ()), self.commands.get(pattern, NO_FORMS)
        return evaluate(self.permission, pattern, layer, forms=forms, command=command)

    def is_about(self, grant: Rule, pattern: str) -> bool:
        """Return whether a grant matches a pattern."""
        return is_about(grant, self.permission, self.texts(pattern), self.commands.get(pattern, NO_FORMS))

    def texts(self, pattern: str) -> tuple[str, ...]:
        """Return a pattern with its other spellings."""
        return (pattern, *self.forms.get(pattern, ()))


def open_patterns(query: Query, layers: Sequence[Ruleset]) -> list[str]:
    """Return the patterns that rules neither allow nor deny; `layers` are the agent's rules and those of its parents.

    A query without patterns needs approval for the whole permission. Raises DeniedError for the first pattern that a layer denies.
    """
    undecided: list[str] = []
    for pattern in query.patterns or ("*",):
        rule = most_restrictive(query.rule_of(pattern, layer) for layer in layers or [[]])
        if rule.action == "deny":
            raise DeniedError(query.permission, pattern, rule, _rules_about(query.permission, layers))
        if rule.action == "ask" or not is_allowed_by_rules(query, pattern, layers):
            undecided.append(pattern)
    return undecided


def is_allowed_by_rules(query: Query, pattern: str, layers: Sequence[Ruleset]) -> bool:
    """Return whether in every layer the deciding rule is strong enough to allow the pattern; `layers` all allow it."""
    rules = [query.rule_of(pattern, layer) for layer in layers]
    if pattern in query.must_ask and pattern not in query.by_user:
        return pattern != "*" and all(rule.pattern in query.texts(pattern) for rule in rules)
    if pattern in query.steered and not all(_covers_steered(rule.pattern, pattern) for rule in rules):
        return False
    if pattern in query.by_user or pattern in query.steered:
        return all(not isinstance(rule, BuiltInRule) for rule in rules)
    return True


def is_granted(query: Query, pattern: str, grants: Iterable[Rule]) -> bool:
    """Return whether a grant of the user covers an undecided pattern."""
    return any(
        _grants_pattern(grant, pattern, query)
        for grant in grants
        if grant.action == "allow" and matches(grant.permission, query.permission) and not _is_of_other(grant, query)
    )


def _grants_pattern(grant: Rule, pattern: str, query: Query) -> bool:
    if pattern in query.must_ask:
        return grant.pattern in query.texts(pattern)
    if pattern in query.steered:
        return _covers_steered(grant.pattern, pattern)
    return query.is_about(grant, pattern)


def _covers_steered(wildcard: str, pattern: str) -> bool:
    return wildcard == pattern or not wildcard.strip("*")


def has_changed_since_grant(query: Query, pattern: str, grants: Iterable[Rule]) -> bool:
    """Return whether a grant would cover a pattern if its subject were still the same."""
    return bool(query.subject) and is_granted(replace(query, subject=""), pattern, grants)


def _is_of_other(grant: Rule, query: Query) -> bool:
    return isinstance(grant, Grant) and bool(query.subject) and grant.subject not in ("", query.subject)


def is_always_outside(query: Query, grants: Iterable[Rule]) -> bool:
    """Return whether grants let all commands of a query run outside the sandbox, with all else that it needs."""
    known = list(grants)
    outside = [grant for grant in known if isinstance(grant, Grant) and grant.is_outside]
    queries = (query, *query.also)
    return (
        bool(outside)
        and any(one.permission == "bash" and one.patterns for one in queries)
        and not any(one.is_steered for one in queries)
        and all(
            is_granted(one, pattern, outside if one.permission == "bash" else known)
            for one in queries
            for pattern in one.patterns
        )
    )


def always_of(query: Query, undecided: Sequence[str]) -> list[str]:
    """Return the patterns that an "always" reply to a question about the undecided patterns grants."""
    if not query.always_for:
        return list(query.always)
    return list(dict.fromkeys(grant for pattern in undecided for grant in query.always_for.get(pattern, ())))


def with_forms(query: Query, forms: PathForms) -> Query:
    """Return the query with the other spellings of its paths."""
    found = {pattern: texts for pattern in query.patterns if (texts := forms.of(query.permission, pattern))}
    also = [with_forms(one, forms) for one in query.also]
    return replace(query, forms={**query.forms, **found}, also=also) if found or also else query


def with_approvals(query: Query, approvals: Approvals) -> Query:
    """Return the query as the mode of approvals needs it: in the mode ask built-in rules allow no edit, command or foreign tool."""
    if approvals != "ask":
        return query
    asked = replace(query, also=[with_approvals(one, approvals) for one in query.also])
    if query.permission not in ("bash", "edit") and not query.is_foreign:
        return asked
    by_user = [*query.by_user, *(p for p in query.patterns if p not in query.must_ask)]
    return replace(asked, by_user=by_user, steered=[*query.steered, *query.partial])


def _rules_about(permission: str, layers: Sequence[Ruleset]) -> list[Rule]:
    return [rule for layer in layers for rule in layer if matches(rule.permission, permission)]
