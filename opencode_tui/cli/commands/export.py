"""`opencode-tui export`: a whole session as JSON."""

import click


@click.command()
@click.argument("session_id", metavar="[ID]", required=False)
def export(session_id: str | None) -> None:
    """Print a session as JSON, the one used last without an ID.

    The shape is {info, messages: [{info, parts}]}; `opencode-tui export > session.json` keeps it.
    """
    from opencode_tui.cli.engine_access import with_client  # the engine is loaded only when there is work
    from opencode_tui.cli.session_choice import choose_session
    from opencode_tui.cli.terminal import print_json
    from opencode_tui.client.client import Client
    from opencode_tui.schema.error import NotFoundError
    from opencode_tui.schema.record import JsonObject

    async def work(client: Client) -> JsonObject:
        info = await choose_session(client, session_id) if session_id else await client.sessions.latest()
        if info is None:
            raise NotFoundError("no session in this project to export; `opencode-tui session list` shows what there is")
        messages = await client.messages.list(info.id)
        return {"info": info.to_dict(), "messages": [message.to_dict() for message in messages]}

    print_json(with_client(work))
