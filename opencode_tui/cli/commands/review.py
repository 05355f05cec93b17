"""`opencode-tui review`: let the model review changes."""

import sys

import click

from opencode_tui.cli.completion_values import complete_models
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.client.client import Client
from opencode_tui.client.findings import as_github, find_problems
from opencode_tui.client.policy import choose_policy
from opencode_tui.schema.api.findings import Findings
from opencode_tui.schema.api.review import ChangedPath
from opencode_tui.schema.model import require_model_ref
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import make_safe

_EXAMPLES = """\b
Examples:
  opencode-tui review                     all changes, new files too
  opencode-tui review HEAD                the last commit
  opencode-tui review main                what this branch has beyond main
  opencode-tui review v1..v2 --format json
  opencode-tui review origin/main --format github |
    gh api repos/OWNER/REPO/pulls/7/reviews --input -
"""


@click.command(epilog=_EXAMPLES)
@click.argument("changes", metavar="[RANGE]", default="")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", shell_complete=complete_models, help="Model to use.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="Output format; github is the body of a pull request review.",
)
def review(changes: str, model: str | None, style: str) -> None:
    """Review uncommitted changes, a commit, or a range of commits, without changing files.

    The model reads the changes and the files around them in a session of its own.
    """

    async def work(client: Client) -> tuple[Findings, list[ChangedPath]]:
        chosen = require_model_ref(model, "--model") if model else None
        named = await client.review.named(changes)
        for line in named.left_out:
            say(f"left out: {line}")
        return await find_problems(client, named, model=chosen), named.files

    found, files = with_client(work, policy=choose_policy(auto=None, has_terminal=False))
    match style:
        case "json":
            print_json(found.to_dict())
        case "github":
            print_json(as_github(found, files))
        case _:
            _print(found)


def _print(found: Findings) -> None:
    for one in found.findings:
        where = f"{one.file}:{one.line}" if one.line else one.file
        sys.stdout.write(f"{make_safe(where)}: {one.severity}: {make_safe(one.text, multiline=True)}\n")
    sys.stdout.write(make_safe(found.summary, multiline=True) + "\n")
    say(plural(len(found.findings), "finding"))
