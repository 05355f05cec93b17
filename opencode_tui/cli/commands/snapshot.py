"""`opencode-tui snapshot`: show and clean up undo snapshots."""

import click

from opencode_tui.cli.engine_access import with_snapshots
from opencode_tui.cli.terminal import print_result

_MIB = 1024 * 1024


@click.group()
def snapshot() -> None:
    """Show and clean up undo snapshots."""


@snapshot.command(short_help="Show disk usage of snapshots.")
def size() -> None:
    """Show disk usage of snapshots."""
    usage = with_snapshots(lambda snapshots: snapshots.size())
    print_result(
        f"{usage.bytes / _MIB:.1f} of {usage.limit / _MIB:.0f} MiB in {_counted(usage.snapshots)}\n{usage.folder}"
    )


@snapshot.command(short_help="Delete snapshots that undo no longer needs.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would happen without doing it.")
def clean(is_dry_run: bool) -> None:
    """Delete snapshots older than 30 days and those that no session needs for undo."""
    from opencode_tui.client.snapshots import clean_unneeded  # not for the help

    before = with_snapshots(lambda snapshots: snapshots.size())
    after = with_snapshots(lambda snapshots: clean_unneeded(snapshots, is_dry_run=is_dry_run))
    freed = max(0, before.bytes - after.bytes) / _MIB
    left = f"{after.bytes / _MIB:.1f} MiB left in {_counted(after.snapshots)}"
    if is_dry_run:
        print_result(f"about {freed:.1f} MiB in {_counted(before.snapshots - after.snapshots)} would be freed, {left}")
    else:
        print_result(f"{freed:.1f} MiB freed, {left}")


def _counted(snapshots: int) -> str:
    return f"{snapshots} snapshot{'' if snapshots == 1 else 's'}"
