"""`opencode-tui [DIR]`: the screen."""

import click

from opencode_tui.cli.main import Frame

_EXAMPLES = """\b
Examples:
  opencode-tui                                   work in this folder
  opencode-tui ~/src/csvkit -c                   go on with the last session there
  opencode-tui --prompt "what does this do?"     begin with a request
"""


@click.command("opencode-tui", epilog=_EXAMPLES)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=True, file_okay=False))
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Go on in the last session of this project.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Go on in this session.")
@click.option("--fork", "is_forked", is_flag=True, help="With -c or -s: go on in a copy of it.")
@click.option("--prompt", metavar="TEXT", help="Send this at once.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="Which model answers.")
@click.option("--agent", metavar="NAME", help="Which agent works.")
@click.pass_obj
def screen(frame: Frame, /, **options: object) -> int:
    """Open the screen in DIR, or in the current folder."""
    from opencode_tui.cli.screen_work import open_screen  # the libraries of the screen are loaded only for it

    return open_screen(options, frame.log_level)
