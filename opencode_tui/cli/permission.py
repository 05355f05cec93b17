"""`opencode-tui permission`: what the agent may do, and why."""

import click

_ACTIONS = click.Choice(["allow", "ask", "deny"])


@click.group()
def permission() -> None:
    """What the agent may do here, and why."""


@permission.command("list")
@click.option("--agent", metavar="NAME", help="Of this agent instead of the default one.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def list_rules(agent: str | None, style: str) -> None:
    """List the rules in force, in order, and what you allowed for good in this worktree."""
    from opencode_tui.cli.permission_work import list_rules as work  # the engine is loaded only when there is work

    work(agent=agent, style=style)


@permission.command()
@click.argument("name", metavar="PERMISSION")
@click.argument("subject")
@click.option("--agent", metavar="NAME", help="For this agent instead of the default one.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def explain(name: str, subject: str, agent: str | None, style: str) -> None:
    """Tell whether an act would be allowed, asked for or denied, and by which rule. Nothing is run.

    \b
    opencode-tui permission explain bash "npm test && git push"
    opencode-tui permission explain edit src/main.py
    """
    from opencode_tui.cli.permission_work import explain as work

    work(name, subject, agent=agent, style=style)


@permission.command("try")
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern")
@click.argument("action", type=_ACTIONS)
@click.argument("subject")
@click.option("--agent", metavar="NAME", help="For this agent instead of the default one.")
def try_rule(name: str, pattern: str, action: str, subject: str, agent: str | None) -> None:
    """Try a rule against an act before you put it into the settings.

    \b
    opencode-tui permission try bash "git push*" deny "git push --force"
    """
    from opencode_tui.cli.permission_work import try_rule as work

    work(name, pattern, action, subject, agent=agent)


@permission.command()
@click.argument("name", metavar="PERMISSION")
@click.argument("pattern", required=False)
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
def revoke(name: str, pattern: str | None, dry_run: bool) -> int:
    """Forget what you allowed for good: one pattern, or all of a permission."""
    from opencode_tui.cli.permission_work import revoke as work

    return work(name, pattern, dry_run=dry_run)
