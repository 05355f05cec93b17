"""`opencode-tui run`: run one prompt non-interactively."""

import click

from opencode_tui.cli.completion_values import complete_agents, complete_models, complete_sessions
from opencode_tui.cli.main import GlobalOptions

_EXAMPLES = """\b
Examples:
  opencode-tui run "why does the build fail?"
  git diff | opencode-tui run "review this"
  opencode-tui run -c "now add a test"
  opencode-tui run -f plan.md --agent plan "what is missing here?"
  opencode-tui run "explain @src/app.py#L10-40"
  opencode-tui run --command review
  opencode-tui run --until "make test" "correct the parser"

Exit codes: 0 success, 1 failure, 2 bad arguments or settings, 3 the check of --until fails, 130 interrupted.
"""


class _Run(click.Command):
    """The command, whose option `--auto` may have a value but takes no word after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, ["--auto=inside" if one == "--auto" else one for one in args[:end]] + args[end:])


@click.command(cls=_Run, epilog=_EXAMPLES)
@click.argument("message", nargs=-1)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Resume the latest session.")
@click.option(
    "-s", "--session", "session_id", metavar="ID", shell_complete=complete_sessions, help="Resume this session."
)
@click.option("--fork", "is_fork", is_flag=True, help="With -c or -s: fork the session first.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", shell_complete=complete_models, help="Model to use.")
@click.option("--variant", metavar="NAME", help="Variant of the model to use, such as its reasoning effort.")
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Agent to use.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["default", "json"]),
    default="default",
    help="Output format (json: one object per line).",
)
@click.option("-f", "--file", "files", multiple=True, type=click.Path(), help="Attach a file or folder (repeatable).")
@click.option("--command", metavar="NAME", help="Run this slash command with MESSAGE as arguments.")
@click.option("--title", help="Title of a new session (default: the start of the message).")
@click.option(
    "--auto",
    type=click.Choice(["inside", "outside"]),
    metavar="[=outside]",
    help="Approve what would be asked, inside the sandbox or also outside; deny rules still apply.",
)
@click.option("--until", metavar="COMMAND", help="Work until this command exits with 0; it runs in the sandbox.")
@click.option(
    "--max-turns",
    type=click.IntRange(1),
    metavar="N",
    help="With --until: turns that a failing check may start (default: 10).",
)
@click.option("--share", "is_shared", is_flag=True, help="Share the session, and print its link to stderr.")
@click.option("--attach", metavar="URL", help="Run on the server at URL.")
@click.pass_obj
def run(
    _global_options: GlobalOptions,
    /,
    **options: object,
) -> int:
    """Run one prompt, MESSAGE, non-interactively; the agent reads, edits and runs code in this folder.

    Piped input is appended to the message. `@path` in the message attaches a file or folder, `@a.py#L10-20` a range of
    lines, `@agent` calls a subagent. The answer goes to stdout, progress to stderr.

    In a terminal you are asked before anything that your rules don't allow. Without one such calls are denied, except with --auto.
    """
    from opencode_tui.cli.run.turn import TurnOptions, run_turn  # not for the help

    return run_turn(TurnOptions.from_command_line(options))
