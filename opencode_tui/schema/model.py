"""Models: names, limits and prices."""

from decimal import Decimal
from typing import Any, Literal

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.field import Field
from opencode_tui.schema.provider_formats import FormatName
from opencode_tui.schema.record import Record, absent

Adapter = Literal[FormatName, "chatgpt", "litellm", "demo"]
"""The code that talks to the provider: that of a format, of a ChatGPT plan, litellm's child process, or the built-in demo."""


MODEL_TITLE = "Model"
"""The title of messages to the user about the model that answers; `run` prints them too."""

LANGUAGES_TITLE = "Language servers"
"""The title of messages to the user about what language servers did not find in time; `run` prints them too."""


COPILOT = "github-copilot"
COPILOT_WARNING = (
    "github-copilot sends requests with the identity of VS Code, for which GitHub has given no permission;"
    " GitHub may limit your access or end it"
)
COPILOT_USE = (
    "no key is stored for github-copilot: it uses a token that litellm has stored, once the settings have"
    ' "provider": {"github-copilot": {"options": {}}}'
)


class ModelRef(Record):
    """A model's full name; as text `provider/model`, split at the first slash."""

    provider_id: str
    model_id: str

    def __str__(self) -> str:
        return f"{self.provider_id}/{self.model_id}"


PROVIDER_VARIANT = "provider"
"""The variant of every model that sends no option, so that the provider's own default applies."""


def has_variant(model: "Model", name: str) -> bool:
    """Return whether a request to this model may name the variant: one of its own, or `provider`."""
    return name in model.variants or name == PROVIDER_VARIANT


def shown_variant(model: "Model | None", chosen: str | None) -> str:
    """Return the variant that the next request has: the chosen one, else the model's default; empty for none."""
    if chosen is not None:
        return chosen
    default = None if model is None else model.default_variant
    return default if model is not None and default is not None and default in model.variants else ""


def describe_variants(model: "Model", wrong: str) -> str:
    """Return what is wrong with the name of a variant that a model does not have, as the rest of a sentence."""
    if not model.variants:
        return "has no variants"
    return f"has no variant {wrong!r}; choose one of {', '.join(model.variants)}"


def describe_default_variant(model: "Model") -> str:
    """Return what is wrong with the variant that the settings name as a model's default; empty when nothing is."""
    default = model.default_variant
    if default is None or has_variant(model, default):
        return ""
    setting = f"provider.{model.provider_id}.models.{model.model_id}.variant"
    return f"{model.ref} {describe_variants(model, default)} ({setting})"


def describe_unlisted(model: "Model") -> str:
    """Return what is assumed of a model that no list has, empty for any other."""
    if model.unlisted is None:
        return ""
    limits = f"the limits of {model.unlisted} are assumed" if model.unlisted else "its context size is unknown"
    setting = f"provider.{model.provider_id}.models.{model.model_id}"
    return f"{model.ref} is not listed: {limits}, its price is unknown; {setting} sets limit and cost"


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
    """Prices in USD per million tokens; 0 is free, or unknown.

    `cache_write_hour` is that of what the cache keeps for an hour instead of five minutes, `reasoning` that of the part of the
    output that is reasoning; absent where they cost what the others do.
    """

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)
    cache_write_hour: Decimal | None = absent()
    reasoning: Decimal | None = absent()


class LargePrices(Prices):
    """The prices of all tokens of a request that sends more than `above` tokens."""

    above: int = 200_000


class Cost(Prices):
    """The prices of a model; `large` has those of large requests, the smallest `above` first.

    `search` is USD for one search of the provider's own tool, absent when unknown. `is_known` is whether the table or the settings
    have prices, so that 0 means free.
    """

    large: list[LargePrices] = Field(default_factory=list[LargePrices])
    search: Decimal | None = absent()
    is_known: bool = Field(default=False, exclude=True)


class Parameters(Record):
    """How a model is called, beyond its wire format; an absent value means the format's default.

    `temperature` and `top_p` are its provider's advice; with `sampling` false it rejects both. `cache` is how its provider caches a
    prompt: by a `key` in the request or by `marks` at its parts. `order` names rules for the order and the IDs of messages,
    `rejects` the fields of chat completions, of their messages and the types of content parts that its provider rejects.
    `thoughts` is set where each answer in a request needs the field `reasoning_content`: its text for one without a thought.
    `search` says whether its provider searches the web itself. `images` and `tools` are limits of one request; with `parallel`
    false, only one tool call per step is allowed, with `forced` false, no request may demand one. `output` are the tokens that
    reasoning and answer may take together where the model itself decides how much it reasons. `sources` are the origins of all
    values, including those of the variants.
    """

    temperature: float | None = absent()
    top_p: float | None = absent()
    sampling: bool | None = absent()
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = absent()
    role: Literal["system", "developer"] | None = absent()
    parallel: bool | None = absent()
    forced: bool | None = absent()
    cache: Literal["key", "marks"] | None = absent()
    order: Literal["mistral"] | None = absent()
    rejects: list[str] | None = absent()
    thoughts: str | None = absent()
    images: int | None = absent()
    tools: int | None = absent()
    search: bool | None = absent()
    output: int | None = absent()
    sources: list[str] = Field(default_factory=list[str])


class PromptSource(Record):
    """The prompt of a model: its family, the file of the text, and the rule (a pattern or a setting) that chose it.

    `header` is the pattern or the file of the text before it; absent without one.
    """

    family: str
    file: str
    rule: str
    header: str | None = absent()


class Model(Record):
    """A model: its limits, prices, capabilities and adapter.

    `options` and `headers` are sent with every call; headers may contain a key and are never shown. `variants` are named sets of
    options, the least reasoning first; a request may choose one, and an agent's request without a choice has `default_variant`,
    which may be `provider`. `usable` is the number of tokens at which a conversation is compacted under the settings of a folder;
    absent without a folder or when the limit is unknown. `prompt` is absent without a folder. `unlisted` is set for a model that
    its provider's list does not have: the ID of the listed one whose limits it has, or an empty text. `retires` is the day on which
    the provider switches it off, as in 2026-01-31.
    """

    provider_id: str
    model_id: str
    name: str = ""
    adapter: Adapter = "litellm"
    api_id: str = ""
    limit: Limit = Field(default_factory=Limit.trusted)
    usable: int | None = absent()
    prompt: PromptSource | None = absent()
    cost: Cost = Field(default_factory=Cost.trusted)
    tool_call: bool = True
    reasoning: bool = False
    attachment: bool = False
    temperature: bool = True
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    default_variant: str | None = absent()
    parameters: Parameters = Field(default_factory=Parameters.trusted)
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False, exclude=True)
    unlisted: str | None = absent()
    retires: str | None = absent()

    @property
    def ref(self) -> ModelRef:
        """The model's full name."""
        return ModelRef.trusted(provider_id=self.provider_id, model_id=self.model_id)
