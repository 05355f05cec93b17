"""`opencode-tui snapshot`: show and clean up undo snapshots."""

import sys
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.engine_access import read_environment, with_snapshots
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.client.snapshots import clean_unneeded, list_stores

if TYPE_CHECKING:
    from opencode_tui.client.snapshots import Usage

_MIB = 1024 * 1024
_MEASURING = "Measuring the snapshots"


@click.group()
def snapshot() -> None:
    """Show and clean up undo snapshots."""


@snapshot.command(short_help="Show disk usage of snapshots.")
@click.option("--all", "is_everywhere", is_flag=True, help="Show every project, the largest first.")
def size(is_everywhere: bool) -> None:
    """Show disk usage of snapshots, and of files that were kept before a command discarded them."""
    if is_everywhere:
        rows = [
            f"{(one.bytes + one.kept) / _MIB:9.1f} MiB  {one.place}  "
            f"(snapshots {one.bytes / _MIB:.1f}, kept files {one.kept / _MIB:.1f})"
            for one in list_stores(read_environment().paths)
        ]
        print_result("\n".join(rows) or "no snapshots")
        return
    usage = with_snapshots(lambda snapshots: snapshots.size(), doing=_MEASURING)
    lines = [f"{usage.bytes / _MIB:.1f} of {usage.limit / _MIB:.0f} MiB in {_counted(usage.snapshots)}"]
    if usage.kept_files:
        lines.append(
            f"{usage.kept / _MIB:.1f} of {usage.kept_limit / _MIB:.0f} MiB in {_counted(usage.kept_files, 'file')} "
            "kept before a command discarded them"
        )
    print_result("\n".join([*lines, usage.folder]))


@snapshot.command(short_help="Delete snapshots that undo no longer needs.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would happen without doing it.")
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation.")
def clean(is_dry_run: bool, yes: bool) -> None:
    """Delete snapshots older than 30 days and those that no session needs for undo, with the files kept for them."""
    before = with_snapshots(lambda snapshots: snapshots.size(), doing=_MEASURING)
    is_asked = not yes and not is_dry_run and _is_at_terminal()
    if is_dry_run or is_asked:
        after = with_snapshots(lambda snapshots: clean_unneeded(snapshots, is_dry_run=True), doing=_MEASURING)
        freed, gone = _freed(before, after), _counted(before.snapshots - after.snapshots)
        preview = f"about {freed:.1f} MiB in {gone} would be freed, {_left(after)}"
        if is_dry_run:
            print_result(preview)
            return
        say(preview)
        if not click.confirm("Delete them?", default=False, err=True):
            return
    after = with_snapshots(lambda snapshots: clean_unneeded(snapshots), doing="Deleting snapshots")
    print_result(f"{_freed(before, after):.1f} MiB freed, {_left(after)}")


def _is_at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - None when closed


def _freed(before: "Usage", after: "Usage") -> float:
    """Return the freed MiB."""
    return (max(0, before.bytes - after.bytes) + max(0, before.kept - after.kept)) / _MIB


def _left(after: "Usage") -> str:
    return f"{(after.bytes + after.kept) / _MIB:.1f} MiB left in {_counted(after.snapshots)}"


def _counted(count: int, noun: str = "snapshot") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
