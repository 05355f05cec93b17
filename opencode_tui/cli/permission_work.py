"""What the `permission` commands do."""

import os
import sys
from collections.abc import Sequence

from opencode_tui.cli.door import with_client
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, print_result, say
from opencode_tui.client.local import LocalClient
from opencode_tui.schema.permission import Action, PermissionReport, PermissionRules, Rule, Verdict
from opencode_tui.tui.safe_text import make_safe

_WORDS: dict[Action, str] = {"allow": "allowed", "ask": "asked for", "deny": "denied"}


def list_rules(*, agent: str | None, style: str) -> None:
    """Print the rules in order and the grants."""

    async def work(client: LocalClient) -> PermissionRules:
        return await client.rules.list(agent)

    found = with_client(work)
    if style == "json":
        print_json(found.to_dict())
        return
    look = style_of(sys.stdout, os.environ)
    print_result(f"Rules of agent {found.agent}, the last that matches wins")
    rows = [_row(rule) for rule in found.rules]
    sys.stdout.write(render_table(["PERMISSION", "PATTERN", "ACTION"], rows, look) + "\n")
    if found.grants:
        print_result("\nAllowed for good in this worktree (`permission revoke` forgets it)")
        rows = [_row(rule)[:2] for rule in found.grants]
        sys.stdout.write(render_table(["PERMISSION", "PATTERN"], rows, look) + "\n")


def explain(name: str, subject: str, *, agent: str | None, style: str) -> None:
    """Print the verdicts on an act."""

    async def work(client: LocalClient) -> PermissionReport:
        return await client.rules.explain(name, subject, agent=agent)

    report = with_client(work)
    if style == "json":
        print_json(report.to_dict())
    else:
        print_result(_render(report))


def try_rule(name: str, pattern: str, action: str, subject: str, *, agent: str | None) -> None:
    """Print what a rule would change."""
    rule = Rule.model_validate({"permission": name, "pattern": pattern, "action": action})

    async def work(client: LocalClient) -> tuple[PermissionReport, PermissionReport]:
        now = await client.rules.explain(name, subject, agent=agent)
        return now, await client.rules.explain(name, subject, agent=agent, extra=[rule])

    now, then = with_client(work)
    print_result(f"now: {_WORDS[now.action]}; with this rule last: {_WORDS[then.action]}\n\n{_render(then)}")
    if now.to_dict() == then.to_dict():
        say("the rule changes nothing for this act")


def revoke(name: str, pattern: str | None, *, dry_run: bool) -> int:
    """Forget grants; returns 1 when there was none."""

    async def work(client: LocalClient) -> Sequence[Rule]:
        return await (client.rules.grants(name, pattern) if dry_run else client.rules.revoke(name, pattern))

    found = with_client(work)
    for rule in found:
        print_result(f"{'would forget' if dry_run else 'forgot'} {rule.permission} {rule.pattern}")
    if not found:
        say(
            f"nothing was allowed for good for {name}{f' {pattern}' if pattern else ''}; see `opencode-tui permission list`"
        )
        return 1
    return 0


def _render(report: PermissionReport) -> str:
    lines = [f"{_WORDS[report.action]}"]
    for verdict in report.verdicts:
        lines.append(f"  {verdict.action.ljust(5)}  {verdict.permission}  {make_safe(verdict.pattern)}")
        lines.append(f"         {_reason(verdict)}")
    if report.action == "ask" and report.always:
        lines.append(f"\n`always` would allow: {', '.join(make_safe(pattern) for pattern in report.always)}")
    return "\n".join(lines)


def _reason(verdict: Verdict) -> str:
    if verdict.grant is not None:
        return f"you allowed {make_safe(verdict.grant.pattern)} for good"
    if verdict.note is not None:
        return verdict.note
    if verdict.rule is None:
        return "no rule speaks of it, so it is asked for"
    return f"rule {verdict.rule.permission} {make_safe(verdict.rule.pattern)}: {verdict.rule.action}"


def _row(rule: Rule) -> list[str]:
    return [rule.permission, rule.pattern, rule.action]
