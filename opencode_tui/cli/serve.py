"""`opencode-tui serve`: the HTTP server."""

import click

from opencode_tui.cli.main import Frame

HOSTNAME = "127.0.0.1"
PORT = 4096


@click.command(
    epilog="The password is OPENCODE_SERVER_PASSWORD; without it one is made for the run and said on stderr."
)
@click.option(
    "--hostname", help=f"The address to listen on: this, else server.hostname of the settings, else {HOSTNAME}."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port, 0 takes a free one: this, else server.port of the settings, else {PORT}.",
)
@click.pass_obj
def serve(frame: Frame, /, hostname: str | None, port: int | None) -> int:
    """Serve this folder's sessions to other programs over HTTP, to OpenCode's own clients as well.

    Every request needs the password (basic authorization, user opencode, or bearer). Ctrl-C ends it in order.
    """
    from opencode_tui.cli.environment import load_settings, read_environment  # not for the help
    from opencode_tui.config.settings.service import ServerSettings
    from opencode_tui.server.address import Listening, check_reach

    environment = read_environment()
    settings = load_settings(environment).settings.server or ServerSettings()
    listening = Listening(
        host=next(name for name in (hostname, settings.hostname, HOSTNAME) if name is not None),
        port=next(number for number in (port, settings.port, PORT) if number is not None),
        origins=frozenset(settings.cors or ()),
    )
    check_reach(listening.host, has_password=environment.flags.server_password is not None)
    from opencode_tui.cli.serve_work import serve_here  # the engine and the server are loaded only when there is work

    return serve_here(environment, listening, log_level=frame.log_level)
