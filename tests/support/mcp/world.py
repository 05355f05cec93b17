"""The world of the MCP servers of a test: everything below one folder and the home of its environment."""

from collections.abc import Callable
from pathlib import Path

from opencode_tui.engine.mcp.credentials import McpCredentials
from opencode_tui.engine.mcp.lists import ListCache
from opencode_tui.engine.mcp.server import ServerWorld
from opencode_tui.storage.paths import find_paths


def server_world(
    folder: Path,
    environ: dict[str, str],
    *,
    clock: Callable[[], int] = lambda: 1_000,
    is_trusted: Callable[[], bool] = lambda: True,
    of_repository: frozenset[str] = frozenset(),
) -> ServerWorld:
    """Return the world of a folder's servers; `clock` gives ms since 1970."""
    return ServerWorld(
        folder=folder,
        home=Path(environ["HOME"]),
        is_trusted=is_trusted,
        roots=[folder],
        environ=environ,
        cache=ListCache(folder / "cache/mcp", clock),
        credentials=McpCredentials(find_paths(environ)),
        of_repository=of_repository,
    )
