"""The command line: global options, the table of commands, errors to exit codes.

A command's function gets the `GlobalOptions` with `@click.pass_obj` and returns its exit code (None counts as 0). It raises
OpencodeError for an error that the user should read.
"""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import click
from click.shell_completion import shell_complete

from opencode_tui import __version__
from opencode_tui.cli.errors import DONE, report_error
from opencode_tui.cli.lazy_group import Entry, LazyGroup
from opencode_tui.instant import screen

PROGRAM = "opencode-tui"
COMPLETION_VARIABLE = "_OPENCODE_TUI_COMPLETE"
"""With it a shell asks for completions; `completion` writes it into the script."""

_EXAMPLES = """\b
Examples:
  opencode-tui                               the TUI, in this folder
  opencode-tui ~/src/csvkit -c               there, with the latest session
  opencode-tui run "explain this folder"     one prompt
  opencode-tui auth login anthropic          save an API key
  git diff | opencode-tui run "review this"  a message with piped input
  opencode-tui session list                  list sessions
  opencode-tui completion bash > ~/.opencode-tui-completion
"""

DEFAULT_COMMAND = "tui"
"""The command that runs when none is named."""


class GlobalOptions(NamedTuple):
    """The values of the global options; the object of click's context."""

    log_level: str | None


class _Commands(LazyGroup):
    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {
        "Run": {
            DEFAULT_COMMAND: Entry("opencode_tui.cli.commands.tui:tui", "Open the TUI in DIR (default command)."),
            "run": Entry("opencode_tui.cli.run.run:run", "Run one prompt non-interactively."),
            "review": Entry("opencode_tui.cli.commands.review:review", "Review changes without changing files."),
            "batch": Entry("opencode_tui.cli.commands.batch.batch:batch", "Run many tasks, each in its own worktree."),
            "serve": Entry("opencode_tui.cli.commands.serve:serve", "Serve sessions over HTTP."),
            "web": Entry("opencode_tui.cli.commands.web:web", "Show the TUI in a browser."),
            "attach": Entry("opencode_tui.cli.commands.attach:attach", "Open the TUI against a running server."),
            "acp": Entry("opencode_tui.cli.commands.acp:acp", "Let an editor use the agent."),
            "ps": Entry("opencode_tui.cli.commands.inbox:ps", "List what runs and what asks you."),
            "answer": Entry("opencode_tui.cli.commands.inbox:answer", "Answer a question that `ps` lists."),
            "stop": Entry("opencode_tui.cli.commands.inbox:stop", "Interrupt sessions that `ps` lists."),
            "agent": Entry("opencode_tui.cli.commands.agent:agent", "List agents."),
            "models": Entry("opencode_tui.cli.commands.models:models", "List available models."),
        },
        "Sessions": {
            "session": Entry(
                "opencode_tui.cli.commands.session.session:session", "Manage sessions (list, show, fork, …)."
            ),
            "import": Entry("opencode_tui.cli.commands.import_:import_sessions", "Import sessions of other programs."),
            "export": Entry("opencode_tui.cli.commands.export:export", "Write a session as JSON, Markdown or HTML."),
            "share": Entry("opencode_tui.cli.commands.share:share", "Share a session by a link; run a server."),
            "unshare": Entry("opencode_tui.cli.commands.share:unshare", "Remove a shared session from its server."),
            "stats": Entry("opencode_tui.cli.commands.stats:stats", "Show tokens and cost."),
        },
        "Setup": {
            "auth": Entry("opencode_tui.cli.commands.auth:auth", "Manage API keys and accounts."),
            "mcp": Entry("opencode_tui.cli.commands.mcp:mcp", "Add, list and check MCP servers."),
            "trust": Entry(
                "opencode_tui.cli.commands.trust:trust",
                "Review and trust this folder's config.",
            ),
            "permission": Entry(
                "opencode_tui.cli.commands.permission:permission",
                "Show, test and revoke permission rules.",
            ),
            "config": Entry("opencode_tui.cli.commands.config:config", "Show effective settings and their sources."),
            "plugin": Entry("opencode_tui.cli.commands.plugin:plugin", "Install, list, update and remove plugins."),
            "snapshot": Entry(
                "opencode_tui.cli.commands.snapshot:snapshot",
                "Show and clean up undo snapshots.",
            ),
            "upgrade": Entry(
                "opencode_tui.cli.commands.upgrade:upgrade", "Show how to upgrade, and do it if you agree."
            ),
            "completion": Entry("opencode_tui.cli.commands.completion:completion", "Print shell completion script."),
        },
        "Diagnostics": {
            "doctor": Entry(
                "opencode_tui.cli.commands.doctor:doctor",
                "Check the installation; --fix repairs.",
            ),
            "debug": Entry("opencode_tui.cli.commands.debug.debug:debug", "Print internal state as JSON."),
        },
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command before a folder, before its options, and where no command is named."""
        at = _count_global_options(args)
        first = args[at] if at < len(args) else ""
        is_complete = bool(first) or not ctx.resilient_parsing  # a shell asks for completions of an empty word
        if is_complete and first not in ("-h", "--help", "--version") and self._means_default(first):
            args = [*args[:at], DEFAULT_COMMAND, *args[at:]]
        return super().parse_args(ctx, args)

    def _means_default(self, first: str) -> bool:
        if not first or first.startswith("-"):
            return True
        is_path = "/" in first or os.path.isdir(first)
        return is_path and not any(first in entries for entries in self.sections.values())


def _count_global_options(args: Sequence[str]) -> int:
    """Return how many leading arguments are global options."""
    at = 0
    while at < len(args) and args[at].startswith("--log-level"):
        at += 1 if "=" in args[at] else 2
    return min(at, len(args))


@click.group(
    cls=_Commands,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Log level; debug also prints tracebacks.",
)
@click.version_option(__version__, "--version", message="opencode-tui %(version)s")
@click.pass_context
def commands(context: click.Context, log_level: str | None) -> None:
    """A coding agent for the terminal. Run without a command to open the TUI: `opencode-tui [DIR] [-c] [-s ID] [--prompt TEXT] …`.

    Reads, edits and runs code in your project, saves every session, and asks before doing anything your rules don't allow.
    """
    context.obj = GlobalOptions(log_level)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code; no exception escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a character that the encoding lacks becomes an escape
    asked = os.environ.get(COMPLETION_VARIABLE)
    if asked:
        return shell_complete(commands, {}, PROGRAM, COMPLETION_VARIABLE, asked)
    try:
        with commands.make_context(PROGRAM, list(arguments)) as context:
            outcome: object = commands.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame: every error becomes one line
        screen.end()
        return report_error(error, os.environ, is_debugging=_wants_debugging(arguments))
    return outcome if isinstance(outcome, int) else DONE


def _wants_debugging(arguments: Sequence[str]) -> bool:
    """Return whether the arguments ask for debug logs; parsing the options may be what failed."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)
    return any(word == "--log-level=debug" or (word == "--log-level" and after == "debug") for word, after in pairs)
