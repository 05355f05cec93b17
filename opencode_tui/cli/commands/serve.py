"""`opencode-tui serve`: the HTTP server."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from opencode_tui.cancellation import limit_threads
from opencode_tui.cli.environment import Environment, load_settings, read_environment, say_warnings
from opencode_tui.cli.errors import DONE, INTERRUPTED
from opencode_tui.cli.log import adopt_log, start_log
from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import ending_signals, print_result, say
from opencode_tui.client.local import open_clients
from opencode_tui.config import own_process
from opencode_tui.entry_points import load
from opencode_tui.schema.http_headers import DEFAULT_USERNAME
from opencode_tui.schema.setting_defaults import SERVER_HOST, SERVER_PORT
from opencode_tui.server.address import Listening, check_reach
from opencode_tui.server.guard import Credentials
from opencode_tui.server.serving import open_socket, serving
from opencode_tui.text.notices import placed_warnings

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClients
    from opencode_tui.server.lazy_app import OpenCode2Access


@click.command(epilog="Without OPENCODE_SERVER_PASSWORD or --password-file a random password is printed to stderr.")
@click.option("--hostname", help=f"Address to listen on. Default: server.hostname or {SERVER_HOST}.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port (0 = any free port). Default: server.port or {SERVER_PORT}.",
)
@click.option("--password-file", metavar="FILE", help="File with the password, which only you may read.")
@click.option(
    "--as-opencode2", is_flag=True, help="Let OpenCode 2's own programs find this server as if it were theirs."
)
@click.pass_obj
def serve(
    global_options: GlobalOptions,
    /,
    hostname: str | None,
    port: int | None,
    password_file: str | None,
    as_opencode2: bool,
) -> int:
    """Serve sessions over HTTP, for scripts and OpenCode's own clients.

    Every request needs the password (basic authorization with user opencode, or bearer). Ctrl+C shuts down cleanly.
    """
    environment = read_server_environment(password_file)
    settings = load_settings(environment).settings.server
    listening = Listening(
        host=next(name for name in (hostname, settings and settings.hostname, SERVER_HOST) if name is not None),
        port=next(number for number in (port, settings and settings.port, SERVER_PORT) if number is not None),
        origins=frozenset(settings.cors or () if settings else ()),
    )
    check_reach(listening.host, has_password=as_opencode2 or environment.flags.server_password is not None)
    has_terminals = bool(settings and settings.pty)
    start_server_log(environment, global_options.log_level)
    return asyncio.run(_serve(environment, listening, has_terminals=has_terminals, is_found=as_opencode2))


def read_server_environment(password_file: str | None) -> Environment:
    """Return the environment of a server with its password; close this process to others of the user.

    Raises ConfigError for a file that is not good for a password.
    """
    password = own_process.read_password(password_file)
    own_process.hide_memory()
    variables = dict(os.environ)
    if password is not None:
        variables[own_process.PASSWORD_VARIABLE] = password
    return read_environment(variables)


def start_server_log(environment: Environment, level: str | None) -> None:
    """Log into the file, uvicorn included."""
    start_log(environment.paths.log, level)
    adopt_log("uvicorn")


_EXIT_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: DONE, signal.SIGHUP: DONE}


async def _serve(environment: Environment, listening: Listening, *, has_terminals: bool, is_found: bool) -> int:
    ended = end_on_signals()
    async with open_clients(environment.environ, environment.directory) as clients:
        await report_notices(clients)
        opened = open_socket(listening)
        credentials = make_opencode2_credentials(environment) if is_found else make_credentials(environment)
        terminals = environment.environ if has_terminals else None
        async with serving(
            clients, opened, listening=listening, credentials=credentials, terminals=terminals
        ) as address:
            if has_terminals:
                say("server.pty is on: a client that has the password can start unconfined shells")
            with _registered(environment, address.url, credentials) if is_found else nullcontext():
                print_result(f"opencode server listening on {address.url}")
                sys.stdout.flush()
                return await ended


def make_opencode2_credentials(environment: Environment) -> "Credentials":
    """Return the password that OpenCode 2's programs read. Raises ConfigError."""
    return Credentials(_opencode2_access(environment).choose_password(environment.flags.server_password))


def _registered(environment: Environment, url: str, credentials: "Credentials") -> AbstractContextManager[None]:
    return _opencode2_access(environment).registered(url, credentials.password)


def _opencode2_access(environment: Environment) -> "OpenCode2Access":
    open_access = cast("Callable[[Mapping[str, str], Path], OpenCode2Access]", load("opencode2.access"))
    return open_access(environment.environ, environment.paths.home)


def end_on_signals() -> "asyncio.Future[int]":
    """Return a future of the exit code; a second signal kills the process. Blocking work delays its end little."""
    limit_threads()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(number: signal.Signals) -> None:
        for other in _EXIT_CODES:
            loop.remove_signal_handler(other)
        ended.set_result(_EXIT_CODES[number])

    for number in ending_signals():
        loop.add_signal_handler(number, end, number)
    return ended


async def report_notices(clients: "LocalClients") -> None:
    """Write the warnings about the settings to stderr; invalid settings raise before anything listens."""
    notices = await (await clients.at()).settings.notices()
    say_warnings([*placed_warnings(notices), *(("", str(one)) for one in notices.ignored)])


def make_credentials(environment: Environment) -> "Credentials":
    """Return the configured password, else a random one, which is printed to stderr once."""
    username = environment.environ.get("OPENCODE_SERVER_USERNAME", "").strip() or DEFAULT_USERNAME
    password = environment.flags.server_password
    if password is None:
        password = secrets.token_urlsafe(24)
        say(f"random password (user {username}): {password}  (set OPENCODE_SERVER_PASSWORD to choose one)")
    return Credentials(password, username)
