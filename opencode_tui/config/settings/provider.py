"""Settings of providers and their models. Source: reference, section 31."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from opencode_tui.config.settings.section import (
    ApiKey,
    Headers,
    Line,
    Milliseconds,
    Off,
    Price,
    Section,
    Text,
    Tokens,
    Url,
)


class LimitSettings(Section):
    """Sizes of a model in tokens."""

    context: Tokens | None = None
    """Context window; 0 or missing means unknown, and then nothing is compacted in time."""
    input: Tokens | None = None
    """Input limit, where the provider has one of its own."""
    output: Tokens | None = None
    """Output limit."""


class CostSettings(Section):
    """Prices of a model in USD per million tokens."""

    input: Price | None = None
    """Input price."""
    output: Price | None = None
    """Output price."""
    cache_read: Price | None = None
    """Cache read price."""
    cache_write: Price | None = None
    """Cache write price."""
    context_over_200k: "CostSettings | None" = None
    """Prices of a request of more than 200,000 tokens."""


class ModalitiesSettings(Section):
    """What a model reads and writes."""

    input: list[Literal["text", "audio", "image", "video", "pdf"]] | None = None
    """Kinds that may stand in a request."""
    output: list[Literal["text", "audio", "image", "video", "pdf"]] | None = None
    """Kinds that an answer can have."""


class ModelProviderSettings(Section):
    """How one model is reached, if other than its provider."""

    npm: str | None = None
    """Name of the package that OpenCode uses; here it chooses the wire format."""
    api: Url | None = None
    """Base address of the model's API."""


class ModelSettings(Section):
    """A model of a provider; what is not given comes from the built-in table."""

    id: Line | None = None
    """The name that the provider knows the model by, if other than the key."""
    name: Line | None = None
    """The name that is shown."""
    family: str | None = None
    """The family the model belongs to."""
    release_date: str | None = None
    """Release date."""
    status: Literal["alpha", "beta", "deprecated", "active"] | None = None
    """Release status."""
    experimental: bool | None = None
    """Whether the model is an experiment."""
    limit: LimitSettings | None = None
    """Sizes in tokens."""
    cost: CostSettings | None = None
    """Prices in USD per million tokens."""
    tool_call: bool | None = None
    """Whether the model can call tools."""
    reasoning: bool | None = None
    """Whether the model thinks before it answers."""
    attachment: bool | None = None
    """Whether the model reads images and other files."""
    temperature: bool | None = None
    """Whether the model takes a temperature."""
    interleaved: bool | dict[str, Any] | None = None
    """Whether thoughts may stand between tool calls."""
    modalities: ModalitiesSettings | None = None
    """What the model reads and writes."""
    options: dict[str, Any] | None = None
    """Options that go to the provider with each request."""
    headers: Headers | None = None
    """HTTP headers of each request."""
    variants: dict[str, dict[str, Any]] | None = None
    """Named sets of options."""
    provider: ModelProviderSettings | None = None
    """How this model is reached, if other than its provider."""


class ProviderOptions(Section):
    """Where a provider is and what it wants."""

    is_open: ClassVar[bool] = True

    apiKey: ApiKey | None = Field(default=None, repr=False)
    """The key; better in `opencode-tui auth login`, or as {env:NAME}."""
    baseURL: Url | None = None
    """Base address of the API with its version, as in https://host/v1."""
    headers: Headers | None = Field(default=None, repr=False)
    """HTTP headers of each request."""
    timeout: Milliseconds | Off | None = None
    """Milliseconds for a whole request, or false for no limit."""
    chunkTimeout: Milliseconds | Off | None = None
    """Milliseconds without a byte after which an answer counts as broken off."""
    adapter: Literal["openai", "anthropic", "litellm"] | None = None
    """Which code speaks to the provider: one of the two wire formats, or litellm."""
    setCacheKey: bool | None = None
    """Send the session's id as the key of the provider's cache."""


class ProviderSettings(Section):
    """A provider of models; a known one changes only in what is given."""

    name: Line | None = None
    """The name that is shown."""
    id: Line | None = None
    """The provider's id, if other than the key."""
    npm: str | None = None
    """Name of the package that OpenCode uses; here it chooses the wire format."""
    api: Url | None = None
    """Base address of the API, as `options.baseURL`."""
    env: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] | None = None
    """Environment variables that may hold the key."""
    whitelist: list[Text] | None = None
    """Only these models are offered."""
    blacklist: list[Text] | None = None
    """These models are not offered."""
    options: ProviderOptions | None = None
    """Where the provider is and what it wants."""
    models: dict[Text, ModelSettings] | None = None
    """Models by their id."""
