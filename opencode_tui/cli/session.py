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
@click.option(
    "--message", "message_id", metavar="ID", help="Take over what stands before this message; else everything."
)
@click.option("--worktree", is_flag=True, help="Work in a new git worktree beside this one, on a branch of its own.")
@click.option("--dry-run", is_flag=True, help="Only say what would be made.")
def fork(session_id: str, message_id: str | None, worktree: bool, dry_run: bool) -> None:
    """Begin a second attempt: a new session with the conversation so far; prints its id.

    The first one stays as it is. Both work on the same files, unless --worktree gives the fork its own: a git worktree
    with the files as they are now, uncommitted changes included, ignored files left out.
    """
    from opencode_tui.cli.session_fork import fork_session as work

    work(session_id, message_id=message_id, worktree=worktree, dry_run=dry_run)


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


_STYLE = click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", help="For people, or JSON."
)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--message", "message_id", metavar="ID", help="From this message on; without it your last turn.")
@click.option("--part", "part_id", metavar="ID", help="From this part of the message on.")
@click.option("--dry-run", is_flag=True, help="Only say what would be undone.")
@_STYLE
def revert(session_id: str, message_id: str | None, part_id: str | None, dry_run: bool, style: str) -> int:
    """Undo a turn, or everything from a message on, with what it did to files.

    Files that somebody changed since are kept. `session unrevert` brings everything back until you go on with the session.
    """
    from opencode_tui.cli.undo_work import revert_session as work

    return work(session_id, message_id, part_id, dry_run=dry_run, style=style)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only say what would come back.")
@_STYLE
def unrevert(session_id: str, dry_run: bool, style: str) -> int:
    """Bring back what `session revert` undid."""
    from opencode_tui.cli.undo_work import unrevert_session as work

    return work(session_id, dry_run=dry_run, style=style)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="Which model writes the summary.")
@click.option("--dry-run", is_flag=True, help="Only say what would be summarised and what stays word for word.")
@_STYLE
def compact(session_id: str, model: str | None, dry_run: bool, style: str) -> None:
    """Put a summary in the place of a session's older messages, so that the model has room again.

    The messages stay in the session; the model is no longer sent them.
    """
    from opencode_tui.cli.session_compact import compact_session as work

    work(session_id, model=model, dry_run=dry_run, style=style)


_PARTS = click.option(
    "--part", "part_ids", multiple=True, metavar="ID", help="Only this call; may be given several times."
)


@session.command()
@click.argument("session_id", metavar="ID")
@_PARTS
@click.option("--dry-run", is_flag=True, help="Only say what would be pruned.")
@_STYLE
def prune(session_id: str, part_ids: tuple[str, ...], dry_run: bool, style: str) -> None:
    """Leave old tool outputs out of what the model is given.

    Without --part those behind the newest two turns and 40 k tokens, if that frees 20 k. They stay in the session.
    """
    from opencode_tui.cli.session_prune import prune_session as work

    work(session_id, part_ids, dry_run=dry_run, style=style)


@session.command()
@click.argument("session_id", metavar="ID")
@_PARTS
@click.option("--dry-run", is_flag=True, help="Only say what would come back.")
@_STYLE
def restore(session_id: str, part_ids: tuple[str, ...], dry_run: bool, style: str) -> None:
    """Give pruned tool outputs to the model again, all or those named; they are not pruned by themselves any more."""
    from opencode_tui.cli.session_prune import restore_session as work

    work(session_id, part_ids, dry_run=dry_run, style=style)


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--message", "message_id", metavar="ID", help="Only what this message's turn changed.")
@_STYLE
def diff(session_id: str, message_id: str | None, style: str) -> None:
    """Show what a session changed in files."""
    from opencode_tui.cli.undo_work import show_diff as work

    work(session_id, message_id, style=style)
