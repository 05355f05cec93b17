"""`debug paths`: where everything lies."""

import os

import click

from opencode_tui.cli.terminal import print_json
from opencode_tui.storage.paths import find_paths


@click.command()
def paths() -> None:
    """Print the absolute paths of folders and files; they need not exist."""
    found = find_paths(os.environ)
    names = (
        "home",
        "config",
        "data",
        "state",
        "cache",
        "storage",
        "snapshot",
        "lock",
        "log",
        "tool_output",
        "auth",
        "trust",
    )
    locations: dict[str, str] = {name: str(getattr(found, name)) for name in names}
    print_json(locations)
