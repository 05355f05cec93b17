"""A click group in sections that imports a command's module when the command is used."""

import importlib
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import click
from click.shell_completion import CompletionItem

from opencode_tui.schema.suggest import suggest


class Entry(NamedTuple):
    """Where a command is defined, and its `short_help`, under 45 characters.

    `target` is `package.module:attribute`, or the name of an entry point of an extra.
    """

    target: str
    summary: str


class LazyGroup(click.Group):
    """Commands in sections; the help imports none of their modules."""

    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [name for entries in self.sections.values() for name in entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none with that name."""
        for entries in self.sections.values():
            if cmd_name in entries:
                return _load(entries[cmd_name])
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments; the error for an unknown name suggests the nearest one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"no command {name!r}{suggest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands with this prefix, with their summaries, and the group's options; imports no command."""
        summaries = {name: entry.summary for entries in self.sections.values() for name, entry in entries.items()}
        found = [CompletionItem(name, help=text) for name, text in summaries.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one block for each section."""
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])


def _load(entry: Entry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    if attribute:
        command: object = getattr(importlib.import_module(module), attribute)
    else:
        from opencode_tui.entry_points import load  # few commands are extras

        command = load(entry.target)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a command")
    command.short_help = entry.summary
    return command
