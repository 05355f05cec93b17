"""`opencode-tui trust`: review and trust a folder's config."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.config.sources.locations import find_worktree
from opencode_tui.config.trust.inspection import grant_seen, report_trust
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.schema.error import TrustError

if TYPE_CHECKING:
    pass


@click.command(epilog="Trust covers the current content: changes must be trusted again.")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--revoke", is_flag=True, help="Stop trusting the folder.")
@click.option("--list", "is_listing", is_flag=True, help="List the trusted folders.")
@click.option("--dry-run", is_flag=True, help="Show what needs trust, and trust nothing.")
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation.")
def trust(directory: Path | None, revoke: bool, is_listing: bool, dry_run: bool, yes: bool) -> None:
    """List what the settings of DIR (default: the current folder) can start, and trust it.

    A repository's plugins, tools, MCP servers, formatters, commands with shell snippets, allow rules and provider addresses
    have no effect until you trust it. On a terminal it asks first. Trust covers the files that are listed and those that they
    name, not files that those programs read.
    """
    environment = read_environment()
    store = TrustStore(paths=environment.paths)
    if is_listing:
        for folder in store.folders():
            print_result(folder.worktree)
        return
    target = environment.directory / (directory or ".")
    if revoke:
        _revoke(store, target)
        return

    report = report_trust(target, paths=environment.paths, flags=environment.flags, environ=environment.environ)
    for item in report.items:
        for effect in item.effects:
            print_result(f"{item.name}: {effect}" if not effect.startswith(item.name) else effect)
    if dry_run:
        waiting = [item for item in report.items if item.verdict != "trusted"]
        say(f"{report.worktree} is {'not trusted with this content' if waiting else 'trusted, or needs no trust'}")
        return
    if not yes and _is_at_terminal() and not click.confirm(f"Trust this content of {report.worktree}?", err=True):
        raise TrustError("nothing was trusted")
    grant_seen(target, report.seen, paths=environment.paths)
    print_result(f"trusted {report.worktree}")


def _is_at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - None when closed


def _revoke(store: "TrustStore", target: Path) -> None:
    worktree = find_worktree(target)
    if store.revoke(worktree):
        print_result(f"{worktree} is no longer trusted")
    else:
        say(f"{worktree} was not trusted")
