"""Notices that a client has gone away while its answer is still being made."""

from starlette.types import Receive


async def until_disconnected(receive: Receive) -> None:
    """Return when the client has gone; what it still sends is thrown away."""
    while (await receive())["type"] != "http.disconnect":
        pass
