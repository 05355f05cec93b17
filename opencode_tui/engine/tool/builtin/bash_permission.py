"""The permissions of a shell command, asked before it runs: folders outside, protected files, the command itself.

Source: reference, sections 27 and 28 (bash); SPEC, section 3, "opaque commands" and "`.env` files".
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.tool.location import is_inside
from opencode_tui.engine.tool.tool import ToolContext

if TYPE_CHECKING:
    from opencode_tui.engine.permission.shell.scan import Scan


async def ask_for_command(command: str, *, folder: Path, home: Path, context: ToolContext) -> None:
    """Return when the command may run in the folder (a real path). Raises PermissionRefused."""
    root = _project_root(context)
    scan = await asyncio.to_thread(_scan, command, folder, home, root)
    await _ask_outside(_folders_outside(scan, folder, context), context)
    secrets, run_later = _protected(scan, folder, root)
    if secrets:
        await context.ask("read", secrets, always=secrets)
    if run_later:
        await context.ask("edit", run_later, must_ask=run_later)
    await _ask_to_run(command, scan, context)


def _scan(command: str, folder: Path, home: Path, root: str) -> "Scan":
    from opencode_tui.engine.permission.shell.scan import scan  # loads tree-sitter, for the first command only

    return scan(command, cwd=str(folder), home=str(home), project_root=root)


def _project_root(context: ToolContext) -> str:
    """Return the real path of the project; the folder itself where the worktree would be the whole disk."""
    return os.path.realpath(context.directory if str(context.worktree) == "/" else context.worktree)


def _folders_outside(scan: "Scan", folder: Path, context: ToolContext) -> list[str]:
    found = [external.folder for external in scan.external if not is_inside(Path(external.folder), context)]
    if not is_inside(folder, context):
        found.insert(0, str(folder))
    return list(dict.fromkeys(found))


def _protected(scan: "Scan", folder: Path, root: str) -> tuple[list[str], list[str]]:
    """Return files with secrets as absolute paths, and, relative to the root, files that would run later (git hooks)."""
    paths = [os.path.normpath(os.path.join(folder, path)) for path in scan.sensitive]
    return (
        [path for path in paths if is_secret(path)],
        [os.path.relpath(path, root) for path in paths if not is_secret(path)],
    )


async def _ask_outside(folders: Sequence[str], context: ToolContext) -> None:
    if folders:
        patterns = [f"{folder.rstrip('/')}/*" for folder in folders]
        await context.ask("external_directory", patterns, always=patterns)


async def _ask_to_run(command: str, scan: "Scan", context: ToolContext) -> None:
    """Ask for every member command; one that cannot be analyzed must be allowed by an exact rule or by the user."""
    opaque = [member.texts[0] for member in scan.members if member.opaque]
    if not (scan.members and scan.parsed) or (scan.opaque and not opaque):
        opaque.append(command)
    patterns = list(dict.fromkeys([*scan.patterns, *opaque]))
    if patterns:
        facts: dict[str, Any] = {name: True for name in ("opaque", "network") if getattr(scan, name)}
        await context.ask("bash", patterns, always=scan.always, metadata=facts, must_ask=opaque)
