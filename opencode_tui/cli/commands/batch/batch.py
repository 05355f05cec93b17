"""`opencode-tui batch`: the group; without the name of another command it runs tasks."""

from collections.abc import Mapping
from typing import ClassVar

import click

from opencode_tui.cli.lazy_group import Entry, LazyGroup

DEFAULT_COMMAND = "run"


class _Batch(LazyGroup):
    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {
        "Commands": {
            DEFAULT_COMMAND: Entry("opencode_tui.cli.commands.batch.run:run", "Run the tasks of a file (default)."),
            "worker": Entry("batch.worker", "Run tasks for a Dask scheduler."),
        },
        "": {"task": Entry("opencode_tui.cli.commands.batch.task:task", "Run one task, for `batch`.")},
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command where none is named; its help is that of `batch`."""
        if not args or not any(args[0] in entries for entries in self.sections.values()):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Batch)
def batch() -> None:
    """Run many tasks, each in a process and a git worktree of its own."""
