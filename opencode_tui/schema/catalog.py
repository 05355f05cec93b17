"""What a face shows of agents and settings."""

from typing import Literal

from pydantic import Field

from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent


class AgentSummary(Record):
    """An agent as one chooses it."""

    name: str
    description: str | None = absent()
    mode: Literal["primary", "subagent", "all"]
    native: bool = False
    hidden: bool = False
    model: ModelRef | None = absent()
    steps: int | None = absent()


class Notices(Record):
    """Lines about the settings: `warnings`, and what is `ignored` until the folder is trusted."""

    warnings: list[str] = Field(default_factory=list[str])
    ignored: list[str] = Field(default_factory=list[str])
