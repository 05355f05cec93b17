"""`opencode-tui acp`: an editor uses the engine over standard input and output."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import click

from opencode_tui.cli.engine_access import end_on_signals, open_here, say_wait, start_acp_log
from opencode_tui.cli.errors import DONE
from opencode_tui.cli.main import GlobalOptions
from opencode_tui.cli.terminal import say
from opencode_tui.schema.error import ConfigError

_EXAMPLE = """\b
An editor starts this command; docs/editors.md has settings for Zed,
JetBrains and neovim. In Zed's settings.json:
  "agent_servers": {"opencode-tui": {
    "type": "custom", "command": "opencode-tui", "args": ["acp"]}}
"""


@click.command(epilog=_EXAMPLE)
@click.option(
    "--cwd",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Default folder; sessions may set their own.",
)
@click.pass_obj
def acp(global_options: GlobalOptions, /, cwd: str | None) -> int:
    """Let an editor use the agent: the Agent Client Protocol (JSON-RPC) on standard input and output.

    Sessions are those of the TUI in the same folder, and can be open in both. Log lines go to the log file; with
    --log-level debug also to standard error. The command ends when the editor closes standard input.
    """
    if cwd:
        os.chdir(cwd)
    if sys.stdin.isatty():
        say("waiting for an editor on standard input; ctrl+d ends (see `opencode-tui acp --help`)")
    from opencode_tui.acp.serve import reserve_streams, serve  # 1 s, which the help should not take

    streams = reserve_streams()

    async def main() -> None:
        end_on_signals()
        await serve(Path.cwd(), partial(open_here, waits=partial(say_wait, hint="")), streams)

    start_acp_log(global_options.log_level)
    try:
        asyncio.run(main())
    except asyncio.CancelledError:  # a signal: the editor ends the command
        pass
    except ValueError as error:
        raise ConfigError("standard input and output must be pipes: an editor starts this command") from error
    return DONE
