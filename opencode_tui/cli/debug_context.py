"""`debug context` and `debug request`: what the next request of a session carries."""

import click


@click.command()
@click.argument("session_id", metavar="ID")
def context(session_id: str) -> None:
    """Print the next request of a session item by item: what each takes, what is left out, why."""
    from opencode_tui.cli.door import with_client  # the engine is loaded only when there is work
    from opencode_tui.cli.session_choice import choose_session
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.client import Client
    from opencode_tui.schema.context import ContextView

    async def work(client: Client) -> ContextView:
        return await client.context.items((await choose_session(client, session_id)).id)

    print_json(with_client(work).to_dict())


@click.command()
@click.argument("session_id", metavar="ID")
def request(session_id: str) -> None:
    """Print the next request of a session as it would be sent: address, headers, body; keys are covered."""
    from opencode_tui.cli.door import with_client  # as above
    from opencode_tui.cli.session_choice import choose_session
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.client import Client
    from opencode_tui.schema.context import RequestView

    async def work(client: Client) -> RequestView:
        return await client.context.request((await choose_session(client, session_id)).id)

    print_json(with_client(work).to_dict())
