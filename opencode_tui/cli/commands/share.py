"""`opencode-tui share` and `unshare`: a session on a share server."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import click

from opencode_tui.cli.completion_values import complete_sessions
from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.lazy_group import Entry, LazyGroup
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.terminal import print_result, say
from opencode_tui.schema.error import SessionError
from opencode_tui.text.share import GOES_THERE, STAYS_HERE, server_name

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.schema.session.session import SessionInfo

_DEFAULT = "session"


class _Share(LazyGroup):
    sections: ClassVar[Mapping[str, Mapping[str, Entry]]] = {
        "Commands": {
            _DEFAULT: Entry("opencode_tui.cli.commands.share:share_session", "Share a session (the default)."),
            "serve": Entry("share_serve", "Run a share server."),
        }
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command where none is named."""
        first = args[0] if args else ""
        is_complete = bool(first) or not ctx.resilient_parsing
        if is_complete and first not in ("-h", "--help", *self.sections["Commands"]):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Share)
def share() -> None:
    """Share a session by a link: `opencode-tui share [ID]`, or run a server for shared sessions: `share serve`.

    Sessions go to the server of the setting enterprise.url, without recognized secrets, and are updated until
    `opencode-tui unshare`. With the setting share: "auto" every new session is shared.
    """


@click.command()
@click.argument("session_id", metavar="[ID]", required=False, shell_complete=complete_sessions)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the first session goes to a server.")
def share_session(session_id: str | None, yes: bool) -> None:
    """Share a session and print its link. Without an ID the latest one."""

    async def work(client: "Client") -> str:
        info = await _choose(client, session_id)
        status = await client.sharing.status()
        if status.obstacle is not None:
            raise SessionError(status.obstacle)
        if not (yes or status.is_known or info.share is not None):
            _explain(status.server or "")
        shared = await client.sharing.share(info.id)
        return shared.share.url if shared.share else ""

    print_result(with_client(work))


@click.command()
@click.argument("session_id", metavar="[ID]", required=False, shell_complete=complete_sessions)
def unshare(session_id: str | None) -> None:
    """Remove a session from its share server. Without an ID the latest one."""

    async def work(client: "Client") -> str:
        info = await _choose(client, session_id)
        await client.sharing.unshare(info.id)
        return f"{info.id} is no longer shared" if info.share is not None else f"{info.id} was not shared"

    print_result(with_client(work))


async def _choose(client: "Client", session_id: str | None) -> "SessionInfo":
    info = await choose_session(client, session_id) if session_id else await client.sessions.latest()
    if info is None:
        raise SessionError("no session in this project (see `opencode-tui session list`)")
    return info


def _explain(server: str) -> None:
    """Say what goes to a server, and ask in a terminal; without one the command itself is the answer. Raises Abort."""
    say(f"sharing to {server_name(server)} for the first time")
    say(GOES_THERE)
    say(STAYS_HERE)
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"Share this session to {server_name(server)}?", abort=True, err=True)
