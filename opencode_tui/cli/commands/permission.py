"""`opencode-tui permission`: show and test permission rules, switch and revoke grants."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.completion_values import complete_agents
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, print_result, say
from opencode_tui.schema.api.grants import PermissionRules
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.permission import Action, PermissionReport, Rule, Verdict
from opencode_tui.text.grants import scope_words, use_words
from opencode_tui.text.permission import short_source
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClient

_ACTIONS = click.Choice(["allow", "ask", "deny"])


@click.group()
def permission() -> None:
    """Show and test permission rules, switch off and revoke what you always allow."""


@permission.command("list", short_help="List the effective rules and your grants.")
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Agent (default: the default agent).")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def list_rules(agent: str | None, style: str) -> None:
    """List the effective rules in order (last match wins) and what you always allow in this project."""
    _list_rules(agent=agent, style=style)


@permission.command(short_help="Show the decision for a call, and why.")
@click.argument("name", metavar="PERMISSION")
@click.argument("subject")
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Agent (default: the default agent).")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def explain(name: str, subject: str, agent: str | None, style: str) -> None:
    """Show whether a call would be allowed, asked or denied, and by which rule. Nothing is executed.

    \b
    opencode-tui permission explain bash "npm test && git push"
    opencode-tui permission explain edit src/main.py
    """
    _explain(name, subject, agent=agent, style=style)


@permission.command("try", short_help="Test a rule before adding it.")
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern")
@click.argument("action", type=_ACTIONS)
@click.argument("subject")
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Agent (default: the default agent).")
def try_rule(name: str, pattern: str, action: str, subject: str, agent: str | None) -> None:
    """Test a rule before adding it.

    \b
    opencode-tui permission try bash "git push*" deny "git push --force"
    """
    _try_rule(name, pattern, action, subject, agent=agent)


@permission.command(short_help='Revoke "always allow" grants.')
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would happen without doing it.")
def revoke(name: str, pattern: str | None, dry_run: bool) -> int:
    """Revoke "always allow" grants: one pattern, or all of a permission."""
    return _revoke(name, pattern, dry_run=dry_run)


@permission.command(short_help='Switch "always allow" grants off.')
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern", required=False)
def off(name: str, pattern: str | None) -> int:
    """Switch "always allow" grants off: one pattern, or all of a permission. They are kept, with how often they were used."""
    return _switch(name, pattern, is_on=False)


@permission.command(short_help='Switch "always allow" grants on again.')
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern", required=False)
def on(name: str, pattern: str | None) -> int:
    """Switch "always allow" grants on again: one pattern, or all of a permission."""
    return _switch(name, pattern, is_on=True)


_WORDS: dict[Action, str] = {"allow": "allowed", "ask": "needs approval", "deny": "denied"}


def _list_rules(*, agent: str | None, style: str) -> None:
    """Print the rules in order and the grants."""

    async def work(client: "LocalClient") -> tuple[PermissionRules, Places]:
        return await client.rules.list(agent), await client.project.places()

    found, places = with_client(work)
    if style == "json":
        print_json(found.to_dict())
        return
    look = style_of(sys.stdout, os.environ)
    print_result(f"Rules for agent {found.agent} (last match wins)")
    sources = [short_source(source, places) or "built in" for source in found.sources]
    rows = [[*_row(rule), source] for rule, source in zip(found.rules, sources, strict=True)]
    sys.stdout.write(render_table(["PERMISSION", "PATTERN", "ACTION", "FROM"], rows, look) + "\n")
    if found.stored:
        print_result("\nAlways allowed in this project (`permission off` and `permission revoke` end it)")
        rows = [[one.permission, one.pattern, use_words(one), scope_words(one)] for one in found.stored]
        sys.stdout.write(render_table(["PERMISSION", "PATTERN", "USE", ""], rows, look) + "\n")


def _explain(name: str, subject: str, *, agent: str | None, style: str) -> None:
    """Print the decision for a call and its verdicts."""

    async def work(client: "LocalClient") -> tuple[PermissionReport, Places]:
        return await client.rules.explain(name, subject, agent=agent), await client.project.places()

    report, places = with_client(work)
    if style == "json":
        print_json(report.to_dict())
    else:
        print_result(_render(report, places))


def _try_rule(name: str, pattern: str, action: str, subject: str, *, agent: str | None) -> None:
    """Print what a rule would change."""
    rule = Rule.model_validate({"permission": name, "pattern": pattern, "action": action})

    async def work(client: "LocalClient") -> tuple[PermissionReport, PermissionReport, Places]:
        now = await client.rules.explain(name, subject, agent=agent)
        then = await client.rules.explain(name, subject, agent=agent, extra=[rule])
        return now, then, await client.project.places()

    now, then, places = with_client(work)
    print_result(f"before: {now.action} → after: {then.action}\n\n{_render(then, places)}")
    if now.to_dict() == then.to_dict():
        say("this rule has no effect here")


def _revoke(name: str, pattern: str | None, *, dry_run: bool) -> int:
    """Delete grants; return 1 if there were none."""

    async def work(client: "LocalClient") -> Sequence[Rule]:
        return await (client.rules.grants(name, pattern) if dry_run else client.rules.revoke(name, pattern))

    found = with_client(work)
    for rule in found:
        print_result(f"{'would revoke' if dry_run else 'revoked'} {rule.permission} {rule.pattern}")
    if not found:
        say(f"no grants for {name}{f' {pattern}' if pattern else ''}; see `opencode-tui permission list`")
        return 1
    return 0


def _switch(name: str, pattern: str | None, *, is_on: bool) -> int:
    """Switch grants on or off; return 1 if there were none to switch."""

    async def work(client: "LocalClient") -> Sequence[Rule]:
        return await client.rules.switch(name, pattern, is_on=is_on)

    found, word = with_client(work), "on" if is_on else "off"
    for rule in found:
        print_result(f"switched {word} {rule.permission} {rule.pattern}")
    if not found:
        was = "off" if is_on else "on"
        say(f"no grant for {name}{f' {pattern}' if pattern else ''} is {was}; see `opencode-tui permission list`")
        return 1
    return 0


def _render(report: PermissionReport, places: Places) -> str:
    lines = [
        f"{_WORDS[report.action]}{_location(report)}",
        *(f"  {make_safe(reason)}" for reason in report.reasons or ()),
    ]
    for verdict in report.verdicts:
        lines.append(f"  {verdict.action.ljust(5)}  {verdict.permission}  {make_safe(verdict.pattern)}")
        lines.append(f"         {_reason(verdict, places)}")
    if report.action == "ask" and report.always:
        lines.append(f'\n"always allow" would allow: {", ".join(make_safe(pattern) for pattern in report.always)}')
    return "\n".join(lines)


def _location(report: PermissionReport) -> str:
    """Return where a command would run, as the end of a line."""
    if report.runs is None or report.action == "deny":
        return ""
    if report.tier == "none":
        return ", runs without a sandbox"
    return f", runs inside the sandbox ({report.tier})" if report.runs == "sandbox" else ", runs outside the sandbox"


def _reason(verdict: Verdict, places: Places) -> str:
    if verdict.grant is not None:
        return f"you always allow {make_safe(verdict.grant.pattern)}"
    if verdict.note is not None:
        return verdict.note
    if verdict.rule is None:
        return "no matching rule, so it asks"
    source = f"in {short_source(verdict.source, places)}" if verdict.source else "built in"
    rule = verdict.rule
    return f"rule {rule.permission} {make_safe(rule.pattern)}: {rule.action}, {make_safe(source)}"


def _row(rule: Rule) -> list[str]:
    return [rule.permission, rule.pattern, rule.action]
