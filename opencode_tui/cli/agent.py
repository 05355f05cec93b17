"""`opencode-tui agent`: who can work for you."""

import click


@click.group()
def agent() -> None:
    """The agents that can work for you."""


@agent.command("list")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="For people, or JSON.")
def list_agents(style: str) -> None:
    """List them, the default one first."""
    from collections.abc import Sequence

    from opencode_tui.cli.door import with_client  # the engine is loaded only when there is work
    from opencode_tui.cli.table import render_table
    from opencode_tui.cli.terminal import print_json, print_result
    from opencode_tui.client.local import LocalClient
    from opencode_tui.schema.catalog import AgentSummary

    async def work(client: LocalClient) -> Sequence[AgentSummary]:
        return await client.catalog.agents()

    agents = with_client(work)
    if style == "json":
        print_json([one.to_dict() for one in agents])
        return
    rows = [[one.name, one.mode, str(one.model or ""), one.description or ""] for one in agents if not one.hidden]
    print_result(render_table(["NAME", "MODE", "MODEL", "WHAT FOR"], rows))
