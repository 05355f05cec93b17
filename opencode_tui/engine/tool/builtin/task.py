"""The task tool: another agent works in a child session. Source: docs/internals/tools.md#task."""

from collections.abc import Mapping
from typing import Annotated

from opencode_tui.engine.tool.builtin.task_changes import BranchEdit
from opencode_tui.engine.tool.kit import Editing, ToolKit
from opencode_tui.engine.tool.tool import Parameters, Subagents, SubagentTask, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import UNLISTED, Field


def task_output(session_id: str, report: str) -> str:
    """Return what the caller's model reads: the report of an agent, and the id to continue with it."""
    return f"task_id: {session_id} (to continue with this agent)\n\n<task_result>\n{report}\n</task_result>"


_WORKTREE = "worktree"


class TaskParameters(Parameters):
    """The work and the agent that does it."""

    description: str
    prompt: str
    subagent_type: str = Field(alias="subagent_type")
    task_id: str | None = Field(default=None, alias="task_id")
    background: bool | None = None
    isolation: str | None = None
    """`worktree`; a plain string in the schema, which is part of every request."""
    apply: bool | None = None
    command: Annotated[str | None, UNLISTED] = None
    """The slash command that the task comes from, if a model names it."""


class TaskTool:
    """Starts agents."""

    name = "task"
    parameters = TaskParameters

    def __init__(self, editing: Editing, environ: Mapping[str, str]) -> None:
        self.description = read_description(self.name)
        self._editing = editing
        self._environ = environ

    async def run(self, arguments: TaskParameters, context: ToolContext) -> ToolResult:
        """Return the agent's report."""
        agents = context.subagents
        if agents is None:
            raise ToolError("agents cannot be started from here")
        if arguments.apply:
            return await self._apply(arguments.task_id, agents, context)
        if arguments.isolation not in (None, _WORKTREE):
            raise ToolError(f"there is no isolation {arguments.isolation!r}; it is {_WORKTREE!r}, or left out")
        if not agents.is_invited(arguments.subagent_type):
            self._check(arguments.subagent_type, agents, context)
            await context.ask(
                "task",
                [arguments.subagent_type],
                always=["*"],
                metadata={"description": arguments.description, "subagent_type": arguments.subagent_type},
            )
        assignment = SubagentTask(
            agent=arguments.subagent_type,
            description=arguments.description,
            prompt=arguments.prompt,
            task_id=arguments.task_id,
            command=arguments.command,
            is_isolated=arguments.isolation is not None,
        )
        if arguments.background:
            started = await agents.start(assignment, context)
            return ToolResult(
                title=arguments.description,
                output=(
                    f"Started in the background as {started.id} (task_id: {started.session_id}). You get its report once it "
                    "has ended, with your next request or the result of a later call; bash_output waits for it or stops it."
                ),
                metadata={
                    "sessionId": started.session_id,
                    "model": started.model,
                    "background": started.id,
                    **started.work,
                },
            )
        done = await agents.run(assignment, context)
        report = done.text.strip() or "(the agent ended without a report)"
        return ToolResult(
            title=arguments.description,
            output=task_output(done.session_id, report) + done.changes,
            metadata={"sessionId": done.session_id, "model": done.model, "tools": list(done.tools), **done.work},
        )

    async def _apply(self, task_id: str | None, agents: Subagents, context: ToolContext) -> ToolResult:
        """Apply what an agent changed in its worktree to the files of the session."""
        if task_id is None:
            raise ToolError("apply needs the task_id of the task whose changes are to be applied")
        branch = await agents.changes(task_id, context)
        done = await BranchEdit(self._editing, self._environ).apply(branch, context)
        await agents.applied(task_id)
        return done

    @staticmethod
    def _check(name: str, agents: Subagents, context: ToolContext) -> None:
        available = agents.available(context.agent)
        if name not in [agent for agent, _ in available]:
            listed = "; ".join(f"{agent}: {description.rstrip('.')}" for agent, description in available) or "none"
            raise ToolError(f"there is no agent {name!r} for tasks; choose one of: {listed}")


def make(kit: ToolKit) -> TaskTool:
    """Return the tool."""
    return TaskTool(kit.editing, kit.environ)
