"""Responses with prepared bytes, which are serialized once and not validated again, at once or later than the head.

Optional fields are absent, never null. An unpaired surrogate, which is not valid Unicode, is escaped, so that the JSON stays valid.
"""

import asyncio
import json
from collections.abc import Awaitable, Sequence
from typing import Any, cast

import msgspec
from fastapi import Response
from starlette.types import Receive, Scope, Send

from opencode_tui.schema.http_headers import MESSAGE_HEADER
from opencode_tui.schema.record import JsonObject, Record

JSON_TYPE = "application/json"


def record_bytes(record: Record) -> bytes:
    """Return a record as one line of JSON."""
    try:
        return record.to_line()
    except UnicodeEncodeError:
        return value_bytes(record.to_dict())


def records_bytes(records: Sequence[Record]) -> bytes:
    """Return records as one JSON list."""
    return b"[" + b",".join(map(record_bytes, records)) + b"]"


def value_bytes(value: Any) -> bytes:
    """Return plain JSON data as one line of pure ASCII JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def answer_record(record: Record) -> Response:
    """Return a response with one record."""
    return Response(record_bytes(record), media_type=JSON_TYPE)


def answer_records(records: Sequence[Record]) -> Response:
    """Return a response with a list of records."""
    return Response(records_bytes(records), media_type=JSON_TYPE)


def answer_value(value: Any, *, status: int = 200) -> Response:
    """Return a response with plain JSON data."""
    return Response(value_bytes(value), status_code=status, media_type=JSON_TYPE)


def answer_structs(structs: Sequence[msgspec.Struct]) -> Response:
    """Return a response with a list of structs."""
    try:
        content = msgspec.json.encode(structs)
    except UnicodeEncodeError:  # an unpaired surrogate
        content = value_bytes(msgspec.to_builtins(structs))
    return Response(content, media_type=JSON_TYPE)


def answer_any(value: Any) -> Response:
    """Return a response with a record, a list of records or structs, or plain JSON data."""
    if isinstance(value, Record):
        return answer_record(value)
    if isinstance(value, list | tuple) and value and isinstance(value[0], Record):
        return answer_records(cast("Sequence[Record]", value))
    if isinstance(value, list | tuple) and value and isinstance(value[0], msgspec.Struct):
        return answer_structs(cast("Sequence[msgspec.Struct]", value))
    return answer_value(value)


def error_body(name: str, message: str, **data: object) -> JsonObject:
    """Return an error in the form of OpenCode's API."""
    return {"name": name, "data": {"message": message, **data}}


# Responses whose body comes later than their head. Clients with a limit on the time to the first byte stay connected however
# long a turn runs; for those with a limit on the time between two bytes a blank is sent now and then, which JSON allows before
# a value. Source: docs/internals/http.md#transport.


async def until_disconnected(receive: Receive) -> None:
    """Wait until the client has disconnected; discards what it sends."""
    while (await receive())["type"] != "http.disconnect":
        pass


BLANK_S = 30.0
"""Seconds without data after which a space is sent."""


class LateAnswer(Response):
    """Sends the id of the request at once, and the bytes of `body` later; a disconnecting client does not end the work."""

    media_type = JSON_TYPE

    def __init__(self, body: Awaitable[bytes], request_id: str | None = None) -> None:
        super().__init__(headers={MESSAGE_HEADER: request_id} if request_id else None)
        del self.headers["content-length"]
        self._late = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, wait, send the body."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        working = asyncio.ensure_future(self._late)
        watching = asyncio.create_task(until_disconnected(receive))
        try:
            while not (working.done() or watching.done()):
                await asyncio.wait({working, watching}, timeout=BLANK_S, return_when=asyncio.FIRST_COMPLETED)
                if not (working.done() or watching.done()):
                    await send({"type": "http.response.body", "body": b" ", "more_body": True})
            if working.done():
                await send({"type": "http.response.body", "body": working.result(), "more_body": False})
        finally:
            working.cancel()
            watching.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)
