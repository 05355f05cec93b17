"""Listeners of an event stream in a process of their own: `python -m tests.benchmarks.event_readers URL PASSWORD READING IDLE`.

Prints `ready` when all are greeted, and for the line `count` on stdin what each reader has seen, as JSON: the number of structural
events, a digest of them in their order, and the number of letters that grew.
"""

import asyncio
import hashlib
import json
import sys
from urllib.parse import urlsplit


async def connect(url: str, password: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open an event stream and return it after its greeting."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 24)
    head = f"GET /event HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {password}\r\n\r\n"
    writer.write(head.encode())
    await reader.readuntil(b"server.connected")
    return reader, writer


class Seen:
    """What one reader received."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._events = 0
        self._grown = 0

    def take(self, line: bytes) -> None:
        """Count an event; heartbeats come when they come and count for nothing."""
        if b',"delta":' in line:
            self._grown += len(json.loads(line[6:])["properties"].get("delta", ""))
        elif b'"server.heartbeat"' not in line:
            self._events += 1
            self._digest.update(line)

    def sums(self) -> tuple[int, str, int]:
        """Return the structural events, their digest, and the letters that grew."""
        return self._events, self._digest.hexdigest(), self._grown


async def read(reader: asyncio.StreamReader, seen: Seen) -> None:
    """Count the events of one stream."""
    while line := await reader.readline():
        if line.startswith(b"data: "):
            seen.take(line)


async def main() -> None:
    """Listen until stdin ends."""
    url, password, reading, idle = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    streams = [await connect(url, password) for _ in range(reading + idle)]
    seen = [Seen() for _ in streams[idle:]]
    tasks = [asyncio.create_task(read(reader, one)) for one, (reader, _) in zip(seen, streams[idle:], strict=True)]
    for reader, _ in streams[:idle]:
        reader._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue] - a client that stops reading
    print("ready", flush=True)
    while (await asyncio.to_thread(sys.stdin.readline)).strip() == "count":
        print(json.dumps([one.sums() for one in seen]), flush=True)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
