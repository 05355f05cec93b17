"""Fixtures of the MCP servers: a folder's servers, of which each is the small server of the tests."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import McpLocalSettings
from opencode_tui.engine.mcp.servers import McpServers
from tests.support.mcp import server as small_server
from tests.support.mcp.world import server_world
from tests.support.world.machine import PYTHON

COMMAND = [PYTHON, "-S", small_server.__file__]


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
        world = server_world(
            self.folder,
            self.environ,
            clock=lambda: self.now,
            is_trusted=lambda: self.is_trusted,
            of_repository=self.of_repository,
        )
        servers = McpServers(entries, world, clock=lambda: self.now, publish=self.events.append)
        try:
            yield servers
        finally:
            await servers.close()


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> World:
    return World(tmp_path, environ)
