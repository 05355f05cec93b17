"""`opencode-tui models`: what can answer here."""

import click


@click.command()
@click.argument("provider", required=False)
@click.option("--all", "is_all", is_flag=True, help="Also the models of providers without a key.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def models(provider: str | None, is_all: bool, style: str) -> None:
    """List the models that can be used here, of one PROVIDER or of all.

    Sizes are tokens, prices USD for a million tokens. The model that answers when none is named is marked.
    """
    from opencode_tui.cli.models_work import list_models  # the engine is loaded only when there is work

    list_models(provider, is_all=is_all, style=style)
