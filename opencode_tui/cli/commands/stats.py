"""`opencode-tui stats`: show tokens and cost."""

import os
import sys
from collections.abc import Sequence
from decimal import Decimal

import click

from opencode_tui.cli.engine_access import with_sessions
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json
from opencode_tui.schema.api.usage import ModelUsage, ProjectUsage
from opencode_tui.schema.ids import system_clock
from opencode_tui.text.bars import bar
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

    usage = with_sessions(lambda sessions: sessions.usage(since), doing="Adding up the sessions")
    if style == "json":
        print_json({name: value for name, value in usage.to_dict().items() if name != "hidden"})
    else:
        sys.stdout.write(_render(usage, style_of(sys.stdout, os.environ)) + "\n")


_BAR = 20
"""Cells of the longest bar."""


def _share(use: ModelUsage) -> float:
    """Return what the bar of a model shows: its cost, without one its tokens as if they cost next to nothing."""
    return use.cost or (use.input + use.output) * 1e-9


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
        most = max(_share(use) for use in usage.models.values())
        rows = [
            [
                name,
                str(use.steps),
                amount(use.input),
                amount(use.cached),
                amount(use.output),
                _cost(name, use),
                style.words(bar(_share(use), most, _BAR)),
            ]
            for name, use in sorted(usage.models.items(), key=lambda item: (-item[1].cost, -item[1].steps, item[0]))
        ]
        heads = ("MODEL", "STEPS", "INPUT", "CACHED", "OUTPUT", "COST")
        blocks.append(_table(heads, rows, style, whole=heads[1:]))
    if usage.tools:
        most = max(usage.tools.values())
        rows = [[tool, str(calls), style.words(bar(calls, most, _BAR))] for tool, calls in usage.tools.items()]
        blocks.append(_table(("TOOL", "CALLS"), rows, style))
    return "\n\n".join(blocks)


def _table(heads: Sequence[str], rows: Sequence[list[str]], style: Style, *, whole: Sequence[str] = ()) -> str:
    """Return a table whose rows end with their bars, which a single row does not need."""
    if len(rows) < 2:
        return render_table(heads, [row[:-1] for row in rows], style, numbers=heads[1:], whole=whole)
    return render_table((*heads, ""), rows, style, numbers=heads[1:], whole=whole)
