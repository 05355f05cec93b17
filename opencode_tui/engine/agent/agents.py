"""What an agent is, and the seven that are built in with their rules. Source: reference, section 26."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from opencode_tui.engine.permission.defaults import (
    PermissionFolders,
    reading_rules,
    rule,
    tool_output_pattern,
)
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent

# The texts that tell an agent how to work; each is a file in `prompts/`.

PromptName = Literal[
    "default", "plan", "build_switch", "explore", "general", "compaction", "title", "summary", "subtask_report"
]  # fmt: skip


@lru_cache(maxsize=16)
def read_prompt(name: PromptName) -> str:
    """Return a prompt's text without surrounding blank lines.

    `default` is the system prompt of every agent without one of its own; `plan` and `build_switch` are reminders that the loop
    puts beside the newest user message (reference, section 24); `subtask_report` follows the subtask of a slash command (29).
    """
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


AgentMode = Literal["primary", "subagent", "all"]

PLAN_FILES = ".opencode/plans/*.md"
"""The only files that the agent `plan` may edit, relative to the worktree."""

_LOOKING_TOOLS = ("grep", "glob", "list", "bash", "webfetch", "websearch", "codesearch")


class AgentInfo(Record):
    """An agent. `primary` ones talk with the person, `subagent` ones work for another agent, `all` do both.

    `permission` is its whole ruleset, settings included; `steps` is after how many model calls of a turn its tools end;
    `options` go to the provider as they are. Without a `prompt` it works by the default one.
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
    steps: int | None = Field(default=None, gt=0, exclude_if=lambda value: value is None)


def built_in_agents(folders: PermissionFolders) -> list[AgentInfo]:
    """Return the seven in their order; `permission` holds only what each adds to the default rules."""
    return [
        AgentInfo(
            name="build",
            description="Does the work: reads, edits and runs what the request needs, within your permissions.",
            mode="primary",
            native=True,
            permission=[rule("question", "*", "allow"), rule("plan_enter", "*", "allow")],
        ),
        AgentInfo(
            name="plan",
            description="Reads and thinks, then proposes a plan; edits nothing but plan files.",
            mode="primary",
            native=True,
            permission=[rule("question", "*", "allow"), rule("plan_exit", "*", "allow"), *_plan_editing()],
        ),
        AgentInfo(
            name="general",
            description="Takes over a whole piece of work and reports its outcome; several of them can work side by side.",
            mode="subagent",
            native=True,
            prompt=read_prompt("general"),
            permission=[rule("todoread", "*", "deny"), rule("todowrite", "*", "deny")],
        ),
        AgentInfo(
            name="explore",
            description="Looks things up in the code base and changes nothing: where something is, who uses it, how it "
            "works. Say in the request how far the search shall go.",
            mode="subagent",
            native=True,
            prompt=read_prompt("explore"),
            permission=_exploring(folders),
        ),
        _silent_agent("compaction", prompt=read_prompt("compaction")),
        _silent_agent("title", prompt=read_prompt("title"), temperature=0.5),
        _silent_agent("summary", prompt=read_prompt("summary")),
    ]


def _plan_editing() -> list[Rule]:
    return [rule("edit", "*", "deny"), rule("edit", PLAN_FILES, "allow")]


def _exploring(folders: PermissionFolders) -> list[Rule]:
    return [
        rule("*", "*", "deny"),
        *(rule(tool, "*", "allow") for tool in _LOOKING_TOOLS),
        *reading_rules(),
        rule("external_directory", tool_output_pattern(folders), "allow"),
    ]


def _silent_agent(name: str, *, prompt: str, temperature: float | None = None) -> AgentInfo:
    return AgentInfo(
        name=name,
        mode="primary",
        native=True,
        hidden=True,
        prompt=prompt,
        temperature=temperature,
        permission=[rule("*", "*", "deny")],
    )
