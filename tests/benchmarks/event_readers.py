"""Listeners of an event stream in a process of their own: `python -m tests.benchmarks.event_readers URL PASSWORD READING IDLE`.

Prints `ready` when all are greeted, and for the line `count` on stdin the structural events that each reader has seen, as JSON.
"""

import asyncio
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


async def read(reader: asyncio.StreamReader, seen: dict[str, int], name: str) -> None:
    """Count the structural events of one stream."""
    seen[name] = 0
    while line := await reader.readline():
        if line.startswith(b'data: {"type":') and b',"delta":' not in line:
            seen[name] += 1


async def main() -> None:
    """Listen until stdin ends."""
    url, password, reading, idle = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    seen: dict[str, int] = {}
    streams = [await connect(url, password) for _ in range(reading + idle)]
    tasks = [asyncio.create_task(read(reader, seen, str(number))) for number, (reader, _) in enumerate(streams[idle:])]
    for reader, _ in streams[:idle]:
        reader._transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue] - a client that stops reading
    print("ready", flush=True)
    while (await asyncio.to_thread(sys.stdin.readline)).strip() == "count":
        print(json.dumps(sorted(seen.values())), flush=True)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
