"""`opencode-tui batch TASKS`: run the tasks of a file, and write their results as they come."""

from typing import Any

import click

from opencode_tui.cli.commands.batch.cluster import tls_options
from opencode_tui.cli.commands.batch.work import run_tasks
from opencode_tui.cli.completion_values import complete_agents, complete_models


class _Run(click.Command):
    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage without the command's name, which need not be typed."""
        formatter.write_usage(ctx.command_path.removesuffix(" run"), " ".join(self.collect_usage_pieces(ctx)))


@click.command(cls=_Run)
@click.argument("tasks", metavar="[TASKS]", required=False)
@click.option("--prompt", metavar="TEXT", help="Instead of TASKS: the same prompt in each of --dirs.")
@click.option("--dirs", metavar="DIR", multiple=True, help="A folder for --prompt (repeatable).")
@click.option("--out", metavar="FILE", help="Results file (default: TASKS with .results.jsonl).")
@click.option("--resume", "is_resumed", is_flag=True, help="Run only tasks without a result in --out.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1000), help="Tasks at once (default: the number of cores).")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show what would run, and what --branch and --apply would do.")
@click.option(
    "--branch", "has_branches", is_flag=True, help="Make a branch opencode-tui/batch-ID for each finished task."
)
@click.option("--apply", "is_applied", is_flag=True, help="Apply the changes of finished tasks to your work tree.")
@click.option("-y", "--yes", "is_sure", is_flag=True, help="Apply without asking.")
@click.option(
    "-m", "--model", metavar="PROVIDER/MODEL", shell_complete=complete_models, help="Default model for tasks."
)
@click.option("--agent", metavar="NAME", shell_complete=complete_agents, help="Default agent for tasks.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Time limit for each task.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="Cost limit for each task.")
@click.option(
    "--total-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time limit for the whole batch.",
)
@click.option(
    "--total-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="Cost limit for the whole batch."
)
@click.option("--isolate", "is_isolated", is_flag=True, help="Clone without later commits instead of a worktree.")
@click.option("--repos", metavar="DIR", help="For SWE-bench: folder with the checkouts, OWNER__NAME or OWNER/NAME.")
@click.option("--predictions", metavar="FILE", help="Write SWE-bench predictions there (.jsonl or .json).")
@click.option("--scheduler", metavar="URL", help="Run on the workers of a Dask scheduler (see `batch worker`).")
@tls_options
def run(**options: Any) -> int:
    """Run each task of TASKS in a process and a git worktree of its own.

    TASKS has one JSON object per line: {"id", "prompt", "dir"?, "base"?, "model"?, "agent"?, "timeout"?, "check"?, "isolate"?}
    (- reads standard input). `dir` is relative to TASKS, by default the current folder; `check` is a shell command that must exit
    with 0. Everything inside the sandbox is approved; anything outside is denied. Sessions are listed as any other.

    --apply and --branch use all results, with --resume also those of an earlier run. --apply leaves out, by name, what conflicts
    with your files or with another result.

    With --isolate, or `isolate` of a task, a task works in a clone with only its base commit and its history: no other branch,
    commit or remote. Evaluations always do.

    TASKS may also have SWE-bench instances (JSON lines or a JSON list), for an evaluation: see --repos and --predictions.
    `opencode-tui batch worker` runs tasks on other machines, see its --help.
    """
    return run_tasks(options)
