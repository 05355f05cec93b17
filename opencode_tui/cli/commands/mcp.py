"""`opencode-tui mcp`: add, list and check MCP servers."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.config.add_entry import add_mcp_server
from opencode_tui.schema.api.mcp import McpServerStatus, McpTool
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.quantity import amount, plural
from opencode_tui.text.safe_text import make_safe

_WAIT_S = 15.0
_HEADS = ("SERVER", "STATE", "TOOLS", "TOKENS", "TARGET")
_STATES = {"known": "starts on use", "needs_auth": "sign-in needed", "needs_client_registration": "needs a client ID"}


@click.group()
def mcp() -> None:
    """Add, list and check MCP servers: programs and addresses that give the agent more tools.

    \b
    Examples:
      opencode-tui mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
      opencode-tui mcp add tracker --url https://mcp.example.com/mcp --header "X-Team=shop"
      opencode-tui mcp list
    """


@mcp.command(short_help="Add a server to the settings.")
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="Address of a remote server.")
@click.option("--header", "headers", multiple=True, metavar="K=V", help="Header of each request to a remote server.")
@click.option("--env", "variables", multiple=True, metavar="K=V", help="Variable of a local server.")
@click.option("--global", "is_global", is_flag=True, help="In your own settings, not in those of this folder.")
def add(
    name: str,
    command: Sequence[str],
    url: str | None,
    headers: Sequence[str],
    variables: Sequence[str],
    is_global: bool,
) -> None:
    """Add the server NAME: a COMMAND after --, or --url.

    It is stored in opencode.json of this folder, where it needs `opencode-tui trust`, or with --global in your own.
    """
    if bool(command) == (url is not None):
        raise click.UsageError("give either a command after `--`, or --url")
    if url is not None:
        entry: JsonObject = {"type": "remote", "url": url, **({"headers": _pairs(headers)} if headers else {})}
    else:
        own = {"environment": _pairs(variables)} if variables else {}
        entry = {"type": "local", "command": list(command), **own}
    paths = read_environment().paths
    path = add_mcp_server(paths.config if is_global else Path.cwd(), name, entry, paths=paths)
    say(f"added {name} to {path}; `opencode-tui mcp debug {name}` checks it")
    if not is_global:
        say("settings of a folder start programs only after `opencode-tui trust`")


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if wrong := next((name for name, sign, _ in pairs if not sign or not name), None):
        raise click.UsageError(f"write {wrong} as KEY=VALUE")
    return {name: value for name, _, value in pairs}


@mcp.command("list", short_help="List the servers and their states.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def list_servers(style: str) -> None:
    """Start all servers that are switched on, and list their states, tools and the tokens of their schemas."""
    servers = with_client(_started)
    if style == "json":
        print_json([server.to_dict() for server in servers])
        return
    if not servers:
        say("no MCP servers; add one with `opencode-tui mcp add`")
        return
    rows = [
        [one.name, _STATES.get(one.state, one.state), str(one.tools), amount(one.tokens), one.target] for one in servers
    ]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(_HEADS, rows, look, numbers=_HEADS[2:4], whole=_HEADS[:4]) + "\n")
    for server in servers:
        if server.error:
            say(f"{server.name}: {make_safe(server.error)}")


async def _started(client: Client) -> Sequence[McpServerStatus]:
    """Return the states of all servers, started if they are switched on; after some seconds as they are then."""
    names = [one.name for one in await client.mcp.servers() if one.state != "disabled"]
    starts = [asyncio.create_task(client.mcp.connect(name)) for name in names]
    if starts:
        _, late = await asyncio.wait(starts, timeout=_WAIT_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
    return await client.mcp.servers()


@mcp.command(short_help="List the tools of a server.")
@click.argument("name")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="Output format.")
def tools(name: str, style: str) -> None:
    """Start the server NAME and list its tools, by the names that rules and the model use."""

    async def work(client: Client) -> tuple[McpServerStatus, Sequence[McpTool]]:
        return await client.mcp.connect(name), await client.mcp.tools(name)

    status, found = with_client(work)
    if status.error:
        raise ConfigError(f"{name}: {make_safe(status.error)}")
    if style == "json":
        print_json([tool.to_dict() for tool in found])
        return
    rows = [[tool.id, amount(tool.tokens), tool.description.partition("\n")[0]] for tool in found]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(("TOOL", "TOKENS", "ABOUT"), rows, look, numbers=("TOKENS",), whole=("TOOL",)) + "\n")


@mcp.command(short_help="Show where the use of a server fails.")
@click.argument("name")
def debug(name: str) -> int:
    """Start the server NAME step by step, and show where it stops: settings, start, lists."""

    async def work(client: Client) -> tuple[McpServerStatus, McpServerStatus]:
        known = {one.name: one for one in await client.mcp.servers()}
        if name not in known:
            raise ConfigError(
                f"no MCP server {name!r} in the settings of this folder; `opencode-tui config show` lists them"
            )
        return known[name], await client.mcp.connect(name)

    before, after = with_client(work)
    say(f"settings  {before.kind}, {make_safe(before.target)}{', switched off' if before.state == 'disabled' else ''}")
    if after.state != "connected":
        say(f"start     {make_safe(after.error or after.state)}")
        for line in after.output:
            say(f"          {make_safe(line)}")
        return 1
    say("start     connected")
    say(
        f"lists     {plural(after.tools, 'tool')} ({amount(after.tokens)} tokens), {plural(after.prompts, 'prompt')}, "
        f"{plural(after.resources, 'resource')}"
    )
    return 0
