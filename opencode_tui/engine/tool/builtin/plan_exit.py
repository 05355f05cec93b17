"""The plan_exit tool: the plan agent asks whether its plan should be built; with a yes the build agent continues.

Source: docs/internals/tools.md#plan_exit.
"""

import asyncio
import os
from pathlib import Path

from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import QuestionDismissedError, ToolError
from opencode_tui.schema.plan import steps_of

PLANS = Path(".opencode/plans")
_BUILDER = "build"
_YES, _NO = "Yes", "No"


class PlanExitParameters(Parameters):
    """Nothing."""


class PlanExitTool:
    """Asks whether to build the plan."""

    name = "plan_exit"
    parameters = PlanExitParameters

    def __init__(self) -> None:
        self.description = read_description(self.name)

    async def run(self, arguments: PlanExitParameters, context: ToolContext) -> ToolResult:
        """Return the user's answer, after a yes once the request for the build agent is stored.

        Raises QuestionDismissedError when the user wants to keep planning without saying how, which ends the turn.
        """
        if context.agent == _BUILDER:
            raise ToolError("no plan mode is on: edit files and run commands right away")
        if context.inquire is None or context.subagents is None:
            raise ToolError("the user cannot be asked here; end with the plan as your answer")
        await context.ask("plan_exit", ["*"], always=["*"])
        plan = await asyncio.to_thread(_newest_plan, context.worktree)
        subject = f"The plan in {plan}" if plan else "The plan"
        [answer] = await context.inquire([_question(subject, plan)])
        if answer in ([_NO], []):
            raise QuestionDismissedError
        if answer != [_YES]:
            return ToolResult("Keep planning", f"The user wants changes to the plan: {', '.join(answer)}")
        await context.subagents.hand_over(
            _BUILDER, f"{subject} is approved: you may edit files now. Carry it out, step by step."
        )
        count = await asyncio.to_thread(_count_steps, context.worktree, plan)
        title = f"approved, {count} {'step' if count == 1 else 'steps'}" if count else "approved"
        return ToolResult(title, "The user approved the plan, and the build agent takes over. End your turn.")


def _question(subject: str, plan: str | None) -> Question:
    return Question(
        question=f"{subject} is complete. Start building?",
        header="Build agent",
        options=[
            QuestionOption(label=_YES, description="The build agent carries out the plan"),
            QuestionOption(label=_NO, description="Keep planning"),
        ],
        plan=plan,
    )


def _newest_plan(worktree: Path) -> str | None:
    """Return the plan file that was written last, relative to the worktree."""
    try:
        with os.scandir(worktree / PLANS) as entries:
            plans = [entry for entry in entries if entry.name.endswith(".md") and entry.is_file(follow_symlinks=False)]
    except OSError:
        return None
    newest = max(plans, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, default=None)
    return None if newest is None else str(PLANS / newest.name)


def _count_steps(worktree: Path, plan: str | None) -> int:
    """Return how many steps a plan file has, 0 where it cannot be read."""
    try:
        return 0 if plan is None else len(steps_of((worktree / plan).read_text("utf-8", "replace")))
    except OSError:
        return 0


def make(kit: ToolKit) -> PlanExitTool:
    """Return the tool."""
    return PlanExitTool()
