"""Settings of agents and of slash commands. Source: reference, sections 26 and 31."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from opencode_tui.config.settings.section import COLOR_PATTERN, Line, ModelName, Section
from opencode_tui.schema.permission import Action

AgentMode = Literal["primary", "subagent", "all"]


class AgentSettings(Section):
    """An agent: a built-in one changes only in what is given, an unknown name makes a new one."""

    is_open: ClassVar[bool] = True

    name: Line | None = None
    """The name that is shown; the key stays the agent's name in commands."""
    description: str | None = None
    """What the agent is for; a sub-agent is chosen by it."""
    mode: AgentMode | None = None
    """`primary` is chosen by the person, `subagent` by another agent, `all` by both (the default of a new agent)."""
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
    """Model calls of one turn at most; then the agent sums up without tools."""
    maxSteps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Former name of `steps`."""
    permission: dict[str, Action | dict[str, Action]] | None = None
    """Rules of this agent, after those of the settings: tool to action, or tool to pattern to action; the last match wins."""
    tools: dict[str, bool] | None = None
    """Former way to switch tools on and off; `permission` says it now."""
    disable: bool | None = None
    """Remove this agent."""
    hidden: bool | None = None
    """Do not offer this agent in lists."""
    color: Annotated[str, Field(pattern=COLOR_PATTERN)] | None = None
    """Colour of the agent on the screen, as #rrggbb or the name of a theme's colour."""
    options: dict[str, Any] | None = None
    """Options that go to the provider with each request."""


class CommandSettings(Section):
    """A slash command: a prompt with a name."""

    template: str
    """The prompt; $ARGUMENTS and $1 stand for what was typed, @path attaches a file, !`command` inserts what a command prints."""
    description: str | None = None
    """One line for lists."""
    agent: Line | None = None
    """The agent that works on it."""
    model: ModelName | None = None
    """The model to use, as provider/model."""
    subtask: bool | None = None
    """Work on it in a session of its own."""
