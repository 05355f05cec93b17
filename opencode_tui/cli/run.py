"""`opencode-tui run`: one turn without a screen."""

import click

from opencode_tui.cli.main import Frame


@click.command(
    epilog="What comes in by a pipe is appended to the message. Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."
)
@click.argument("message", nargs=-1)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Go on in this project's last session.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Go on in this session.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="Which model answers.")
@click.option("--agent", metavar="NAME", help="Which agent works.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["default", "json"]),
    default="default",
    help="For people, or one JSON object a line.",
)
@click.option(
    "-f", "--file", "files", multiple=True, type=click.Path(), help="Attach a file or folder; may be repeated."
)
@click.option("--title", help="Name of a new session; the first 50 characters of the message otherwise.")
@click.option("--auto", is_flag=True, help="Allow whatever your rules would ask for; what they deny stays denied.")
@click.pass_obj
def run(
    _frame: Frame,
    /,
    **options: object,
) -> int:
    """Answer MESSAGE: the agent reads, edits and runs things in this folder.

    The answer goes to stdout, what the agent does meanwhile to stderr. In a terminal it asks before it does what your rules do not
    allow; without one such acts are refused, unless --auto.
    """
    from opencode_tui.cli.run_turn import TurnOptions, run_turn  # the engine is loaded only when there is work

    return run_turn(TurnOptions.from_command_line(options))
