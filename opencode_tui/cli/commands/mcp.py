"""`opencode-tui mcp`: add, list and check MCP servers."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from opencode_tui.cli.engine_access import with_client, with_session_client
from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.style import style_of
from opencode_tui.cli.table import render_table
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.config.user_file import add_mcp_server
from opencode_tui.schema.api.folder import InactiveSetting
from opencode_tui.schema.api.mcp import McpCall, McpServerStatus, McpSignInCode, McpTool
from opencode_tui.schema.error import ConfigError, OpencodeError, SignInError
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.quantity import amount, plural
from opencode_tui.text.safe_text import make_safe

_WAIT_S = 15.0
_HEADS = ("SERVER", "STATE", "TOOLS", "TOKENS", "TARGET")
_SIGN_INS = {"none": "not signed in", "signed_in": "signed in", "expired": "expired, sign in again"}
_STATES = {"known": "starts on use", "needs_auth": "sign-in needed", "needs_client_registration": "needs a client ID"}


@click.group()
def mcp() -> None:
    """Add, list and check MCP servers: programs and addresses that give the agent more tools.

    \b
    Examples:
      opencode-tui mcp add files -- npx -y PACKAGE .
      opencode-tui mcp add tracker --url https://mcp.example.com/mcp
      opencode-tui mcp add team --url URL --header "X-Team=shop"
      opencode-tui mcp auth tracker
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

    async def work(client: Client) -> tuple[Sequence[McpServerStatus], Sequence[InactiveSetting]]:
        return await _started(client), (await client.settings.notices()).ignored

    servers, inactive = with_client(work)
    if style == "json":
        print_json([server.to_dict() for server in servers])
        return
    if not servers:
        say(
            "no MCP servers; add one with `opencode-tui mcp add`"
            if not inactive
            else "no MCP servers are in force here:"
        )
        for one in inactive:
            say(make_safe(f"inactive: {one}"))
        return
    rows = [
        [one.name, _STATES.get(one.state, one.state), str(one.tools), amount(one.tokens), one.target] for one in servers
    ]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(_HEADS, rows, look, numbers=_HEADS[2:4], whole=_HEADS[:4]) + "\n")
    for server in servers:
        if server.error:
            say(f"{server.name}: {make_safe(server.error)}")
        _say_faults(server)


def _say_faults(server: McpServerStatus) -> None:
    """Name what of a server's answers is left out or used otherwise."""
    for fault in server.faults:
        say(f"{server.name}: {make_safe(fault)}")


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
    _say_faults(status)
    if style == "json":
        print_json([tool.to_dict() for tool in found])
        return
    rows = [[tool.id, amount(tool.tokens), tool.description.partition("\n")[0]] for tool in found]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(("TOOL", "TOKENS", "ABOUT"), rows, look, numbers=("TOKENS",), whole=("TOOL",)) + "\n")


@mcp.command(short_help="Sign in to a server with your browser.")
@click.argument("name", required=False)
def auth(name: str | None) -> None:
    """Sign in to the server NAME with your browser; without NAME, or with `list`, show which servers have a sign-in.

    The address is printed too: open it in any browser. If that is on another machine, paste the address that it shows at the end.
    """
    if name in (None, "list"):
        _list_sign_ins()
        return

    async def work(client: Client) -> McpServerStatus | None:
        url = (await client.mcp.begin_sign_in(name)).authorization_url
        if not url:
            return None
        can_paste = sys.stdin.isatty()
        say("open this address to sign in, if your browser does not:")
        click.echo(make_safe(url), err=True)
        if can_paste:
            say("waiting; if the browser is on another machine, paste the address that it shows at the end:")
        signing = asyncio.create_task(client.mcp.sign_in(name))
        pasting = asyncio.create_task(_paste(client, name)) if can_paste else None
        try:
            return await signing
        finally:
            if pasting is not None:
                pasting.cancel()
                await asyncio.gather(pasting, return_exceptions=True)

    status = with_client(work)  # the browser of this terminal; others use the tokens with their next message
    if status is None:
        say(f"{name} is connected and demands no sign-in; `opencode-tui mcp logout {name}` deletes its tokens")
    elif status.state != "connected":
        raise SignInError(f"signed in to {name}, but it cannot be used: {make_safe(status.error or status.state)}")
    else:
        say(f"signed in to {name}: {plural(status.tools, 'tool')}")


async def _paste(client: Client, name: str) -> None:
    """Hand over each line that the user pastes; a wrong one is reported, and the next may be right."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop.add_reader(sys.stdin.fileno(), lambda: lines.put_nowait(sys.stdin.readline()))
    try:
        while line := await lines.get():
            if line.strip():
                try:
                    await client.mcp.finish_sign_in(name, McpSignInCode(code=line.strip()))
                except (OpencodeError, ValueError) as error:
                    say(make_safe(str(error)))
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _list_sign_ins() -> None:
    async def work(client: Client) -> Sequence[McpServerStatus]:
        return await client.mcp.servers()

    servers = [one for one in with_client(work) if one.sign_in is not None]
    if not servers:
        say("no remote MCP servers with a sign-in; add one with `opencode-tui mcp add NAME --url …`")
        return
    rows = [[one.name, _SIGN_INS[one.sign_in or "none"], one.target] for one in servers]
    look = style_of(sys.stdout, os.environ)
    sys.stdout.write(render_table(("SERVER", "SIGN-IN", "TARGET"), rows, look, whole=("SERVER", "SIGN-IN")) + "\n")


@mcp.command(short_help="Delete the tokens of a server.")
@click.argument("name")
def logout(name: str) -> None:
    """Delete the tokens of the server NAME on this machine; the server is not informed."""

    async def work(client: Client) -> bool:
        return await client.mcp.sign_out(name)

    say(f"deleted the tokens of {name}" if with_session_client(work) else f"there are no tokens of {name}")


@mcp.command(short_help="Show where the use of a server fails.")
@click.argument("name")
@click.option("--call", "tool", metavar="TOOL", help="Call this tool at the end, by its name in `mcp tools`.")
@click.option("--arguments", default="{}", metavar="JSON", help="The arguments of that call.")
def debug(name: str, tool: str | None, arguments: str) -> int:
    """Use the server NAME step by step, and show where it stops: settings, start or connection, sign-in, lists, one call."""
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise click.UsageError(f"--arguments is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise click.UsageError("--arguments must be a JSON object")

    async def work(client: Client) -> int:
        known = {one.name: one for one in await client.mcp.servers()}
        if name not in known:
            raise ConfigError(
                f"no MCP server {name!r} in the settings of this folder; `opencode-tui config show` lists them"
            )
        is_off = known[name].state == "disabled"
        _step("settings", f"{known[name].kind}, {known[name].target}{', switched off' if is_off else ''}")
        status = await client.mcp.connect(name)
        if not _show_start(status):
            return 1
        lists = (plural(status.tools, "tool"), plural(status.prompts, "prompt"), plural(status.resources, "resource"))
        _step("lists", f"{lists[0]} ({amount(status.tokens)} tokens), {lists[1]}, {lists[2]}")
        for fault in status.faults:
            _step("", fault)
        return 0 if tool is None else await _show_call(client, name, tool, cast("JsonObject", given))

    return with_client(work)


def _show_start(status: McpServerStatus) -> bool:
    """Show how far a server came, and return whether it is connected."""
    first = "reach" if status.kind == "remote" else "start"
    wants_sign_in = status.state in ("needs_auth", "needs_client_registration")
    if status.state == "connected":
        _step(first, "connected")
        if status.sign_in is not None:
            _step("sign-in", _SIGN_INS[status.sign_in] if status.sign_in != "none" else "not demanded")
        return True
    _step(first, "it answers" if wants_sign_in else status.error or status.state)
    if wants_sign_in:
        _step("sign-in", status.error or _STATES[status.state])
    for line in status.output:
        _step("", line)
    return False


async def _show_call(client: Client, name: str, tool: str, arguments: JsonObject) -> int:
    listed = await client.mcp.tools(name)
    own = next((one.name for one in listed if one.id == tool), tool)  # the server's own name is accepted too
    try:
        result = await client.mcp.call(name, McpCall(tool=own, arguments=arguments))
    except OpencodeError as error:
        _step("call", str(error))
        return 1
    is_error = result.get("isError") is True
    _step("call", f"{tool} {'reports an error' if is_error else 'answers'}")
    print_json(result)
    return 1 if is_error else 0


def _step(name: str, text: str) -> None:
    say(f"{name:<9} {make_safe(text)}")
