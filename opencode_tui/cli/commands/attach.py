"""`opencode-tui attach`: the screen of sessions that another process works on."""

import click

from opencode_tui.cli.main import GlobalOptions

_EXAMPLES = """\b
Examples:
  opencode-tui attach http://127.0.0.1:4096                 the folder that the server was started in
  opencode-tui attach http://127.0.0.1:4096 --dir /src/csv  another folder of its machine
"""


@click.command(epilog=_EXAMPLES)
@click.argument("url", metavar="URL")
@click.option("--password", help="Server password. Prefer OPENCODE_SERVER_PASSWORD.")
@click.option("--dir", "folder", metavar="DIR", help="The folder to work in, an absolute path on the server's machine.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Resume this session.")
@click.pass_obj
def attach(frame: GlobalOptions, /, url: str, **options: str | None) -> int:
    """Open the TUI for the server at URL. Quitting does not stop the server."""
    from opencode_tui.cli.commands.screen import attach_screen  # the libraries of the screen are loaded only for it

    return attach_screen(url, options, frame.log_level)
