"""The permissions of a shell command, asked before it runs in one question, and where it then runs.

Source: docs/internals/permissions.md#commands.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from opencode_tui.engine.permission.command_decision import CommandPlan, CommandScope, plan_command
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.permission.shell.scan import scan
from opencode_tui.engine.tool.builtin.bash_losses import find_paths, rows_of
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import CommandRefusedError
from opencode_tui.schema.session.sandbox import KEY, sandbox_of

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.scan.lost_files import LostPath

ON_HOST = CommandPlan(runs="host", kind="rule", reasons=(), query=Query(session_id="", permission="bash", patterns=()))
"""How a command of the user runs."""


async def ask_for_command(
    command: str,
    *,
    folder: Path,
    home: Path,
    context: ToolContext,
    tier: str = "none",
    environ: Mapping[str, str] | None = None,
    is_background: bool = False,
    is_shared: bool = False,
    is_hidden: Callable[[str], bool] | None = None,
) -> tuple[CommandPlan, "Sequence[LostPath]"]:
    """Return how the command may run in the folder (a real path), and what it would discard. Raises PermissionRefused.

    `tier` is the sandbox that works, `environ` are the variables for git, which lists what a command of git would discard.

    The question says when the command continues after the turn (`is_background`). `is_shared`: a confined command runs there now.
    `is_hidden` returns whether settings hide an absolute path.
    """
    plan = await asyncio.to_thread(
        _plan, command, folder, home, context, tier, is_shared=is_shared, is_hidden=is_hidden
    )
    if plan.refusal:
        raise CommandRefusedError(plan.refusal, plan.advice)
    lost = await _lost_paths(plan, context, environ)
    if plan.query.patterns:
        metadata = {**plan.query.metadata, "background": True} if is_background else dict(plan.query.metadata)
        if _is_listed(plan) and lost and context.watch is not None and (facts := sandbox_of(metadata)) is not None:
            metadata[KEY] = facts.changed(lost=rows_of(await context.watch.find_lost(lost))).to_dict()
        await context.ask.query(replace(plan.query, metadata=metadata))
    if (leaving := plan.leaving()) is not None and await context.ask.is_always_outside(leaving.query):
        plan = leaving
    return plan, lost


def _is_listed(plan: CommandPlan) -> bool:
    """Return whether a question lists what is lost: not where a rule asks about a command that only writes files."""
    return plan.kind != "rule" or any(loss.kind != "replaced" for loss in plan.losses)


async def _lost_paths(
    plan: CommandPlan, context: ToolContext, environ: Mapping[str, str] | None
) -> "Sequence[LostPath]":
    """Return the paths that the command would discard; none where no changes are recorded."""
    if not plan.losses or context.watch is None or plan.read_only or environ is None:
        return ()

    return await find_paths(plan.losses, Path(_worktree_root(context)), environ)


def _worktree_root(context: ToolContext) -> str:
    return os.path.realpath(context.worktree)


async def make_plan(command: str, *, folder: Path, home: Path, context: ToolContext, tier: str) -> CommandPlan:
    """Return where the command would run and what it needs; asks nothing."""
    return await asyncio.to_thread(_plan, command, folder, home, context, tier)


def _plan(
    command: str,
    folder: Path,
    home: Path,
    context: ToolContext,
    tier: str,
    *,
    is_shared: bool = False,
    is_hidden: Callable[[str], bool] | None = None,
) -> CommandPlan:
    root = _project_root(context)
    found = scan(command, cwd=str(folder), home=str(home), project_root=root)
    scope = CommandScope(
        command=command,
        folder=str(folder),
        root=root,
        roots=[os.path.realpath(one) for one in (context.directory, context.worktree) if str(one) != "/"],
        layers=context.ask.rules(),
        tier=tier,
        forms=forms_of(context.directory, context.worktree, context.origins),
        is_shared=is_shared,
        is_hidden=is_hidden,
    )
    return plan_command(found, scope)


def _project_root(context: ToolContext) -> str:
    """Return the real path of the project; the folder itself where the worktree would be the whole disk."""
    return os.path.realpath(context.directory if str(context.worktree) == "/" else context.worktree)
