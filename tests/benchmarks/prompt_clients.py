"""Clients that prompt over HTTP, in a process of their own (`… URL PASSWORD COUNT SESSION…`).

Each works in its session over one kept connection. Prints as JSON the milliseconds from sending a prompt to the head of its answer.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

from tests.support.world.server import MODEL


async def talk(url: str, password: str, session_id: str, count: int) -> list[float]:
    """Send prompts one after the other."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 24)
    taken: list[float] = []
    for number in range(count):
        body = json.dumps({"model": MODEL, "parts": [{"type": "text", "text": f"number {number}"}]}).encode()
        head = (
            f"POST /session/{session_id}/message HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {password}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        begin = time.perf_counter()
        writer.write(head.encode() + body)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        taken.append((time.perf_counter() - begin) * 1000)
        await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return taken


async def main() -> None:
    """Run all clients at a time."""
    url, password, count, *sessions = sys.argv[1:]
    taken = await asyncio.gather(*(talk(url, password, session_id, int(count)) for session_id in sessions))
    print(json.dumps([ms for times in taken for ms in times]))


if __name__ == "__main__":
    asyncio.run(main())
