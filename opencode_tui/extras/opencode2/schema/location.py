"""The folder that a request or an answer is about."""

from typing import Any

from opencode_tui.extras.opencode2.schema.value import Value
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, absent


class ModelName(Value):
    """A model, and the variant of it."""

    id: str
    provider_id: str
    variant: str | None = absent()


class LocationRef(Value):
    """A folder, absolute."""

    directory: str


class LocatedProject(Value):
    """A project and its worktree, absolute."""

    id: str
    directory: str


class Location(Value):
    """A folder, absolute, and its project."""

    directory: str
    project: LocatedProject


class ProviderRequest(Value):
    """What is sent with each request; never a key."""

    headers: dict[str, str] = Field(default_factory=dict[str, str])
    body: JsonObject = Field(default_factory=dict[str, Any])
