"""`opencode-tui debug`: internal state as JSON. Each command's module is imported when it is used."""

from collections.abc import Mapping
from typing import ClassVar

import click

from opencode_tui.cli.lazy_group import Entry, LazyGroup


class _Commands(LazyGroup):
    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {
        "Commands": {
            "paths": Entry("opencode_tui.cli.commands.debug.state:paths", "Print the program's folders and files."),
            "config": Entry(
                "opencode_tui.cli.commands.debug.state:config",
                "Print settings, sources and warnings.",
            ),
            "bash-scan": Entry(
                "opencode_tui.cli.commands.debug.bash_scan:bash_scan", "Analyze shell commands from stdin."
            ),
            "sandbox": Entry("opencode_tui.cli.commands.debug.sandbox:sandbox", "Run a program inside the sandbox."),
            "snapshot": Entry("opencode_tui.cli.commands.debug.snapshot:snapshot", "Record, compare and revert files."),
            "context": Entry(
                "opencode_tui.cli.commands.debug.state:context",
                "Print the items of the next request.",
            ),
            "request": Entry("opencode_tui.cli.commands.debug.state:request", "Print the next request as it is sent."),
            "agent": Entry("opencode_tui.cli.commands.debug.state:agent", "Print an agent's rules, tools and prompt."),
        }
    }


@click.group(cls=_Commands)
def debug() -> None:
    """Print internal state as JSON."""
