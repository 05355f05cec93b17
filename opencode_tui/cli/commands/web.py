"""`opencode-tui web`: the HTTP server with a page that shows the TUI in a browser."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.commands.serve import (
    end_on_signals,
    make_credentials,
    read_server_environment,
    report_notices,
    start_server_log,
)
from opencode_tui.cli.environment import Environment, load_settings
from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.client.local import open_clients
from opencode_tui.engine.mcp.browser import start_browser
from opencode_tui.schema.setting_defaults import SERVER_HOST, SERVER_PORT
from opencode_tui.server.address import Address, Listening, is_loopback
from opencode_tui.server.serving import open_socket, serving
from opencode_tui.server.web.access import Access
from opencode_tui.server.web.pages import Web

if TYPE_CHECKING:
    pass

_EPILOG = """\b
Without OPENCODE_SERVER_PASSWORD or --password-file a random password is
printed to stderr with a link that logs in once.
The browser keeps Ctrl+W, Ctrl+T and Ctrl+N for itself: press Alt with the
letter instead.
"""


@click.command(epilog=_EPILOG)
@click.option("--hostname", default=SERVER_HOST, show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port (0 = any free port). Default: server.port or {SERVER_PORT}."
)
@click.option("--password-file", metavar="FILE", help="File with the password, which only you may read.")
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the default browser, logged in.")
@click.pass_obj
def web(
    global_options: GlobalOptions, /, hostname: str, port: int | None, password_file: str | None, is_opened: bool
) -> int:
    """Show the TUI in a browser.

    Serves this folder as `serve` does, with a page for browsers at /. Every browser logs in with the password; each page has a TUI
    of its own, at most five at a time. Ctrl+C ends the server and all that it started.

    The server does not encrypt: to reach it from other machines, put a proxy with TLS in front of it and name the proxy's address
    (https://…) in the setting server.cors.
    """
    environment = read_server_environment(password_file)
    settings = load_settings(environment).settings.server
    listening = Listening(
        host=hostname,
        port=next(number for number in (port, settings and settings.port, SERVER_PORT) if number is not None),
        origins=frozenset(settings.cors or () if settings else ()),
    )
    start_server_log(environment, global_options.log_level)
    return asyncio.run(
        _serve(environment, listening, has_terminals=bool(settings and settings.pty), is_opened=is_opened)
    )


async def _serve(environment: Environment, listening: Listening, *, has_terminals: bool, is_opened: bool) -> int:
    ended = end_on_signals()
    async with open_clients(environment.environ, environment.directory) as clients:
        await report_notices(clients)
        opened = open_socket(listening)
        access = Access()
        async with serving(
            clients,
            opened,
            listening=listening,
            credentials=make_credentials(environment),
            terminals=environment.environ if has_terminals else None,
            web=Web(access, str(environment.directory), environment.environ),
        ) as address:
            if not is_loopback(address.host):
                say(
                    "other machines can reach this server, and nothing is encrypted: whoever can read the network's traffic "
                    "gets the password; put a proxy with TLS in front of it"
                )
            if environment.flags.server_password is None:
                say(f"log in with this link, once within 10 minutes: {_link(address, access)}")
            print_result(f"opencode-tui web listening on {address.url}/")
            sys.stdout.flush()
            page = environment.paths.state / f"web-{address.port}.html"
            try:
                if is_opened:
                    await asyncio.to_thread(_open_browser, page, _link(address, access))
                return await ended
            finally:
                page.unlink(missing_ok=True)


def _link(address: Address, access: "Access") -> str:
    """Return a link that logs in once; the secret is in its fragment, which browsers do not send."""
    return f"{address.reachable_url}/web/login#{access.create_link()}"


def _open_browser(page: Path, link: str) -> None:
    """Open a file in the browser that leads on to the link: the arguments of a program can be read by all users."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.unlink(missing_ok=True)
    with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">\n')
    if not start_browser(page.as_uri(), os.environ, Path.cwd()):
        say("no browser can be opened here; open the address above")
