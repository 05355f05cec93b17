"""A server that gives one prepared answer to every request, as fast as the socket takes it, and notes when.

It does nothing else, so that what is measured is the other side. As a process of its own:

    python -m tests.support.provider.canned_server --deltas 8000 --size 4 --a-packet 20        prints its base URL
"""

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def provider(base_url: str) -> dict[str, object]:
    """Return the settings of a provider at this address, which is asked directly."""
    options = {"baseURL": base_url, "apiKey": "fake-key-for-tests"}
    models = {"fake-model": {"name": "Canned", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}}
    return {"fake": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}}


def answer_packets(deltas: int, *, size: int = 4, a_packet: int = 1) -> list[bytes]:
    """Return an answer in OpenAI's format, so many deltas of so many characters, `a_packet` of them in one packet."""
    piece = "abc def ghi jkl "
    texts = [(piece * size)[at % 16 : at % 16 + size] for at in range(0, deltas * size, size)]
    events = [_event({"delta": {"content": text}, "index": 0, "finish_reason": None}) for text in texts]
    usage = {"prompt_tokens": 10, "completion_tokens": deltas, "total_tokens": deltas + 10}
    end = _event({"delta": {}, "index": 0, "finish_reason": "stop"}, usage=usage) + b"data: [DONE]\n\n"
    packets = [b"".join(events[at : at + a_packet]) for at in range(0, len(events), a_packet)]
    return [*packets, end]


def _event(choice: dict[str, object], **fields: object) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **fields}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@dataclass
class CannedServer:
    """Serves on loopback in a thread; `arrived` and `ended` are seconds of the monotonic clock, one for each request.

    `on_request` is called when a request has arrived, before it is answered.
    """

    packets: Sequence[bytes]
    on_request: Callable[[], None] = lambda: None
    arrived: list[float] = field(default_factory=list[float])
    ended: list[float] = field(default_factory=list[float])

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/openai/v1"
        threading.Thread(target=self._serve, name="canned-server", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed: the end
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as requests:
            while _read_request(requests.readline, requests.read):
                self.arrived.append(time.monotonic())
                self.on_request()
                try:
                    connection.sendall(_HEAD)
                    for packet in self.packets:
                        connection.sendall(b"%x\r\n%b\r\n" % (len(packet), packet))
                    self.ended.append(time.monotonic())
                    connection.sendall(b"0\r\n\r\n")
                except OSError:  # the other side has gone
                    return


def _read_request(readline: Callable[[], bytes], read: Callable[[int], bytes]) -> bool:
    """Read a request; return whether there was one."""
    length = 0
    if not readline():
        return False
    while (line := readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    read(length)
    return True


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser()
    for option, default in (("--deltas", 8_000), ("--size", 4), ("--a-packet", 1)):
        parser.add_argument(option, type=int, default=default)
    options = parser.parse_args()
    with CannedServer(answer_packets(options.deltas, size=options.size, a_packet=options.a_packet)) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
