"""Agents, providers, tools, skills and the sandbox, as the API returns them."""

from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import JsonObject, Record, absent


class AgentSummary(Record):
    """An agent in a list; `variant` is that of its requests, where the model has it and the user chose none."""

    name: str
    description: str | None = absent()
    mode: Literal["primary", "subagent", "all"]
    native: bool = False
    hidden: bool = False
    model: ModelRef | None = absent()
    variant: str | None = absent()
    steps: int | None = absent()


class ProviderSummary(Record):
    """A provider in a list. `env` are the variables for its key, `source` is where its key or address comes from.

    `is_ready` is whether it can be used now; `package` is its wire format, as in the settings. OpenCode's API has the first four.
    """

    id: str
    name: str
    source: Literal["env", "config", "custom", "api"] = "custom"
    env: list[str] = Field(default_factory=list[str])
    is_ready: bool = False
    default_model: str | None = absent()
    package: str = ""
    base_url: str = ""


class ApiKey(Record):
    """A key; responses never contain it."""

    type: Literal["api"] = "api"
    key: str = Field(min_length=1, max_length=16_384, repr=False)


class ToolSummary(Record):
    """A tool as the model sees it; `parameters` is a JSON schema."""

    id: str
    description: str
    parameters: JsonObject


class SkillSummary(Record):
    """A skill; `location` is its file, `content` the text after its front matter."""

    name: str
    description: str
    location: str
    content: str


class SandboxState(Record):
    """How commands are confined in a folder: by `tier`, or not at all ("none") for the `reason`; `mode` is the setting's.

    `exposed` is why they can change this program all the same, `spelling` what it means that the disk ignores the case of names,
    each in one line.
    """

    tier: str
    reason: str = ""
    mode: str = "auto"
    exposed: str | None = absent()
    spelling: str | None = absent()


class Notification(Record):
    """What the command of `tui.notify` gets: `message` in a variable too, all as JSON, next to its folder."""

    event: Literal["question", "end"]
    message: str
    session_id: str | None = absent()
    title: str = ""


class StatusFacts(Record):
    """What the command of the status line gets as JSON, next to its folder. `context` is the used share, from 0 to 1."""

    session_id: str | None = absent()
    model: str | None = absent()
    agent: str | None = absent()
    approvals: str | None = absent()
    branch: str | None = absent()
    cost: float = 0
    context: float | None = absent()
    is_running: bool = False
