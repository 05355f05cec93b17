"""Rules that the setting `instructions` names by address: fetched once a process, within seconds, or left out with a note.

Source: reference, section 25.
"""

import asyncio
from collections.abc import Sequence

TIMEOUT_S = 5
MAX_BYTES = 256 * 1024


class RemoteInstructions:
    """Fetches addresses; what failed is tried again at the next call."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = list(dict.fromkeys(addresses))
        self._texts: dict[str, str] = {}

    async def blocks(self) -> list[str]:
        """Return one block of text for each address, in order; all are fetched at the same time."""
        missing = [address for address in self._addresses if address not in self._texts]
        if missing:
            fetched = await asyncio.gather(*(_fetch(address) for address in missing))
            self._texts.update({address: text for address, text in zip(missing, fetched, strict=True) if text})
        return [
            f"Instructions from: {address}\n{self._texts.get(address) or '(could not be fetched)'}"
            for address in self._addresses
        ]


async def _fetch(address: str) -> str | None:
    import httpx  # only for people who name addresses

    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(follow_redirects=True, trust_env=False) as client,
            client.stream("GET", address) as answer,
        ):
            answer.raise_for_status()
            data = b""
            async for chunk in answer.aiter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    break
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL):
        return None
    return data[:MAX_BYTES].decode("utf-8", "replace").strip()
