"""Models: names, limits and prices."""

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import Record, absent

Adapter = Literal["openai", "anthropic", "litellm", "demo"]
"""The code that talks to the provider: one of the two wire formats, litellm's child process, or the built-in demo."""


class ModelRef(Record):
    """A model's full name; as text `provider/model`, split at the first slash."""

    provider_id: str
    model_id: str

    def __str__(self) -> str:
        return f"{self.provider_id}/{self.model_id}"


def parse_model_ref(text: str) -> ModelRef | None:
    """Return the model of a text `provider/model`, or None when it has another form."""
    provider, slash, model = text.strip().partition("/")
    if not (provider and slash and model):
        return None
    return ModelRef(provider_id=provider, model_id=model)


def require_model_ref(text: str, name: str) -> ModelRef:
    """Return the model that `provider/model` names; `name` says where the text is from. Raises ConfigError for another form."""
    ref = parse_model_ref(text)
    if ref is None:
        raise ConfigError(f"invalid {name} {text!r}: expected provider/model (see `opencode-tui models`)")
    return ref


class Limit(Record):
    """Sizes in tokens; 0 means unknown. `input` is a separate limit of some providers."""

    context: int = 0
    input: int | None = absent()
    output: int = 0


class Prices(Record):
    """Prices in USD per million tokens; 0 is free, or unknown."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)


class LargePrices(Prices):
    """The prices of all tokens of a request that sends more than `above` tokens."""

    above: int = 200_000


class Cost(Prices):
    """The prices of a model; `large` has those of large requests, the smallest `above` first."""

    large: list[LargePrices] = Field(default_factory=list[LargePrices])


class Model(Record):
    """A model: its limits, prices, capabilities and adapter.

    `options` and `headers` of the settings are sent with every call; headers may contain a key and are never shown. `variants` are
    named sets of options; a request may choose one. `usable` is the number of tokens at which a conversation is compacted under the
    settings of a folder; absent without a folder or when the limit is unknown.
    """

    provider_id: str
    model_id: str
    name: str = ""
    adapter: Adapter = "litellm"
    api_id: str = ""
    limit: Limit = Field(default_factory=Limit)
    usable: int | None = absent()
    cost: Cost = Field(default_factory=Cost)
    tool_call: bool = True
    reasoning: bool = False
    attachment: bool = False
    temperature: bool = True
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False, exclude=True)

    @property
    def ref(self) -> ModelRef:
        """The model's full name."""
        return ModelRef(provider_id=self.provider_id, model_id=self.model_id)
