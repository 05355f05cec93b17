"""Agents, providers, tools, skills and the sandbox, as the API returns them."""

from typing import Literal

from pydantic import Field

from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import JsonObject, Record, absent


class AgentSummary(Record):
    """An agent in a list."""

    name: str
    description: str | None = absent()
    mode: Literal["primary", "subagent", "all"]
    native: bool = False
    hidden: bool = False
    model: ModelRef | None = absent()
    steps: int | None = absent()


class ProviderSummary(Record):
    """A provider in a list. `env` are the variables for its key, `source` is where its key or address comes from.

    Not sent: `is_ready` is whether it can be used now; `package` is its wire format, as in the settings.
    """

    id: str
    name: str
    source: Literal["env", "config", "custom", "api"] = "custom"
    env: list[str] = Field(default_factory=list[str])
    is_ready: bool = Field(default=False, exclude=True)
    default_model: str | None = Field(default=None, exclude=True)
    package: str = Field(default="", exclude=True)
    base_url: str = Field(default="", exclude=True)


class ProviderFacts(Record):
    """All fields of a provider, including those that `ProviderSummary` does not send."""

    summary: ProviderSummary
    is_ready: bool
    default_model: str | None = absent()
    package: str = ""
    base_url: str = ""

    def whole(self) -> ProviderSummary:
        """Return the summary with all fields."""
        return self.summary.changed(
            is_ready=self.is_ready, default_model=self.default_model, package=self.package, base_url=self.base_url
        )


def provider_facts(summary: ProviderSummary) -> ProviderFacts:
    """Return all fields of a provider in a form that can be sent."""
    return ProviderFacts(
        summary=summary,
        is_ready=summary.is_ready,
        default_model=summary.default_model,
        package=summary.package,
        base_url=summary.base_url,
    )


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

    `exposed` is why they can change this program all the same, in one line.
    """

    tier: str
    reason: str = ""
    mode: str = "auto"
    exposed: str | None = absent()


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
