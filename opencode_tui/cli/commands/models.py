"""`opencode-tui models`: list available models."""

import difflib
import os
import sys
from collections.abc import Sequence

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.text.quantity import amount


@click.command()
@click.argument("provider", required=False)
@click.option("--all", "is_all", is_flag=True, help="Include models of providers without a key.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def models(provider: str | None, is_all: bool, style: str) -> None:
    """List available models, of one PROVIDER or of all.

    Sizes are in tokens, prices in USD per million tokens. The default model is marked.
    """
    _list_models(provider, is_all=is_all, style=style)


_HEADS = ("MODEL", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M", "")
_NEAREST = 3


def _list_models(provider: str | None, *, is_all: bool, style: str) -> None:
    """Print the models. Raises ConfigError for a provider without available models."""

    async def work(client: Client) -> tuple[Sequence[Model], ModelRef]:
        found = await client.catalog.all_models() if is_all else await client.catalog.models()
        chosen = [model for model in found if provider in (None, model.provider_id)]
        if provider and not chosen:
            raise ConfigError(_no_models(provider, {model.provider_id for model in await client.catalog.all_models()}))
        return chosen, await client.catalog.default_model()

    chosen, default = with_client(work)
    if style == "json":
        print_json([model.to_dict() for model in chosen])
        return
    rows = [_row(model, is_default=model.ref == default) for model in chosen]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(_HEADS, rows, look, numbers=_HEADS[1:5], whole=_HEADS[1:5]) + "\n")
    if all(model.adapter == "demo" for model in chosen) and not provider:
        say("only the demo model is available; add a key with `opencode-tui auth login PROVIDER`")


def _no_models(provider: str, known: set[str]) -> str:
    """Return why a provider has no available models, with a remedy."""
    if provider in known:
        return f"no API key for {provider}; run `opencode-tui auth login {provider}`"
    near = difflib.get_close_matches(provider, sorted(known), _NEAREST)
    hint = f"did you mean {' or '.join(near)}?" if near else "`opencode-tui models --all` lists all known ones"
    return f"no provider {provider!r}; {hint}"


def _row(model: Model, *, is_default: bool) -> list[str]:
    return [
        str(model.ref),
        amount(model.limit.context) if model.limit.context else "?",
        amount(model.limit.output) if model.limit.output else "?",
        f"{model.cost.input.normalize():f}" if model.cost.input else "",
        f"{model.cost.output.normalize():f}" if model.cost.output else "",
        "default" if is_default else "",
    ]
