"""`trust`: let a folder's own files start programs, after they were seen."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_result, say

if TYPE_CHECKING:
    from opencode_tui.config.trust.store import TrustStore


@click.command(epilog="Trust holds for the content as it is now: what changes later has to be trusted again.")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--revoke", is_flag=True, help="Trust the folder no longer.")
@click.option("--list", "is_listing", is_flag=True, help="List the trusted folders.")
def trust(directory: Path | None, revoke: bool, is_listing: bool) -> None:
    """Trust what DIR (by default the current folder) would start, and name it.

    Plugins, tools, MCP servers, formatters, commands with shell snippets, rules that allow, and provider addresses of a repository
    have no effect before that.
    """
    from opencode_tui.config.trust.store import TrustStore  # with what it needs: not for the help

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
    from opencode_tui.config.trust.inspection import inspect_folder

    inspection = inspect_folder(target, paths=environment.paths)
    for item, _ in inspection.items:
        for effect in item.effects:
            print_result(f"{item.name}: {effect}" if not effect.startswith(item.name) else effect)
    store.grant(inspection.worktree, [item for item, _ in inspection.items])
    print_result(f"trusted {inspection.worktree} as it is now")


def _revoke(store: "TrustStore", target: Path) -> None:
    from opencode_tui.config.sources.locations import find_worktree

    worktree = find_worktree(target)
    if store.revoke(worktree):
        print_result(f"{worktree} is trusted no longer")
    else:
        say(f"{worktree} was not trusted")
