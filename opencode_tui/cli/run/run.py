"""`opencode-tui run`: one turn without a screen."""

import click

from opencode_tui.cli.main import GlobalOptions

_EXAMPLES = """\b
Examples:
  opencode-tui run "why does the build fail?"
  git diff | opencode-tui run "review this"
  opencode-tui run -c "now add a test"
  opencode-tui run -f plan.md --agent plan "what is missing here?"
  opencode-tui run "explain @src/app.py#L10-40"
  opencode-tui run --command review

Exit codes: 0 done, 1 the work failed, 2 bad arguments or settings, 130 interrupted.
"""


@click.command(epilog=_EXAMPLES)
@click.argument("message", nargs=-1)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Go on in the last session of this project.")
@click.option("-s", "--session", "session_id", metavar="ID", help="Go on in this session.")
@click.option("--fork", "is_fork", is_flag=True, help="With -c or -s: go on in a fork of that session.")
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
@click.option("--command", metavar="NAME", help="Run this slash command; MESSAGE is what stands behind it.")
@click.option("--title", help="Name of a new session; the first 50 characters of the message otherwise.")
@click.option("--auto", is_flag=True, help="Allow whatever your rules would ask for; what they deny stays denied.")
@click.option("--attach", metavar="URL", help="Let the server there do it, for the folder that it was started in.")
@click.pass_obj
def run(
    _frame: GlobalOptions,
    /,
    **options: object,
) -> int:
    """Let the agent answer MESSAGE; it reads, edits and runs things in this folder.

    What comes in by a pipe is appended to the message. `@path` in the message attaches a file or folder, `@a.py#L10-20` some
    lines of it, `@agent` has an agent do the work. The answer goes to stdout, what the agent does meanwhile to stderr.

    In a terminal it asks before it does what your rules do not allow. Without one such acts are refused, unless --auto.
    """
    from opencode_tui.cli.run.turn import TurnOptions, run_turn  # the engine is loaded only when there is work

    return run_turn(TurnOptions.from_command_line(options))
