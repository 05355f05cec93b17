"""`opencode-tui agent`: list agents."""

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json
from opencode_tui.client.client import Client
from opencode_tui.schema.api.catalog import AgentSummary


@click.group()
def agent() -> None:
    """List agents; `run --agent NAME` selects one."""


@agent.command("list", short_help="List agents, the default one first.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def list_agents(style: str) -> None:
    """List agents, the default one first.

    You can select a primary agent; a subagent is only called by other agents.
    """
    import os
    import sys
    from collections.abc import Sequence

    async def work(client: Client) -> Sequence[AgentSummary]:
        return await client.catalog.agents()

    agents = with_client(work)
    if style == "json":
        print_json([one.to_dict() for one in agents])
        return
    rows = [
        [one.name, one.mode, str(one.model or ""), " ".join((one.description or "").split())]
        for one in agents
        if not one.hidden
    ]
    heads = ("NAME", "MODE", "MODEL", "DESCRIPTION")
    shown = [0, 1, 3] if not any(row[2] for row in rows) else [0, 1, 2, 3]
    table = [[row[column] for column in shown] for row in rows]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table([heads[column] for column in shown], table, look, whole=heads[:2]) + "\n")
