"""`debug`: JSON in, JSON out, for tests and for curious people. Each command's module is loaded when it is used."""

from collections.abc import Mapping
from typing import ClassVar

import click

from opencode_tui.cli.lazy_group import Entry, LazyGroup


class _Commands(LazyGroup):
    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {
        "Commands": {
            "paths": Entry("opencode_tui.cli.commands.debug_state:paths", "The folders and files of the program."),
            "config": Entry(
                "opencode_tui.cli.commands.debug_state:config",
                "Settings in force, sources, warnings, what was ignored.",
            ),
            "bash-scan": Entry(
                "opencode_tui.cli.commands.debug_bash_scan:bash_scan", "What the scanner sees in shell commands."
            ),
            "snapshot": Entry(
                "opencode_tui.cli.commands.debug_snapshot:snapshot", "Record the files, tell what changed, undo it."
            ),
            "context": Entry(
                "opencode_tui.cli.commands.debug_state:context",
                "What the next request of a session carries, item by item.",
            ),
            "request": Entry(
                "opencode_tui.cli.commands.debug_state:request", "The next request of a session, as it is sent."
            ),
            "agent": Entry("opencode_tui.cli.commands.debug_state:agent", "An agent's rules, tools and prompt."),
        }
    }


@click.group(cls=_Commands)
def debug() -> None:
    """Look inside: one JSON value on stdout."""
