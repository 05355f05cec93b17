"""Settings of agents and of slash commands. Source: reference, sections 26 and 31."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from opencode_tui.config.settings.section import COLOR_PATTERN, Action, Line, ModelName, Section

AgentMode = Literal["primary", "subagent", "all"]


class AgentSettings(Section):
    """An agent: the values change those of a built-in agent; an unknown name defines a new one."""

    is_open: ClassVar[bool] = True

    name: Line | None = None
    """The display name; commands use the key."""
    description: str | None = None
    """What the agent is for; the model chooses subagents by it."""
    mode: AgentMode | None = None
    """`primary` is chosen by the user, `subagent` by another agent, `all` by both (the default of a new agent)."""
    model: ModelName | None = None
    """The model that this agent uses, as provider/model."""
    variant: Line | None = None
    """The model's variant to use."""
    prompt: str | None = None
    """The agent's system prompt."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature, 0 to 2."""
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Nucleus sampling, 0 to 1."""
    steps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Maximum number of model calls in one turn; then the agent summarizes without tools."""
    maxSteps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Former name of `steps`."""
    permission: dict[str, Action | dict[str, Action]] | None = None
    """Rules of this agent, after those of the settings: tool to action, or tool to pattern to action; the last match wins."""
    tools: dict[str, bool] | None = None
    """Former way to enable tools; use `permission`."""
    disable: bool | None = None
    """Remove this agent."""
    hidden: bool | None = None
    """Hide this agent in lists."""
    color: Annotated[str, Field(pattern=COLOR_PATTERN)] | None = None
    """Color of the agent, as #rrggbb or the name of a theme color, for clients of the server."""
    options: dict[str, Any] | None = None
    """Options that are sent to the provider with each request."""


class CommandSettings(Section):
    """A slash command: a prompt with a name."""

    template: str
    """The prompt; $ARGUMENTS and $1 are replaced by the arguments, @path attaches a file, !`command` inserts its output."""
    description: str | None = None
    """One line for lists."""
    agent: Line | None = None
    """The agent to use."""
    model: ModelName | None = None
    """The model to use, as provider/model."""
    subtask: bool | None = None
    """Run it in a subagent session."""
