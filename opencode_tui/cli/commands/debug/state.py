"""`debug agent|config|context|request|paths`: internal state as JSON."""

import os

import click

from opencode_tui.cli.completion_values import complete_sessions
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.terminal import print_json
from opencode_tui.client.client import Client
from opencode_tui.config.redact import redact_settings
from opencode_tui.schema.api.context import ContextView, RequestView
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import find_paths


@click.command()
@click.argument("name")
def agent(name: str) -> None:
    """Print {agent, rules, prompt, tools}.

    Of the rules the last match wins; the tools are those that the model can call.
    """

    async def work(client: Client) -> JsonObject:
        return await client.catalog.describe_agent(name)

    print_json(with_client(work))


@click.command()
def config() -> None:
    """Print {config, sources, warnings, ignored, extensions}; secrets are redacted.

    A wrong settings file of a trusted folder, which other commands leave out, is an error.
    """
    loaded = load_settings(read_environment(), is_check=True)
    print_json(
        {
            "config": redact_settings(loaded.effective),
            "sources": loaded.sources,
            "warnings": [notice.to_dict() for notice in loaded.warnings],
            "ignored": [notice.to_dict() for notice in loaded.ignored],
            "extensions": [
                {"kind": one.kind, "path": str(one.path), "origin": one.origin} for one in loaded.extensions
            ],
        }
    )


@click.command()
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
def context(session_id: str) -> None:
    """Print the items of a session's next request: their tokens, what is left out and why."""

    async def work(client: Client) -> ContextView:
        return await client.context.items((await choose_session(client, session_id)).id)

    print_json(with_client(work).to_dict())


@click.command()
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
def request(session_id: str) -> None:
    """Print a session's next request as it would be sent: URL, headers, body; keys are redacted."""

    async def work(client: Client) -> RequestView:
        return await client.context.request((await choose_session(client, session_id)).id)

    print_json(with_client(work).to_dict())


@click.command()
def paths() -> None:
    """Print the absolute paths of the program's folders and files; they may not exist yet."""
    found = find_paths(os.environ)
    names = (
        "home",
        "config",
        "data",
        "state",
        "cache",
        "storage",
        "snapshot",
        "lock",
        "log",
        "tool_output",
        "auth",
        "trust",
    )
    locations: dict[str, str] = {name: str(getattr(found, name)) for name in names}
    print_json(locations)
