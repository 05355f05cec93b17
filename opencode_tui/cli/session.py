"""`opencode-tui session`: look at, rename and delete the sessions of this project."""

import click


@click.group()
def session() -> None:
    """Look at, rename and delete the sessions of this project."""


@session.command("list")
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def list_sessions(limit: int | None, style: str) -> None:
    """List the sessions, the last used first."""
    from opencode_tui.cli.session_work import list_sessions as work  # the engine is loaded only when there is work

    work(limit=limit, style=style)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N messages.")
def show(session_id: str, limit: int | None) -> None:
    """Print the conversation of a session."""
    from opencode_tui.cli.session_work import show_session as work  # as above, also below

    work(session_id, limit=limit)


@session.command()
def tree() -> None:
    """Show forks and the sessions of agents below what they came from."""
    from opencode_tui.cli.session_work import show_tree as work

    work()


@session.command()
@click.argument("session_id", metavar="ID")
@click.argument("title")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def rename(session_id: str, title: str, dry_run: bool) -> None:
    """Give a session another title."""
    from opencode_tui.cli.session_work import rename_session as work

    work(session_id, title, dry_run=dry_run)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(session_id: str, dry_run: bool, yes: bool) -> int:
    """Delete a session for good, with the sessions of its agents.

    It says first what goes, and asks. Your files stay as they are.
    """
    from opencode_tui.cli.session_work import delete_session as work

    return work(session_id, dry_run=dry_run, is_sure=yes)
