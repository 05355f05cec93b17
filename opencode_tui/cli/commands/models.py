"""`opencode-tui models`: list available models."""

import json
import os
import sys
from collections.abc import Sequence
from typing import cast

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.error import ConfigError, ModelNotFoundError, OpencodeError
from opencode_tui.schema.model import Model, ModelRef, describe_unlisted
from opencode_tui.schema.suggest import did_you_mean, nearest
from opencode_tui.text.quantity import amount
from opencode_tui.text.safe_text import make_safe


@click.command()
@click.argument("provider", required=False, metavar="[PROVIDER[/MODEL]]")
@click.option("--all", "is_all", is_flag=True, help="Include models of providers without a key.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show how each model is called: its variants and prompt; of one model all, with sources.",
)
@click.option("--refresh", is_flag=True, help="Fetch newer lists of models first.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def models(provider: str | None, is_all: bool, verbose: bool, refresh: bool, style: str) -> None:
    """List available models, of one PROVIDER or of all, or one MODEL.

    Sizes are in tokens, prices in USD per million tokens. The default model is marked.
    """
    _list_models(provider, is_all=is_all, is_verbose=verbose, is_refresh=refresh, style=style)


_HEADS = ("MODEL", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M", "")
_CALL_HEADS = ("MODEL", "VARIANTS", "PROMPT", "FILE")
_NEAREST = 3


def _list_models(provider: str | None, *, is_all: bool, is_verbose: bool, is_refresh: bool, style: str) -> None:
    """Print the models. Raises OpencodeError for a provider or a model that cannot be asked, as `run -m` does."""

    async def work(client: Client) -> tuple[Sequence[Model], ModelRef | None, list[str]]:
        for line in await client.catalog.refresh_models(is_forced=True) if is_refresh else ():
            say(line)
        for line in await client.catalog.local_servers():
            say(make_safe(line))
        if provider is not None and "/" in provider:
            chosen: Sequence[Model] = [await _named(client, provider, is_all=is_all)]
        else:
            found = await client.catalog.all_models() if is_all else await client.catalog.models()
            chosen = [model for model in found if provider in (None, model.provider_id)]
            if provider and not chosen:
                raise await _no_models(client, provider)
        ready = [one.id for one in await client.catalog.providers(only_ready=True)]
        return chosen, await _default(client), ready

    is_ignored = _say_ignored()
    chosen, default, ready = with_client(work)
    if style == "json":
        print_json([model.to_dict() for model in chosen])
        return
    look = style_of(sys.stdout, os.environ)
    if is_verbose and provider == str(chosen[0].ref):
        table = "\n".join(make_safe(look.words(line)) for line in _details(chosen[0]))
    elif is_verbose:
        table = render_table(_CALL_HEADS, [_call_row(model) for model in chosen], look)
    else:
        rows = [_row(model, is_default=model.ref == default) for model in chosen]
        table = render_table(_HEADS, rows, look, numbers=_HEADS[1:5], whole=_HEADS[1:5])
    sys.stdout.write(table + "\n")
    unlisted = [name for name in ready if not any(model.provider_id == name for model in chosen)]
    if unlisted and not provider and not is_all:
        names = ", ".join(unlisted)
        say(
            f"no list of the models of {names} is here; `opencode-tui models --refresh` reads it, and any name works with -m"
        )
    elif all(model.adapter == "demo" for model in chosen) and not (provider or is_ignored):
        say("only the demo model is available; add a key with `opencode-tui auth login PROVIDER`")


def _say_ignored() -> bool:
    """Return whether providers of the folder's settings are ignored until the folder is trusted, and name them."""
    keys = [notice.key.split(".") for notice in load_settings(read_environment()).ignored]
    names = dict.fromkeys(key[1] for key in keys if key[0] == "provider" and len(key) > 1)
    if names:
        shown = make_safe(", ".join(names))
        say(f"what this folder's settings say of {shown} is ignored until you review it with `opencode-tui trust`")
    return bool(names)


async def _default(client: Client) -> ModelRef | None:
    """Return the default model; None where the settings name one that does not exist, and say so."""
    try:
        return await client.catalog.default_model()
    except ModelNotFoundError as error:
        say(f"setting model: {error}")
        return None


async def _named(client: Client, name: str, *, is_all: bool) -> Model:
    """Return the model that a name selects, and say what is assumed of one that no list has.

    Raises ConfigError or ModelNotFoundError for the name, OpencodeError for a provider that cannot be asked unless `is_all`.
    """
    model = await client.catalog.named_model(name)
    if not is_all and (problem := await client.catalog.describe_access(model.provider_id)):
        raise OpencodeError(problem)
    if assumed := describe_unlisted(model):
        near = nearest(name, [str(one.ref) for one in await client.catalog.models()], _NEAREST)
        say(make_safe("; ".join(filter(None, [assumed, did_you_mean(near)]))))
    return model


async def _no_models(client: Client, provider: str) -> OpencodeError:
    """Return why a provider has no models here, with a remedy."""
    known = [one.id for one in await client.catalog.providers()]
    if provider not in known:
        hint = did_you_mean(nearest(provider, known, _NEAREST)) or "`opencode-tui models --all` lists all known ones"
        return ConfigError(f"no provider {provider!r}; {hint}")
    if problem := await client.catalog.describe_access(provider):
        return OpencodeError(problem)
    return ConfigError(
        f"no list of {provider}'s models is here; read it with `opencode-tui models --refresh`, "
        f"or name any of its models: -m {provider}/MODEL"
    )


def _row(model: Model, *, is_default: bool) -> list[str]:
    cost, limit, is_priced = model.cost, model.limit, _has_prices(model)
    missing = [
        "" if limit.context else "no context in its list",
        "" if is_priced else "no price in its list",
        f"until {model.retires}" if model.retires else "",
    ]
    return [
        str(model.ref),
        amount(limit.context) if limit.context else "-",
        amount(limit.output) if limit.output else "-",
        *(f"{price.normalize():f}" if is_priced else "-" for price in (cost.input, cost.output)),
        ", ".join(filter(None, ["default" if is_default else "", *missing])),
    ]


def _has_prices(model: Model) -> bool:
    return model.adapter == "demo" or model.cost.is_known or bool(model.cost.input or model.cost.output)


def _call_row(model: Model) -> list[str]:
    prompt = model.prompt
    return [str(model.ref), " ".join(model.variants), *((prompt.family, prompt.file) if prompt else ("", ""))]


def _details(model: Model) -> list[str]:
    """Return how a model is called, a line for each fact, then the sources."""
    facts = model.parameters.to_dict()
    sources = facts.pop("sources", [])
    prompt = model.prompt
    rows = [
        ("prompt", f"{prompt.family}, by the rule {prompt.rule}" if prompt else ""),
        ("file", prompt.file if prompt else ""),
        ("header", (prompt.header or "") if prompt else ""),
        ("format", model.adapter),
        *((f"variant {name}", json.dumps(options)) for name, options in model.variants.items()),
        ("default variant", model.default_variant or ""),
        ("options", json.dumps(model.options) if model.options else ""),
        *((_PARAMETER_WORDS.get(name, name), _shown(value)) for name, value in facts.items()),
        *(("source", source) for source in sources),
    ]
    width = max(len(name) for name, _ in rows)
    return [str(model.ref), *(f"  {name:<{width}}  {value}" for name, value in rows if value)]


_PARAMETER_WORDS = {
    "topP": "top_p",
    "sampling": "temperature, top_p",
    "maxTokens": "output limit in",
    "role": "system role",
    "parallel": "parallel calls",
    "forced": "demand for a call",
    "cache": "cache by",
    "order": "order of messages",
    "rejects": "not sent",
    "thoughts": "without thoughts",
    "images": "images per request",
    "tools": "tools per request",
    "output": "output with reasoning",
}


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if isinstance(value, str):
        return value if value.strip() else json.dumps(value)
    return ("accepted" if value else "not accepted") if isinstance(value, bool) else str(value)
