"""The permissions of a shell command, asked before it runs in one question, and where it then runs.

Source: docs/internals/permissions.md#commands.
"""

import asyncio
import os
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.engine.permission.command_decision import CommandPlan, CommandScope, plan_command
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import CommandRefusedError

ON_HOST = CommandPlan(runs="host", kind="rule", reasons=(), query=Query(session_id="", permission="bash", patterns=()))
"""How a command of the user runs."""


async def ask_for_command(
    command: str,
    *,
    folder: Path,
    home: Path,
    context: ToolContext,
    tier: str = "none",
    is_background: bool = False,
    is_shared: bool = False,
) -> CommandPlan:
    """Return how the command may run in the folder (a real path); `tier` is the sandbox that works. Raises PermissionRefused.

    The question says when the command goes on after the turn (`is_background`). `is_shared`: a confined command runs there now.
    """
    plan = await asyncio.to_thread(_plan, command, folder, home, context, tier, is_shared=is_shared)
    if plan.refusal:
        raise CommandRefusedError(plan.refusal, plan.advice)
    if plan.query.patterns:
        metadata = {**plan.query.metadata, "background": True} if is_background else plan.query.metadata
        await context.ask.query(replace(plan.query, metadata=metadata))
    if plan.runs == "sandbox" and not plan.read_only and await context.ask.is_always_outside(plan.query):
        return replace(plan, runs="host")
    return plan


async def make_plan(command: str, *, folder: Path, home: Path, context: ToolContext, tier: str) -> CommandPlan:
    """Return where the command would run and what it needs; asks nothing."""
    return await asyncio.to_thread(_plan, command, folder, home, context, tier)


def _plan(
    command: str, folder: Path, home: Path, context: ToolContext, tier: str, *, is_shared: bool = False
) -> CommandPlan:
    from opencode_tui.engine.permission.shell.scan import scan  # loads tree-sitter, for the first command only

    root = _project_root(context)
    found = scan(command, cwd=str(folder), home=str(home), project_root=root)
    scope = CommandScope(
        command=command,
        folder=str(folder),
        root=root,
        roots=[os.path.realpath(one) for one in (context.directory, context.worktree) if str(one) != "/"],
        layers=context.ask.rules(),
        tier=tier,
        forms=forms_of(context.directory, context.worktree),
        is_shared=is_shared,
    )
    return plan_command(found, scope)


def _project_root(context: ToolContext) -> str:
    """Return the real path of the project; the folder itself where the worktree would be the whole disk."""
    return os.path.realpath(context.directory if str(context.worktree) == "/" else context.worktree)
