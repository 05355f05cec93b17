"""`opencode-tui stats`: tokens and money spent."""

import click


@click.command()
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Only sessions used in the last N days.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def stats(days: int | None, style: str) -> None:
    """Add up this project's sessions: tokens and money by model, calls by tool."""
    from opencode_tui.cli.stats_work import show_stats  # the engine is loaded only when there is work

    show_stats(days=days, style=style)
