"""What `models` does."""

from collections.abc import Sequence

from opencode_tui.cli.door import with_client
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, print_result, say
from opencode_tui.client.local import LocalClient
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import Model, ModelRef


def list_models(provider: str | None, *, is_all: bool, style: str) -> None:
    """Print the models. Raises ConfigError when a provider was named that has none here."""

    async def work(client: LocalClient) -> tuple[Sequence[Model], ModelRef]:
        found = await client.catalog.all_models() if is_all else await client.catalog.models()
        return found, await client.catalog.default_model()

    found, default = with_client(work)
    chosen = [model for model in found if provider in (None, model.provider_id)]
    if provider and not chosen:
        raise ConfigError(f"no usable model of {provider!r}; give it a key with `opencode-tui auth login {provider}`")
    if style == "json":
        print_json([model.to_dict() for model in chosen])
        return
    rows = [_row(model, is_default=model.ref == default) for model in chosen]
    print_result(render_table(["", "MODEL", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M"], rows))
    if all(model.adapter == "demo" for model in found):
        say("only the built-in demo is here; connect a model with `opencode-tui auth login PROVIDER`")


def _row(model: Model, *, is_default: bool) -> list[str]:
    return [
        "*" if is_default else "",
        str(model.ref),
        _size(model.limit.context),
        _size(model.limit.output),
        f"{model.cost.input.normalize():f}" if model.cost.input else "",
        f"{model.cost.output.normalize():f}" if model.cost.output else "",
    ]


def _size(tokens: int) -> str:
    if not tokens:
        return "?"
    return f"{tokens / 1_000_000:g} M" if tokens >= 1_000_000 else f"{tokens / 1_000:g} k"
