"""Fixtures of the MCP servers: a folder's servers, of which each is the small server of the tests."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import McpLocalSettings
from opencode_tui.engine.mcp.credentials import McpCredentials
from opencode_tui.engine.mcp.servers import McpOptions, McpServers
from opencode_tui.storage.paths import find_paths
from tests.support.mcp import server as small_server

COMMAND = [sys.executable, "-S", small_server.__file__]


class World:
    """Makes the servers of a folder, and records what they publish."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = environ
        self.home = Path(environ["HOME"])
        self.is_trusted = True
        self.of_repository: frozenset[str] = frozenset()
        self.events: list[Any] = []
        self.now = 1_000

    @asynccontextmanager
    async def servers(
        self, *, timeout: int | None = None, command: list[str] = COMMAND, **variables: dict[str, str]
    ) -> AsyncGenerator[McpServers]:
        """Yield the servers of these names, each with its environment, and close them."""
        entries = {
            name: McpLocalSettings(type="local", command=command, environment=environment, timeout=timeout)
            for name, environment in variables.items()
        }
        options = McpOptions(
            folder=self.folder,
            worktree=self.folder,
            home=self.home,
            is_trusted=lambda: self.is_trusted,
            environ=self.environ,
            cache=self.folder / "cache",
            credentials=McpCredentials(find_paths(self.environ)),
            clock=lambda: self.now,
            publish=self.events.append,
            of_repository=self.of_repository,
        )
        servers = McpServers(entries, None, options)
        try:
            yield servers
        finally:
            await servers.close()


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> World:
    return World(tmp_path, environ)


async def until(is_true: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0.01)
