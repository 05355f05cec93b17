"""A client of OpenCode 2's API that compares every answer and event with the description."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.support.opencode2.description import problems_of, problems_of_event
from tests.support.world.waiting import PATIENCE_S


class Newer:
    """Requests over an HTTP client; `problems` are the answers that are not as described."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.problems: list[str] = []

    async def ask(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        """Send a request and return the JSON of its answer, or its bytes."""
        return (await self.answer(method, path, body, **params))[1]

    async def answer(self, method: str, path: str, body: Any = None, **params: Any) -> tuple[int, Any]:
        """Send a request and return its status and what `ask` returns."""
        sent: dict[str, Any] = {} if body is None else {"json": body}
        got = await self.http.request(method, path, params=params or None, **sent)
        self.problems += problems_of(method, path, got.status_code, got.content)
        is_json = got.headers.get("content-type") == "application/json"
        return got.status_code, got.json() if is_json else got.content

    async def session(self, **fields: Any) -> str:
        """Create a session and return its ID."""
        return (await self.ask("POST", "/api/session", fields))["data"]["id"]

    async def prompt(self, session_id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Send a prompt and return how it was admitted."""
        prompt = {"text": text, **fields.pop("prompt", {})}
        return (await self.ask("POST", f"/api/session/{session_id}/prompt", {"prompt": prompt, **fields}))["data"]

    async def say(self, session_id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Send a prompt and wait until the session is idle."""
        admitted = await self.prompt(session_id, text, **fields)
        await self.ask("POST", f"/api/session/{session_id}/wait")
        return admitted

    async def history(self, session_id: str, after: int = 0) -> list[dict[str, Any]]:
        """Return all events of a session after a number."""
        found: list[dict[str, Any]] = []
        while True:
            page = await self.ask("GET", f"/api/session/{session_id}/history", after=after, limit=100)
            found += page["data"]
            if not page["hasMore"]:
                return found
            after = page["data"][-1]["durable"]["seq"]

    async def messages(self, session_id: str) -> list[dict[str, Any]]:
        """Return the messages, oldest first."""
        path = f"/api/session/{session_id}/message"
        return (await self.ask("GET", path, order="asc", limit=1000))["data"]

    @asynccontextmanager
    async def events(self, path: str = "/api/event", **params: Any) -> AsyncGenerator["EventReader"]:
        """Follow a stream; that of all events has begun."""
        async with self.http.stream("GET", path, params=params, timeout=None) as answer:
            assert answer.status_code == 200
            reader = EventReader(answer, self.problems, is_durable=path != "/api/event")
            if path == "/api/event":
                await reader.read()
            yield reader


class EventReader:
    """An open stream; `seen` are its events so far."""

    def __init__(self, answer: httpx.Response, problems: list[str], *, is_durable: bool) -> None:
        self._lines = answer.aiter_lines()
        self._problems = problems
        self._is_durable = is_durable
        self.seen: list[dict[str, Any]] = []

    async def read(self) -> dict[str, Any]:
        """Wait for the next event."""
        async for line in self._lines:
            if line.startswith("data: "):
                event = json.loads(line[6:])
                self._problems += problems_of_event(event, is_durable=self._is_durable)
                self.seen.append(event)
                return event
        raise EOFError("the stream has ended")

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Read on to the next event of this type, and return all so far."""
        async with asyncio.timeout(PATIENCE_S):
            while (await self.read())["type"] != kind:
                pass
        return self.seen


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """Return the types of numbered events, without what they begin with."""
    return [one["type"].removeprefix("session.next.") for one in events if "durable" in one]


def numbers(events: list[dict[str, Any]]) -> list[int]:
    """Return their numbers."""
    return [one["durable"]["seq"] for one in events if "durable" in one]
