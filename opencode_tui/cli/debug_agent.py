"""`debug agent`: what an agent is made of."""

import click


@click.command()
@click.argument("name")
def agent(name: str) -> None:
    """Print what an agent is made of: {agent, rules, prompt, tools}.

    The rules stand in order, the last that matches decides; the tools are those that the model is offered.
    """
    from opencode_tui.cli.door import with_client  # the engine is loaded only when there is work
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.client import Client
    from opencode_tui.schema.record import JsonObject

    async def work(client: Client) -> JsonObject:
        return await client.catalog.describe_agent(name)

    print_json(with_client(work))
