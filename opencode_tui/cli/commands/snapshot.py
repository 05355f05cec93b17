"""`opencode-tui snapshot`: how much room undo takes for this project, and how to get it back."""

import click

from opencode_tui.cli.engine_access import with_snapshots
from opencode_tui.cli.terminal import print_result

_MIB = 1024 * 1024


@click.group()
def snapshot() -> None:
    """The states of your files that undo goes back to."""


@snapshot.command()
def size() -> None:
    """Show disk usage of snapshots."""
    usage = with_snapshots(lambda snapshots: snapshots.size())
    print_result(
        f"{usage.bytes / _MIB:.1f} of {usage.limit / _MIB:.0f} MiB in {_counted(usage.snapshots)}\n{usage.folder}"
    )


@snapshot.command()
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Tell what would go, and drop nothing.")
def clean(is_dry_run: bool) -> None:
    """Drop what is older than 30 days and what no session needs for its undo."""
    from opencode_tui.engine.session.revert.retention import clean_unneeded  # not for the help

    before = with_snapshots(lambda snapshots: snapshots.size())
    after = with_snapshots(lambda snapshots: clean_unneeded(snapshots, is_dry_run=is_dry_run))
    freed = max(0, before.bytes - after.bytes) / _MIB
    left = f"{after.bytes / _MIB:.1f} MiB left in {_counted(after.snapshots)}"
    if is_dry_run:
        print_result(f"about {freed:.1f} MiB in {_counted(before.snapshots - after.snapshots)} would go, {left}")
    else:
        print_result(f"{freed:.1f} MiB freed, {left}")


def _counted(snapshots: int) -> str:
    return f"{snapshots} snapshot{'' if snapshots == 1 else 's'}"
