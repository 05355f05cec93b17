"""`opencode-tui serve`: the HTTP server."""

import click

from opencode_tui.cli.main import Frame


@click.command(
    epilog="The password is OPENCODE_SERVER_PASSWORD; without it one is made for the run and said on stderr."
)
@click.option("--hostname", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4096, show_default=True, help="The port; 0 takes a free one."
)
@click.pass_obj
def serve(frame: Frame, /, hostname: str, port: int) -> int:
    """Serve this folder's sessions to other programs over HTTP, to OpenCode's own clients as well.

    Every request needs the password (basic authorization, user opencode, or bearer). Ctrl-C ends it in order.
    """
    from opencode_tui.cli.environment import read_environment  # not for the help
    from opencode_tui.server.address import check_reach

    environment = read_environment()
    check_reach(hostname, has_password=environment.flags.server_password is not None)
    from opencode_tui.cli.serve_work import serve_here  # the engine and the server are loaded only when there is work

    return serve_here(environment, hostname, port, log_level=frame.log_level)
