"""`opencode-tui stats`: show tokens and cost."""

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json
from opencode_tui.client.client import Client
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import fork_origin, hidden_cost
from opencode_tui.text.cost import plan_words
from opencode_tui.text.quantity import amount, money, plural


@click.command()
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Only sessions used in the last N days.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def stats(days: int | None, style: str) -> None:
    """Show totals of this project's sessions: tokens and cost by model, calls by tool."""
    _show_stats(days=days, style=style)


DAY_MS = 86_400_000


@dataclass(slots=True)
class ModelUse:
    """Totals of one model; tokens, USD."""

    steps: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: Decimal = Decimal(0)


@dataclass(slots=True)
class Totals:
    """Totals of all sessions; `hidden` is the cost of calls without a message: titles, unused summaries."""

    sessions: int = 0
    messages: int = 0
    hidden: Decimal = Decimal(0)
    models: dict[str, ModelUse] = field(default_factory=dict[str, ModelUse])
    tools: Counter[str] = field(default_factory=Counter[str])

    @property
    def cost(self) -> Decimal:
        """Return the total cost in USD."""
        return sum((use.cost for use in self.models.values()), self.hidden)

    def add(self, message: MessageWithParts) -> None:
        """Count one message with its parts."""
        self.messages += 1
        info = message.info
        if isinstance(info, AssistantMessage):
            use = self.models.setdefault(f"{info.provider_id}/{info.model_id}", ModelUse())
            use.steps += 1
            use.input += info.tokens.input
            use.output += info.tokens.output
            use.cached += info.tokens.cache.read
            use.cost += Decimal(str(info.cost))
        self.tools.update(part.tool for part in message.parts if isinstance(part, ToolPart))

    def to_json(self) -> JsonObject:
        """Return the sums as JSON data."""
        return {
            "sessions": self.sessions,
            "messages": self.messages,
            "cost": float(self.cost),
            "models": {
                name: {
                    "steps": use.steps,
                    "input": use.input,
                    "output": use.output,
                    "cached": use.cached,
                    "cost": float(use.cost),
                }
                for name, use in self.models.items()
            },
            "tools": dict(self.tools.most_common()),
        }


def _show_stats(*, days: int | None, style: str) -> None:
    """Print the sums."""
    since = system_clock() - days * DAY_MS if days else 0

    async def work(client: Client) -> Totals:
        totals = Totals()
        for info in await client.sessions.list():
            if info.time.updated >= since:
                totals.sessions += 1
                totals.hidden += hidden_cost(info)
                begun = info.time.created if fork_origin(info) else 0
                for message in await client.messages.list(info.id):
                    if message.info.time.created >= begun:  # copied messages of a fork count in its origin
                        totals.add(message)
        return totals

    totals = with_client(work)
    if style == "json":
        print_json(totals.to_json())
    else:
        sys.stdout.write(_render(totals, style_of(sys.stdout, os.environ)) + "\n")


def _cost(name: str, use: "ModelUse") -> str:
    return money(use.cost) if use.cost else plan_words(name.partition("/")[0]) or money(0)


def _render(totals: Totals, style: Style) -> str:
    counts = [plural(totals.sessions, "session"), plural(totals.messages, "message"), money(totals.cost)]
    if totals.hidden:
        counts.append(f"including {money(totals.hidden)} for titles and unused summaries")
    blocks = [style.paint(style.words(" · ".join(counts)), "bold")]
    if totals.models:
        rows = [
            [name, str(use.steps), amount(use.input), amount(use.cached), amount(use.output), _cost(name, use)]
            for name, use in sorted(totals.models.items(), key=lambda item: (-item[1].cost, -item[1].steps, item[0]))
        ]
        heads = ("MODEL", "STEPS", "INPUT", "CACHED", "OUTPUT", "COST")
        blocks.append(render_table(heads, rows, style, numbers=heads[1:], whole=heads[1:]))
    if totals.tools:
        rows = [[tool, str(calls)] for tool, calls in totals.tools.most_common()]
        blocks.append(render_table(("TOOL", "CALLS"), rows, style, numbers=("CALLS",)))
    return "\n\n".join(blocks)
