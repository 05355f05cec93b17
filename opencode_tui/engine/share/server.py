"""The protocol of a share server, as OpenCode speaks it. Source: docs/internals/http.md#share-servers."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import httpx

from opencode_tui import network
from opencode_tui.engine.share.record import ShareRecord
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject

CONNECT_S = 10
ANSWER_S = 60
"""Seconds without a byte from the server."""

REQUEST_S = 180
"""Seconds for a whole request, also where bytes come."""

ANSWER_LIMIT = 100_000
"""Most bytes of an answer that are read."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_SECRET = re.compile(r"[\x21-\x7e]{1,500}")
_ADDRESS = re.compile(r"https?://[\x21-\x7e]{1,1900}")


class ShareServerError(OpencodeError):
    """The server did not do what was requested. `is_gone`: it has no such share; `is_final`: trying again cannot help."""

    def __init__(self, message: str, *, is_gone: bool = False, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_gone = is_gone
        self.is_final = is_final


class ShareServer:
    """One share server; the connection is opened with the first request."""

    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")
        self._http: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        """The host of the server, for messages."""
        return urlsplit(self.base).netloc.rpartition("@")[2]

    async def create(self, session_id: str) -> ShareRecord:
        """Create a share of a session. Raises ShareServerError."""
        given = await self._send("POST", "/api/share", {"sessionID": session_id})
        share_id, url, secret = given.get("id"), given.get("url"), given.get("secret")
        if not (
            isinstance(share_id, str) and _ID.fullmatch(share_id)
            and isinstance(url, str) and _ADDRESS.fullmatch(url)
            and isinstance(secret, str) and _SECRET.fullmatch(secret)
        ):  # fmt: skip
            raise ShareServerError(f"{self.name} answered with something else than a share; check enterprise.url")
        removes = True if given.get("removed") is True else None
        return ShareRecord(id=share_id, url=url, secret=secret, server=self.base, removes=removes)

    async def sync(self, record: ShareRecord, data: bytes) -> None:
        """Send items, a JSON list. Raises ShareServerError."""
        body = b'{"secret":%b,"data":%b}' % (json.dumps(record.secret).encode(), data)
        await self._send("POST", f"/api/share/{record.id}/sync", body)

    async def remove(self, record: ShareRecord) -> None:
        """Remove a share; one that is not there any more is fine. Raises ShareServerError."""
        try:
            await self._send("DELETE", f"/api/share/{record.id}", {"secret": record.secret})
        except ShareServerError as error:
            if not error.is_gone:
                raise

    async def close(self) -> None:
        """Close the connection."""
        if self._http is not None:
            await self._http.aclose()

    async def _send(self, method: str, path: str, body: JsonObject | bytes) -> JsonObject:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            client = await self._client()
            headers = {"content-type": "application/json"}
            async with (
                asyncio.timeout(REQUEST_S),
                client.stream(method, self.base + path, content=data, headers=headers) as answer,
            ):
                received = await _read(answer)
        except TimeoutError as error:
            late = f"no complete answer within {REQUEST_S} s; try again later"
            raise ShareServerError(f"the share server {self.name} cannot be reached ({late})") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            reason = network.explain(str(error) or type(error).__name__, self.base)
            raise ShareServerError(f"the share server {self.name} cannot be reached ({reason})") from error
        status = answer.status_code
        if status >= 300:
            said = _said(received)
            raise ShareServerError(
                f"the share server {self.name} refused ({status}{f': {said}' if said else ''})",
                is_gone=status in (404, 410),
                is_final=status in (400, 401, 403, 413, 415) or 300 <= status < 400,
            )
        try:
            found: object = load_json(received or b"{}")
        except ValueError:
            found = {}
        return cast("JsonObject", found) if isinstance(found, dict) else {}

    async def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
            try:
                options = await asyncio.to_thread(network.client_options, self.base)
            except ConfigError as error:
                raise ShareServerError(f"the share server {self.name} cannot be reached: {error}") from None
            self._http = httpx.AsyncClient(timeout=timeout, follow_redirects=False, **options)
        return self._http


async def _read(answer: httpx.Response) -> bytes:
    """Return the answer's body, cut at a limit."""
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > ANSWER_LIMIT:
            break
    return b"".join(pieces)


def _said(received: bytes) -> str:
    """Return the reason in an answer, one short line."""
    try:
        given: Any = load_json(received)
    except ValueError:
        return ""
    said: object = cast("JsonObject", given).get("error") if isinstance(given, dict) else None
    return " ".join(said.split())[:200] if isinstance(said, str) else ""


def encode_items(items: Sequence[JsonObject], *, limit: int) -> list[bytes]:
    """Return items as JSON lists of at most `limit` bytes each, or of one item. Blocks."""
    batches: list[bytes] = []
    pieces: list[bytes] = []
    size = 0
    for item in items:
        piece = json.dumps(item, ensure_ascii=True, separators=(",", ":")).encode()
        if pieces and size + len(piece) > limit:
            batches.append(b"[" + b",".join(pieces) + b"]")
            pieces, size = [], 0
        pieces.append(piece)
        size += len(piece)
    return [*batches, b"[" + b",".join(pieces) + b"]"] if pieces else batches
