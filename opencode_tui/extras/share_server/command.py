"""`opencode-tui share serve`: a server for shared sessions."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.errors import DONE, INTERRUPTED
from opencode_tui.cli.terminal import print_result
from opencode_tui.server.address import Listening
from opencode_tui.server.serving import open_socket

if TYPE_CHECKING:
    from opencode_tui.extras.share_server.store import ShareStore

PORT = 4097
_DAY_S = 86_400


@click.command(epilog="Set enterprise.url in your settings to the server's address, then /share in the chat.")
@click.option("--hostname", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port (0 = any free port)."
)
@click.option("--data", metavar="DIR", help="Folder of the shares (default: shares/ in the data folder).")
@click.option(
    "--ttl",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Keep a share for DAYS after its last change; 0 for ever.",
)
@click.option(
    "--size", type=click.IntRange(1), default=64, show_default=True, metavar="MB", help="Size limit of one share."
)
@click.option(
    "--total",
    type=click.IntRange(1),
    default=20_000,
    show_default=True,
    metavar="MB",
    help="Size limit of all shares together.",
)
@click.option("--url", metavar="URL", help="Address by which others reach it, e.g. behind a proxy with TLS.")
def share_serve(hostname: str, port: int, data: str | None, ttl: float, size: int, total: int, url: str | None) -> int:
    """Serve shared sessions: OpenCode's protocol, and a live page for each session.

    Anyone who knows a session's link can read it, and anyone who reaches the server can share to it: put it behind a proxy
    with TLS, and restrict who may send POST to /api/share. Nothing lists the shares.
    """
    from opencode_tui.extras.share_server.store import Limits, ShareStore

    folder = Path(data).expanduser() if data else read_environment().paths.data / "shares"
    limits = Limits(ttl_s=round(ttl * _DAY_S), share=size * 1_000_000, total=total * 1_000_000)
    store = ShareStore(folder, limits)
    return asyncio.run(_serve(store, Listening(hostname, port), url))


async def _serve(store: "ShareStore", listening: "Listening", base: str | None) -> int:
    from opencode_tui.extras.share_server.app import serving_shares

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    loop.add_signal_handler(signal.SIGINT, end, INTERRUPTED)
    loop.add_signal_handler(signal.SIGTERM, end, DONE)
    async with serving_shares(store, open_socket(listening), listening=listening, base=base) as address:
        print_result(f"share server listening on {address.url}")
        sys.stdout.flush()
        return await ended
