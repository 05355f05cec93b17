"""Agents, models, providers, commands and skills."""

from typing import Any, Literal

from opencode_tui.extras.opencode2.schema.location import ModelName, ProviderRequest
from opencode_tui.extras.opencode2.schema.value import Value
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, absent


class RuleValue(Value):
    """A permission rule."""

    action: str
    resource: str
    effect: Literal["allow", "deny", "ask"]


class AgentValue(Value):
    """An agent with its rules, the last match wins."""

    id: str
    model: ModelName | None = absent()
    request: ProviderRequest = Field(default_factory=ProviderRequest)
    system: str | None = absent()
    description: str | None = absent()
    mode: Literal["primary", "subagent", "all"]
    hidden: bool
    steps: int | None = absent()
    permissions: list[RuleValue]


class ProviderApi(Value):
    """How a provider is called: the package that names its format, and its address."""

    type: Literal["aisdk"] = "aisdk"
    package: str
    url: str | None = absent()


class ModelApi(ProviderApi):
    """How a model is called."""

    id: str


class ProviderValue(Value):
    """A provider that can be used."""

    id: str
    name: str
    api: ProviderApi
    request: ProviderRequest = Field(default_factory=ProviderRequest)


class ModelCapabilities(Value):
    """What a model can read and write."""

    tools: bool
    input: list[str]
    output: list[str]


class PriceTier(Value):
    """Requests with more than `size` tokens of context."""

    type: Literal["context"] = "context"
    size: int


class CachePrices(Value):
    """USD per million tokens."""

    read: float
    write: float


class ModelPrices(Value):
    """USD per million tokens."""

    tier: PriceTier | None = absent()
    input: float
    output: float
    cache: CachePrices


class ModelVariant(Value):
    """A named set of options."""

    id: str
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    body: JsonObject = Field(default_factory=dict[str, Any])


class ModelLimits(Value):
    """Sizes in tokens; 0 means unknown."""

    context: int
    input: int | None = absent()
    output: int


class ModelTime(Value):
    """Milliseconds since 1970; 0 means unknown."""

    released: int = 0


class ModelValue(Value):
    """A model that can be used."""

    id: str
    provider_id: str
    name: str
    api: ModelApi
    capabilities: ModelCapabilities
    request: ProviderRequest = Field(default_factory=ProviderRequest)
    variants: list[ModelVariant]
    time: ModelTime = Field(default_factory=ModelTime)
    cost: list[ModelPrices]
    status: Literal["active"] = "active"
    enabled: bool = True
    limit: ModelLimits


class CommandValue(Value):
    """A slash command."""

    name: str
    template: str
    description: str | None = absent()
    agent: str | None = absent()
    model: ModelName | None = absent()
    subtask: bool | None = absent()


class SkillValue(Value):
    """A skill."""

    name: str
    description: str | None = absent()
    location: str
    content: str


class Entry(Value):
    """A file or a folder by its path in the location; that of a folder ends with a slash."""

    path: str
    type: Literal["file", "directory"]


class KeyMethod(Value):
    """A key is stored."""

    type: Literal["key"] = "key"


class VariableMethod(Value):
    """A key is in one of these variables."""

    type: Literal["env"] = "env"
    names: list[str]


class StoredConnection(Value):
    """A key is stored."""

    type: Literal["credential"] = "credential"
    id: str
    label: str


class VariableConnection(Value):
    """A variable has a key."""

    type: Literal["env"] = "env"
    name: str


class IntegrationValue(Value):
    """A provider: how it is given a key, and the keys that it has."""

    id: str
    name: str
    methods: list[KeyMethod | VariableMethod]
    connections: list[StoredConnection | VariableConnection]


class NewKey(Value):
    """A key to store."""

    key: str = Field(min_length=1, max_length=16_384, repr=False)
    label: str | None = absent()


class CredentialLabel(Value):
    """The name of a stored key."""

    label: str


class OauthRequest(Value):
    """A sign-in to begin."""

    method_id: str
    inputs: dict[str, str]
    label: str | None = absent()


class OauthCode(Value):
    """What the browser shows at the end of a sign-in."""

    code: str | None = absent()


class NewCopy(Value):
    """A copy of a project to make."""

    strategy: str
    directory: str
    name: str | None = absent()


class OldCopy(Value):
    """A copy of a project to remove."""

    directory: str
    force: bool
