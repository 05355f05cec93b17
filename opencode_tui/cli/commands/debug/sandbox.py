"""`debug sandbox`: run a program inside the sandbox, as the agent's commands run."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.terminal import print_json, say
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import describe
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.local import ConfinedRun, LocalClient

_TIMED_OUT, _NOT_STARTED, _KILLED = 124, 127, 137
"""The exit codes after a timeout, of a program that cannot be started, and of one that was killed. Source: timeout(1), sh(1)."""


@click.command(name="sandbox")
@click.option("--read-only", is_flag=True, help="Without writing in the project, as for agents that may not edit.")
@click.option(
    "--timeout", "timeout_s", type=click.IntRange(1), default=600, show_default=True, help="Time limit in seconds."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def sandbox(command: tuple[str, ...], read_only: bool, timeout_s: int) -> int:
    """Run a program inside the sandbox and exit with its code; without a program, print {tier, reason, mode, exposed?, spelling?}.

    \b
    opencode-tui debug sandbox -- pytest -q
    opencode-tui debug sandbox -- bash -c "npm test"
    """
    if not command:
        print_json(with_client(_status))
        return 0
    try:
        ended = with_client(lambda client: _run(client, command, is_read_only=read_only, timeout_s=timeout_s))
    except OSError as error:
        say(f"{make_safe(command[0])} cannot be started ({make_safe(describe(error))})")
        return _NOT_STARTED
    for line in ended.messages:
        say(make_safe(line))
    for path, kind in ended.changes:
        say(f"protected file {kind}: {make_safe(path)}")
    if ended.limit:
        say(ended.limit)
        return _KILLED if ended.exit_code is None else ended.exit_code
    return _TIMED_OUT if ended.exit_code is None else ended.exit_code


async def _status(client: "LocalClient") -> JsonObject:
    return (await client.settings.sandbox()).to_dict()


async def _run(client: "LocalClient", command: Sequence[str], *, is_read_only: bool, timeout_s: int) -> "ConfinedRun":
    def feed(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    return await client.run_confined(command, Path.cwd(), feed, is_read_only=is_read_only, timeout_ms=timeout_s * 1000)
