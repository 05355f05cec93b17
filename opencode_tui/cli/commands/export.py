"""`opencode-tui export`: print a session as JSON."""

import click


@click.command()
@click.argument("session_id", metavar="[ID]", required=False)
def export(session_id: str | None) -> None:
    """Print a session as JSON: {info, messages: [{info, parts}]}. Without an ID the latest one."""
    from opencode_tui.cli.engine_access import with_client  # not for the help
    from opencode_tui.cli.session_choice import choose_session
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.client import Client
    from opencode_tui.schema.error import NotFoundError
    from opencode_tui.schema.record import JsonObject

    async def work(client: Client) -> JsonObject:
        info = await choose_session(client, session_id) if session_id else await client.sessions.latest()
        if info is None:
            raise NotFoundError("no session to export in this project (see `opencode-tui session list`)")
        messages = await client.messages.list(info.id)
        return {"info": info.to_dict(), "messages": [message.to_dict() for message in messages]}

    print_json(with_client(work))
