"""`opencode-tui attach`: the TUI for a running server."""

import click

from opencode_tui.cli.commands.tui import attach_tui
from opencode_tui.cli.main import GlobalOptions

_EXAMPLES = """\b
Examples:
  opencode-tui attach http://127.0.0.1:4096           the server's folder
  opencode-tui attach http://127.0.0.1:4096 --dir /x  another one there
"""


@click.command(epilog=_EXAMPLES)
@click.argument("url", metavar="URL")
@click.option("--password", help="Server password. Prefer --password-file or OPENCODE_SERVER_PASSWORD.")
@click.option("--password-file", metavar="FILE", help="File with the server password, which only you may read.")
@click.option("--dir", "folder", metavar="DIR", help="Working folder, an absolute path on the server.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Resume this session.")
@click.pass_obj
def attach(global_options: GlobalOptions, /, url: str, **options: str | None) -> int:
    """Open the TUI for the server at URL. Quitting does not stop the server."""
    return attach_tui(url, options, global_options.log_level)
