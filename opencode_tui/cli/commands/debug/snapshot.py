"""`debug snapshot`: record, compare and revert files; each command prints one JSON value.

track → {snapshot, unprotected} · patch ID → {hash, after, files} · revert (patches on stdin) → {before, restored, deleted,
conflicts, unprotected, failed, after} · unrevert (that report on stdin) → the same · preview (patches on stdin) · diff ID ID ·
verify → {objects, bytes, damaged}
"""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from opencode_tui.cli.engine_access import open_snapshots, run_main, with_snapshots
from opencode_tui.cli.terminal import print_json
from opencode_tui.client.snapshots import Patch
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import RevertReport, UndoFile, UndoFiles


@click.group()
def snapshot() -> None:
    """Record, compare and revert the files of this project."""


@snapshot.command(short_help="Record all files.")
def track() -> None:
    """Record all files: {snapshot, unprotected}; the ID is null where undo is off."""
    snapshots = open_snapshots()
    if snapshots.unavailable is not None:
        print_json(
            {"snapshot": None, "unprotected": [{"path": str(snapshots.worktree), "reason": snapshots.unavailable}]}
        )
        return
    taken = run_main(snapshots.track)
    print_json({"snapshot": taken.id, "unprotected": [remark.to_dict() for remark in taken.unprotected]})


@snapshot.command(short_help="Print the changes since a snapshot.")
@click.argument("before", metavar="ID")
def patch(before: str) -> None:
    """Print what changed since a snapshot: {hash, after, files}."""
    print_json(with_snapshots(lambda snapshots: snapshots.patch(before)).to_dict())


@snapshot.command(short_help="Undo the patches on stdin.")
def revert() -> None:
    """Undo the patches on stdin (a JSON list, oldest first) and print the report."""
    patches = _read_patches()
    print_json(_as_json(with_snapshots(lambda snapshots: snapshots.revert(patches))))


@snapshot.command(short_help="Redo the report on stdin.")
def unrevert() -> None:
    """Redo the revert whose report is on stdin, and print a report."""
    content = _read_json()
    try:
        files = [*content["restored"], *content["deleted"]]
        done = Patch.model_validate({"hash": content["before"], "after": content["after"], "files": files})
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(_misfit("a report of `debug snapshot revert`", error)) from error
    print_json(_as_json(with_snapshots(lambda snapshots: snapshots.revert([done]))))


@snapshot.command(short_help="Preview a revert.")
def preview() -> None:
    """Print what `revert` would do with the patches on stdin, without changing anything."""
    patches = _read_patches()
    found = with_snapshots(lambda snapshots: snapshots.preview(patches))
    changed = [*found.restored, *found.deleted]
    additions, deletions = sum(file.additions for file in changed), sum(file.deletions for file in changed)
    print_json({**_files_as_json(found), "additions": additions, "deletions": deletions})


@snapshot.command(short_help="Compare two snapshots.")
@click.argument("before")
@click.argument("after")
def diff(before: str, after: str) -> None:
    """Print the files that differ between two snapshots, with their contents and line counts."""
    print_json([change.to_dict() for change in with_snapshots(lambda snapshots: snapshots.diff(before, after))])


@snapshot.command(short_help="Check every stored object.")
def verify() -> int:
    """Check every stored object: {objects, bytes, damaged}; exit code 1 if one is damaged."""
    verdict = with_snapshots(lambda snapshots: snapshots.verify())
    print_json({"objects": verdict.objects, "bytes": verdict.bytes, "damaged": list(verdict.damaged)})
    return 1 if verdict.damaged else 0


def _as_json(report: "RevertReport") -> JsonObject:
    return {
        "before": report.before,
        "after": report.after,
        **_files_as_json(report),
        "failed": _with_reasons(report.failed),
    }


def _files_as_json(found: "UndoFiles") -> JsonObject:
    return {
        "restored": [file.path for file in found.restored],
        "deleted": [file.path for file in found.deleted],
        "conflicts": _with_reasons(found.kept),
        "unprotected": _with_reasons(found.unprotected),
    }


def _with_reasons(files: "Sequence[UndoFile]") -> list[JsonObject]:
    return [{"path": file.path, "reason": file.reason} for file in files]


def _read_patches() -> "list[Patch]":
    content = _read_json()
    try:
        return [Patch.model_validate(item) for item in content]
    except (ValueError, TypeError) as error:
        raise ConfigError(_misfit("a list of patches of `debug snapshot patch`", error)) from error


def _read_json() -> Any:
    try:
        return json.load(sys.stdin)
    except ValueError as error:
        raise OpencodeError(f"standard input is not one JSON value: {error}") from error


def _misfit(wanted: str, error: Exception) -> str:
    return f"standard input is not {wanted}: {' '.join(str(error).split())[:200]}"
