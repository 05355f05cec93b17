"""The permissions that a tool call needs, and the rules and grants that allow or deny it. Runs nothing."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from opencode_tui.engine.permission.command_decision import CommandDecision, CommandPlan, decide_command
from opencode_tui.engine.permission.decision import Query, is_allowed_by_rules, is_granted, with_forms
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.permission.ruleset import strictness
from opencode_tui.engine.tool.builtin.bash_permission import make_plan
from opencode_tui.engine.tool.edit.edit_permission import EditPermission
from opencode_tui.engine.tool.location import locate
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.permission import Action, PermissionReport, Rule, Ruleset, Verdict

_UNKNOWABLE = "runs arbitrary code"


class ExplainScope(Struct, frozen=True):
    """What decides about a call: the agent's rules with the source of each (empty: built-in), the grants, the sandbox ("none").

    `protected` are folders in which every edit needs approval; `copy_of` the work trees that this one is a copy of.
    """

    rules: Sequence[Rule]
    origins: Sequence[str]
    grants: Sequence[Rule]
    directory: Path
    worktree: Path
    home: Path
    tier: str = "none"
    protected: Collection[Path] = ()
    copy_of: Sequence[Path] = ()


async def explain(permission: str, subject: str, scope: ExplainScope) -> PermissionReport:
    """Return the verdicts on a tool call that acts on `subject`.

    `subject` is a command line for `bash`, a path for `read` and `edit`, and the pattern itself for any other permission.
    """
    context = _context(scope)
    if permission == "bash":
        plan = await make_plan(subject, folder=scope.directory, home=scope.home, context=context, tier=scope.tier)
        return _explain_command(plan, scope)
    patterns, protected = [subject], list[str]()
    if permission in ("read", "edit"):
        location = await locate(subject, context)
        patterns = location.read_patterns if permission == "read" else location.edit_patterns
        if permission == "edit":
            protected = await asyncio.to_thread(EditPermission(scope.protected).find_protected, [location], context)
    forms = forms_of(scope.directory, scope.worktree, scope.copy_of)
    query = with_forms(Query(session_id="", permission=permission, patterns=patterns, must_ask=protected), forms)
    verdicts = _verdicts(query, scope, dict.fromkeys(protected, "can start programs later"))
    return PermissionReport(action=_strictest(verdicts), verdicts=verdicts)


def _explain_command(plan: CommandPlan, scope: ExplainScope) -> PermissionReport:
    decision: CommandDecision = decide_command(plan, [list(scope.rules)], scope.grants)
    queries = [one for one in (plan.query, *plan.query.also) if one.patterns]
    return PermissionReport(
        action=decision.action,
        verdicts=[verdict for query in queries for verdict in _verdicts(query, scope, plan.notes)],
        always=list(decision.always),
        runs=decision.runs,
        tier=scope.tier,
        reasons=list(decision.reasons) or None,
    )


def _strictest(verdicts: Sequence[Verdict]) -> Action:
    actions: list[Action] = ["allow", *(verdict.action for verdict in verdicts)]
    return max(actions, key=strictness)


def _verdicts(query: Query, scope: ExplainScope, notes: Mapping[str, str] | None = None) -> list[Verdict]:
    return [_verdict(query, pattern, scope, notes or {}) for pattern in query.patterns]


def _verdict(query: Query, pattern: str, scope: ExplainScope, notes: Mapping[str, str]) -> Verdict:
    rule = query.rule_of(pattern, list(scope.rules))
    at = next((at for at, one in enumerate(scope.rules) if one is rule), None)
    is_open = rule.action == "allow" and not is_allowed_by_rules(query, pattern, [list(scope.rules)])
    action = "ask" if is_open else rule.action
    grant = None
    if action == "ask":
        grant = next((one for one in scope.grants if is_granted(query, pattern, [one])), None)
    return Verdict(
        permission=query.permission,
        pattern=pattern,
        action="allow" if grant else action,
        rule=rule if at is not None else None,
        source=(scope.origins[at] or None) if at is not None else None,
        grant=grant,
        note=notes.get(pattern, _UNKNOWABLE) if is_open else None,
    )


def _context(scope: ExplainScope) -> ToolContext:
    return ToolContext(
        session_id="",
        message_id="",
        call_id="",
        agent="",
        directory=scope.directory,
        worktree=scope.worktree,
        origins=scope.copy_of,
        ask=_Rules(scope.rules),
        progress=lambda _title, _metadata: None,
    )


class _Rules:
    """The rules of an agent; everything that is asked is allowed."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = list(rules)

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> None:
        return

    async def query(self, query: Query) -> bool:
        return False

    async def is_always_outside(self, query: Query) -> bool:
        return False

    def rules(self) -> Sequence[Ruleset]:
        return [self._rules]
