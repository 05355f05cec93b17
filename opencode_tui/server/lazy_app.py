"""OpenCode 2's API next to OpenCode 1's. The first request to one of its paths loads it: a server without one pays nothing."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_tui.entry_points import load
from opencode_tui.server.request import Services

if TYPE_CHECKING:
    from fastapi import FastAPI

    from opencode_tui.schema.event.folder_event import FolderEvent

DESCRIPTION = "/openapi.json"
"""Where OpenCode 2's own program reads the operations."""

PREFIXES = ("/api/", "/experimental/project/", DESCRIPTION)
"""What the paths of OpenCode 2's API begin with; no path of OpenCode 1's does."""

BuildApi = Callable[[Services, str], "FastAPI"]
"""What the extra is: it returns the application for the services and the path of the list of its operations."""


class OpenCode2Access(Protocol):
    """How OpenCode 2's programs find the server on this machine: its address and its password, in files of theirs."""

    def choose_password(self, given: str | None) -> str:
        """Return the password that they send. Raises ConfigError."""
        ...

    def registered(self, url: str, password: str) -> AbstractContextManager[None]:
        """Have the files during the context. Raises ConfigError when they cannot be written."""
        ...


class BothApis:
    """The application of OpenCode 1's API, and for other paths that of OpenCode 2's, which is built by its first request."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._newer: FastAPI | None = None
        self._loading = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["path"].startswith(PREFIXES):
            async with self._loading:
                newer = self._newer = self._newer or await self._build()
            await newer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def publish(self, directory: str, event: "FolderEvent") -> None:
        """Send an event of a terminal, which the engine does not know, to the clients of OpenCode 2's API."""
        if self._newer is not None:
            self._newer.state.feed.publish_event(directory, event)

    async def close(self) -> None:
        """End the event streams of OpenCode 2's API."""
        if self._newer is not None:
            await self._newer.state.feed.close()

    async def _build(self) -> "FastAPI":
        build = cast("BuildApi", await asyncio.to_thread(load, "opencode2"))  # which takes long
        return build(self._services, DESCRIPTION)
