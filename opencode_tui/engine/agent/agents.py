"""The agent type and the seven built-in agents with their rules. Source: docs/internals/permissions.md#agents."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from opencode_tui.engine.permission.defaults import (
    PermissionFolders,
    reading_rules,
    rule,
    tool_output_pattern,
)
from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.tools import OLD_TOOLS, TOOLS

PromptName = Literal[
    "plan", "build_switch", "explore", "general", "commit_message", "compaction", "title", "summary", "side_question",
    "subtask_report",
]  # fmt: skip


@lru_cache(maxsize=16)
def read_prompt(name: PromptName) -> str:
    """Return a prompt's text without surrounding blank lines.

    `plan` and `build_switch` are reminders that the loop adds to the latest user message (docs/internals/loop.md#reminders);
    `subtask_report` follows the subtask of a slash command. For agents without a prompt see `families`.
    """
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


AgentMode = Literal["primary", "subagent", "all"]

PLAN_FILES = ".opencode/plans/*.md"
"""The only files that the agent `plan` may edit, relative to the worktree."""


class AgentInfo(Record):
    """An agent. `primary` agents talk with the user, `subagent` ones work for another agent, `all` do both.

    `permission` is the complete ruleset, settings included; `steps` is the number of model calls in a turn after which it gets no
    more tools; `options` go to the provider unchanged. Without a `prompt` it uses that of the model (`families`).
    """

    name: str
    description: str | None = absent()
    mode: AgentMode
    native: bool = False
    hidden: bool = False
    top_p: float | None = absent()
    temperature: float | None = absent()
    color: str | None = absent()
    permission: list[Rule] = Field(default_factory=list[Rule])
    model: ModelRef | None = absent()
    variant: str | None = absent()
    prompt: str | None = absent()
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    steps: int | None = Field(default=None, gt=0, absent=True)


def built_in_agents(folders: PermissionFolders) -> list[AgentInfo]:
    """Return the seven agents in order; `permission` has only the rules that each adds to the default ones."""
    return [
        AgentInfo.trusted(
            name="build",
            description="Default agent. Reads, edits and runs commands within your permissions.",
            mode="primary",
            native=True,
            permission=_own_tools("build"),
        ),
        AgentInfo.trusted(
            name="plan",
            description="Analyzes the code and proposes a plan without editing files.",
            mode="primary",
            native=True,
            permission=[*_own_tools("plan"), *_plan_editing()],
        ),
        AgentInfo.trusted(
            name="general",
            description="Handles a self-contained task and reports back. Several can run in parallel.",
            mode="subagent",
            native=True,
            prompt=read_prompt("general"),
            permission=[rule("todoread", "*", "deny"), rule("todowrite", "*", "deny")],
        ),
        AgentInfo.trusted(
            name="explore",
            description="Read-only codebase search. Say how thorough to be.",
            mode="subagent",
            native=True,
            prompt=read_prompt("explore"),
            permission=_exploring(folders),
        ),
        _silent_agent("compaction", prompt=read_prompt("compaction")),
        _silent_agent("title", prompt=read_prompt("title"), temperature=0.5),
        _silent_agent("summary", prompt=read_prompt("summary")),
    ]


def _own_tools(agent: str) -> list[Rule]:
    return [rule(row.name, "*", "allow") for row in (*TOOLS, *OLD_TOOLS) if agent in row.only_for]


def _plan_editing() -> list[Rule]:
    return [rule("edit", "*", "deny"), rule("edit", PLAN_FILES, "allow")]


def _exploring(folders: PermissionFolders) -> list[Rule]:
    return [
        rule("*", "*", "deny"),
        *(rule(row.name, "*", "allow") for row in (*TOOLS, *OLD_TOOLS) if row.explores),
        *reading_rules(),
        rule("external_directory", tool_output_pattern(folders), "allow"),
    ]


def _silent_agent(name: str, *, prompt: str, temperature: float | None = None) -> AgentInfo:
    return AgentInfo.trusted(
        name=name,
        mode="primary",
        native=True,
        hidden=True,
        prompt=prompt,
        temperature=temperature,
        permission=[rule("*", "*", "deny")],
    )
