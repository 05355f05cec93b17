"""`opencode-tui stats`: show tokens and cost."""

import os
import sys
from decimal import Decimal

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json
from opencode_tui.client.client import Client
from opencode_tui.schema.api.usage import ModelUsage, ProjectUsage
from opencode_tui.schema.ids import system_clock
from opencode_tui.text.cost import plan_words
from opencode_tui.text.quantity import amount, money, plural


@click.command()
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Only sessions used in the last N days.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def stats(days: int | None, style: str) -> None:
    """Show totals of this project's sessions: tokens and cost by model, calls by tool."""
    _show_stats(days=days, style=style)


DAY_MS = 86_400_000


def _show_stats(*, days: int | None, style: str) -> None:
    """Print the sums."""
    since = system_clock() - days * DAY_MS if days else 0

    async def work(client: Client) -> ProjectUsage:
        return await client.sessions.usage(since)

    usage = with_client(work)
    if style == "json":
        print_json({name: value for name, value in usage.to_dict().items() if name != "hidden"})
    else:
        sys.stdout.write(_render(usage, style_of(sys.stdout, os.environ)) + "\n")


def _usd(cost: float) -> Decimal:
    return Decimal(str(cost))


def _cost(name: str, use: ModelUsage) -> str:
    return money(_usd(use.cost)) if use.cost else plan_words(name.partition("/")[0]) or money(0)


def _render(usage: ProjectUsage, style: Style) -> str:
    counts = [plural(usage.sessions, "session"), plural(usage.messages, "message"), money(_usd(usage.cost))]
    if usage.hidden:
        counts.append(f"including {money(_usd(usage.hidden))} for titles and unused summaries")
    blocks = [style.paint(style.words(" · ".join(counts)), "bold")]
    if usage.models:
        rows = [
            [name, str(use.steps), amount(use.input), amount(use.cached), amount(use.output), _cost(name, use)]
            for name, use in sorted(usage.models.items(), key=lambda item: (-item[1].cost, -item[1].steps, item[0]))
        ]
        heads = ("MODEL", "STEPS", "INPUT", "CACHED", "OUTPUT", "COST")
        blocks.append(render_table(heads, rows, style, numbers=heads[1:], whole=heads[1:]))
    if usage.tools:
        rows = [[tool, str(calls)] for tool, calls in usage.tools.items()]
        blocks.append(render_table(("TOOL", "CALLS"), rows, style, numbers=("CALLS",)))
    return "\n\n".join(blocks)
