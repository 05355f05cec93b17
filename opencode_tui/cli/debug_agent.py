"""`debug agent`: what an agent is made of."""

import click


@click.command()
@click.argument("name")
def agent(name: str) -> None:
    """Print {agent, rules, prompt, tools}: its whole ruleset in order, its system prompt, the tools that the model is offered."""
    from opencode_tui.cli.door import with_client  # the engine is loaded only when there is work
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.local import LocalClient
    from opencode_tui.schema.record import JsonObject

    async def work(client: LocalClient) -> JsonObject:
        return await client.catalog.describe_agent(name)

    print_json(with_client(work))
