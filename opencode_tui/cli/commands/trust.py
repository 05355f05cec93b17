"""`opencode-tui trust`: review and trust a folder's config."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_result, say

if TYPE_CHECKING:
    from opencode_tui.config.trust.store import TrustStore


@click.command(epilog="Trust covers the current content: changes must be trusted again.")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--revoke", is_flag=True, help="Stop trusting the folder.")
@click.option("--list", "is_listing", is_flag=True, help="List the trusted folders.")
def trust(directory: Path | None, revoke: bool, is_listing: bool) -> None:
    """List what the config of DIR (default: the current folder) can start, and trust it.

    A repository's plugins, tools, MCP servers, formatters, commands with shell snippets, allow rules and provider addresses
    have no effect until you trust it.
    """
    from opencode_tui.config.trust.store import TrustStore  # not for the help

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
    print_result(f"trusted {inspection.worktree}")


def _revoke(store: "TrustStore", target: Path) -> None:
    from opencode_tui.config.sources.locations import find_worktree

    worktree = find_worktree(target)
    if store.revoke(worktree):
        print_result(f"{worktree} is no longer trusted")
    else:
        say(f"{worktree} was not trusted")
