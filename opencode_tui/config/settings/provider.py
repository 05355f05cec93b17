"""Settings of providers and their models. Source: docs/internals/settings.md#keys."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from opencode_tui.config.settings.marks import HARMLESS, SENDS, WEAKENS, Default, Mark, Trust
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
from opencode_tui.schema.field import Field
from opencode_tui.schema.provider_formats import FormatName
from opencode_tui.schema.setting_defaults import CHUNK_TIMEOUT_MS


class LimitSettings(Section):
    """Sizes of a model in tokens."""

    context: Tokens | None = None
    """Context window; 0 or missing means unknown, which disables automatic compaction."""
    input: Tokens | None = None
    """Input limit, if the provider has a separate one."""
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
    context_over_200k: CostSettings | None = None
    """Prices of a request of more than 200,000 tokens."""


class ModalitiesSettings(Section):
    """Input and output types of a model."""

    input: list[Literal["text", "audio", "image", "video", "pdf"]] | None = None
    """Supported input types."""
    output: list[Literal["text", "audio", "image", "video", "pdf"]] | None = None
    """Supported output types."""


class ModelProviderSettings(Section):
    """Connection of a model that differs from that of its provider."""

    npm: str | None = None
    """Name of the npm package that OpenCode uses; selects the wire format here."""
    api: Url | None = None
    """Base address of the model's API."""


class ModelSettings(Section):
    """A model of a provider; defaults come from the built-in table."""

    untrusted: ClassVar[Trust | None] = Trust(SENDS)

    id: Line | None = None
    """The provider's name of the model, if it differs from the key."""
    name: Annotated[Line | None, HARMLESS] = None
    """The display name."""
    family: Annotated[str | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Model family."""
    release_date: Annotated[str | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Release date."""
    status: Annotated[Literal["alpha", "beta", "deprecated", "active"] | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Release status."""
    experimental: Annotated[bool | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Whether the model is experimental."""
    limit: Annotated[LimitSettings | None, HARMLESS] = None
    """Sizes in tokens."""
    cost: Annotated[CostSettings | None, Trust(WEAKENS)] = None  # a budget counts by it
    """Prices in USD per million tokens."""
    tool_call: Annotated[bool | None, HARMLESS] = None
    """Whether the model can call tools."""
    reasoning: Annotated[bool | None, HARMLESS] = None
    """Whether the model supports reasoning."""
    attachment: Annotated[bool | None, HARMLESS] = None
    """Whether the model reads images and other files."""
    temperature: Annotated[bool | None, HARMLESS] = None
    """Whether the model accepts a temperature."""
    interleaved: Annotated[bool | dict[str, Any] | None, HARMLESS, Mark.UNSUPPORTED] = None
    """Whether reasoning is sent back between tool calls (not supported yet)."""
    modalities: Annotated[ModalitiesSettings | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Input and output types."""
    options: dict[str, Any] | None = None
    """Options that are sent to the provider with each request."""
    headers: Headers | None = Field(default=None, repr=False)
    """HTTP headers of each request."""
    variants: dict[str, dict[str, Any]] | None = None
    """Named sets of options."""
    variant: Annotated[Line | None, HARMLESS] = None
    """The variant of requests for which none is chosen; `provider` sends no option, so that the provider's own default applies."""
    provider: Annotated[ModelProviderSettings | None, Trust(SENDS)] = None
    """Connection of this model, if it differs from that of its provider."""


class ProviderOptions(Section):
    """Address, key and limits of a provider."""

    is_open: ClassVar[bool] = True

    apiKey: ApiKey | None = Field(default=None, repr=False)
    """The API key; prefer `opencode-tui auth login` or {env:NAME}."""
    baseURL: Url | None = None
    """Base address of the API with its version, as in https://host/v1."""
    headers: Headers | None = Field(default=None, repr=False)
    """HTTP headers of each request."""
    timeout: Annotated[Milliseconds | Off | None, Default(False)] = None
    """Milliseconds for a whole request, or false for no limit."""
    chunkTimeout: Annotated[Milliseconds | Off | None, Default(CHUNK_TIMEOUT_MS)] = None
    """Milliseconds without data after which a response fails; after six times as many one with data and no event."""
    adapter: Literal[FormatName, "litellm"] | None = None
    """The wire format: OpenAI's chat completions or Responses, Anthropic's, Gemini's; or litellm, which translates."""
    setCacheKey: bool | None = None
    """Send the session's id as the provider's cache key; by default to providers that document it."""


class ProviderSettings(Section):
    """A provider of models; the values change those of a known provider."""

    untrusted: ClassVar[Trust | None] = Trust(SENDS)

    name: Annotated[Line | None, HARMLESS] = None
    """The display name."""
    id: Line | None = None
    """The provider's id, if it differs from the key."""
    npm: str | None = None
    """Name of the npm package that OpenCode uses; selects the wire format here."""
    api: Url | None = None
    """Base address of the API, as `options.baseURL`."""
    env: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] | None = None
    """Environment variables for the API key."""
    whitelist: Annotated[list[Text] | None, HARMLESS] = None
    """Only these models are available."""
    blacklist: Annotated[list[Text] | None, HARMLESS] = None
    """These models are not available."""
    options: Annotated[ProviderOptions | None, Trust(SENDS)] = None
    """Address, key and limits."""
    models: Annotated[dict[Text, ModelSettings] | None, HARMLESS] = None
    """Models by their id."""
