"""What is known of models beyond litellm's table: variants, sampling, limits and rules of their requests, each with its source.

The facts are `model_facts.json`: rules in order. All that match apply, later ones over earlier ones. A rule has patterns
(`model_pattern`), the adapters and the hosts for which it counts (all without any), what it sets, and the source. `reasoning:true`
matches a model that the settings declare as reasoning, the host `local` a server of the settings on this machine or in its network.
A group has the patterns of models for which code does something else.

`default` is the variant of an agent's request for which the user chose none; a model without that variant gets no default.

The options of a variant have OpenCode's names, so that its settings work; encoders translate them.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field, to_builtins
from msgspec.json import decode

from opencode_tui.engine.provider.model_pattern import matches_name, name_of, short_name
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Model, Parameters
from opencode_tui.schema.provider_formats import COMPATIBLE, row_of
from opencode_tui.schema.record import JsonObject

LOCAL_HOST = "local"
"""The host of rules for servers that only the settings know, on this machine or in its network."""

_DECLARED = "reasoning:true"
_GENERIC_EFFORTS = ("low", "medium", "high")
"""What OpenAI-compatible servers accept for a model whose own format differs, and OpenRouter for one with a budget."""

_LEAST = ("none", "minimal", "low")
"""Variants with the least reasoning, least first."""


class _Facts(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one rule sets; `None` and empty values remove what earlier rules set."""

    efforts: tuple[str, ...] | UnsetType = UNSET
    budgets: dict[str, int] | UnsetType = UNSET
    effort_budget: int | UnsetType = UNSET
    adaptive: bool | UnsetType = UNSET
    summarized: bool | UnsetType = UNSET
    levels: bool | UnsetType = UNSET
    variants: dict[str, JsonObject] | UnsetType = UNSET
    default: str | UnsetType = UNSET
    options: JsonObject | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    top_p: float | UnsetType = UNSET
    sampling: bool | UnsetType = UNSET
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | UnsetType = UNSET
    role: Literal["system", "developer"] | UnsetType = UNSET
    parallel: bool | UnsetType = UNSET
    forced: bool | UnsetType = UNSET
    cache: Literal["key", "marks"] | UnsetType = UNSET
    order: Literal["mistral"] | UnsetType = UNSET
    rejects: list[str] | UnsetType = UNSET
    thoughts: str | UnsetType = UNSET
    images: int | UnsetType = UNSET
    tools: int | UnsetType = UNSET
    search: bool | UnsetType = UNSET
    output: int | UnsetType = UNSET


class _Rule(Struct, frozen=True, forbid_unknown_fields=True):
    match: tuple[str, ...]
    set: _Facts
    source: str
    adapters: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class _Group(Struct, frozen=True, forbid_unknown_fields=True):
    match: tuple[str, ...]
    source: str


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    rules: tuple[_Rule, ...]
    groups: dict[str, _Group]
    small: tuple[str, ...]
    small_source: str
    default: tuple[str, ...]
    default_source: str


@cache
def _table() -> _Table:
    return decode((Path(__file__).parent / "model_facts.json").read_bytes(), type=_Table)


def small_models() -> tuple[str, ...]:
    """Return parts of the IDs of cheap, fast models, best first."""
    return _table().small


def default_models() -> tuple[str, ...]:
    """Return patterns of the short names of models for coding, best first; the highest version of a pattern counts."""
    return _table().default


def is_of_group(model_id: str, group: str) -> bool:
    """Return whether a model's short name has one of the patterns of a group, by which request encoders and adapters differ."""
    name = short_name(model_id)
    return any(matches_name(name, pattern) for pattern in _table().groups[group].match)


class _Reasoning(Struct, frozen=True):
    """How a model reasons: by named efforts, by budgets of tokens, or by levels of Gemini's."""

    efforts: tuple[str, ...] = ()
    budgets: dict[str, int] = field(default_factory=dict[str, int])
    effort_budget: int = 0
    adaptive: bool = False
    summarized: bool = False
    levels: bool = False
    variants: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])


def with_facts(model: Model, *, is_declared: bool = False, host: str = "") -> Model:
    """Return the model with its variants, the default one, parameters, default options and headers.

    `is_declared` when the settings say that it reasons, `host` is that of its provider's address, or `LOCAL_HOST`. What the model
    has already stays, except for `temperature`.
    """
    found: JsonObject = {}
    sources: list[str] = []
    for rule in _rules(model, is_declared=is_declared, host=host):
        found |= to_builtins(rule.set)
        sources.append(rule.source)
    if not sources:
        return model
    options, headers, default = found.pop("options", {}), found.pop("headers", {}), found.pop("default", "")
    reasoning = _Reasoning(**{name: found.pop(name) for name in _Reasoning.__struct_fields__ if name in found})
    rejects = found.get("sampling") is False
    if rejects:
        found = {name: value for name, value in found.items() if name not in ("temperature", "top_p")}
    variants = {**_variants(reasoning, model.provider_id, model.adapter), **model.variants}
    return model.changed(
        variants=variants,
        default_variant=default if default in variants else None,
        parameters=Parameters(**found, sources=list(dict.fromkeys(sources))),
        options={**options, **model.options},
        headers={**headers, **model.headers},
        temperature=model.temperature and not rejects,
    )


def least_variant(model: Model) -> JsonObject:
    """Return the options for the least reasoning, without a summary of it; empty when no variant reduces it.

    Claude does not reason unless a request says so: of its variants only the effort counts.
    """
    name = next((name for name in _LEAST if name in model.variants), None)
    if name is None or (model.adapter == "litellm" and name_of(model).short.startswith("claude")):
        return {}
    options = {key: value for key, value in model.variants[name].items() if key != "reasoningSummary"}
    return {key: value for key, value in options.items() if key != "thinking" or "effort" not in options}


_REASONING = frozenset(
    {
        "reasoning",
        "reasoningeffort",
        "effort",
        "thinking",
        "thinkingconfig",
        "enablethinking",
        "outputconfig",
        "chattemplatekwargs",
    }
)
"""Names of options that say how much a model reasons, without `_` and capitals."""


def plain_name(option: str) -> str:
    """Return the name of an option without `_` and capitals: settings may spell it in OpenCode's way or in the provider's."""
    return option.replace("_", "").lower()


def sets_reasoning(options: JsonObject) -> bool:
    """Return whether options say how much a model reasons, also with null, so that no default does."""
    return any(plain_name(name) in _REASONING for name in options)


def effort_of(options: JsonObject) -> str:
    """Return how much the options of a request ask a model to reason, as in `high`, `16000 tokens` or `off`; empty for nothing."""
    found = {plain_name(name): value for name, value in options.items()}
    thinking, google = as_object(found.get("thinking")), as_object(found.get("thinkingconfig"))
    levels = {plain_name(name): value for name, value in {**google, **thinking}.items()}
    named = (
        found.get("effort"),
        found.get("reasoningeffort"),
        as_object(found.get("reasoning")).get("effort"),
        levels.get("thinkinglevel"),
    )
    if (effort := next(filter(None, named), None)) is not None:
        return str(effort)
    budget = levels.get("budgettokens") or levels.get("thinkingbudget")
    if budget:
        return f"{budget} tokens"
    is_on = found.get(
        "enablethinking", {"disabled": False, "enabled": True, "adaptive": True}.get(levels.get("type", ""))
    )
    return "" if is_on is None else "on" if is_on else "off"


def _rules(model: Model, *, is_declared: bool, host: str) -> Iterator[_Rule]:
    name = name_of(model)
    for rule in _table().rules:
        if rule.adapters and model.adapter not in rule.adapters:
            continue
        if rule.hosts and not any(fnmatchcase(host, pattern) for pattern in rule.hosts):
            continue
        if any((pattern == _DECLARED and is_declared) or name.matches(pattern) for pattern in rule.match):
            yield rule


def _variants(reasoning: _Reasoning, provider_id: str, adapter: str) -> dict[str, JsonObject]:
    """Return the variants in the options of an adapter."""
    if provider_id == "openrouter" and adapter == COMPATIBLE:
        names = _GENERIC_EFFORTS if reasoning.budgets else [*reasoning.variants, *reasoning.efforts]
        return {name: {"reasoning": {"effort": name}} for name in names if name != "thinking"}
    if adapter == "litellm":
        return {**reasoning.variants, **_litellm(reasoning)}
    row = row_of(adapter)
    match row.efforts if row else None:
        case "names":
            names = _GENERIC_EFFORTS if _needs_translation(reasoning) else reasoning.efforts
            return {**reasoning.variants, **{name: {"reasoningEffort": name} for name in names}}
        case "summaries":
            return {name: _with_summary(name) for name in reasoning.efforts}
        case "thinking":
            return {**reasoning.variants, **_thinking(reasoning)}
        case "levels":
            return _levels(reasoning)
        case None:
            return {}


def _with_summary(effort: str) -> JsonObject:
    """Return an effort with a summary of the reasoning, without which none is shown; source: OpenAI's guide of reasoning models."""
    return {"reasoningEffort": effort, **({} if effort == "none" else {"reasoningSummary": "auto"})}


def _needs_translation(reasoning: _Reasoning) -> bool:
    """Return whether a model's own format has no efforts of OpenAI's, so that a server translates the common ones."""
    return bool(reasoning.budgets or reasoning.adaptive or reasoning.effort_budget or reasoning.levels)


def _thinking(reasoning: _Reasoning) -> dict[str, JsonObject]:
    if reasoning.budgets:
        return {name: {"thinking": _enabled(tokens)} for name, tokens in reasoning.budgets.items()}
    thinking: JsonObject | None = None
    if reasoning.effort_budget:
        thinking = _enabled(reasoning.effort_budget)
    elif reasoning.adaptive:
        thinking = {"type": "adaptive", **({"display": "summarized"} if reasoning.summarized else {})}
    own: JsonObject = {} if thinking is None else {"thinking": thinking}
    return {name: {**own, "effort": name} for name in reasoning.efforts}


def _enabled(tokens: int) -> JsonObject:
    return {"type": "enabled", "budgetTokens": tokens}


def _litellm(reasoning: _Reasoning) -> dict[str, JsonObject]:
    """Return the variants in litellm's names; it translates efforts to adaptive thinking and to Gemini's levels."""
    if reasoning.budgets:
        return {name: {"thinking": _enabled(tokens)} for name, tokens in reasoning.budgets.items()}
    return {name: {"reasoningEffort": name} for name in reasoning.efforts}


def _levels(reasoning: _Reasoning) -> dict[str, JsonObject]:
    budgets: dict[str, Any] = {name: {"thinkingBudget": tokens} for name, tokens in reasoning.budgets.items()}
    levels = {name: {"thinkingLevel": name} for name in reasoning.efforts} if reasoning.levels else {}
    chosen = budgets or levels
    return {name: {"thinkingConfig": {"includeThoughts": True, **one}} for name, one in chosen.items()}
