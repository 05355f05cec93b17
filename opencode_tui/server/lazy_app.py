"""OpenCode 2's API next to OpenCode 1's. The first request to one of its paths loads it: a server without one pays nothing."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_tui.server.request import Services

if TYPE_CHECKING:
    from fastapi import FastAPI

    from opencode_tui.schema.event.folder_event import FolderEvent

DESCRIPTION = "/openapi.json"
"""Where OpenCode 2's own program reads the operations."""

PREFIXES = ("/api/", "/experimental/project/", DESCRIPTION)
"""What the paths of OpenCode 2's API begin with; no path of OpenCode 1's does."""

_MODULE = "opencode_tui.server.opencode2.app"


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
        await asyncio.to_thread(import_module, _MODULE)  # which takes long
        from opencode_tui.server.opencode2.app import build  # few servers need it

        return build(self._services, DESCRIPTION)
