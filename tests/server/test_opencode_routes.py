"""Every route of OpenCode 1.1.65 exists, but for those that are left out for a reason."""

import re
from pathlib import Path

from tests.support.world.server import every_route

ROUTES = Path(__file__).parents[1] / "support/source/opencode_routes.txt"
"""The methods and paths of its OpenAPI description."""

LEFT_OUT = {
    **dict.fromkeys(
        (
            *("POST /mcp/{}/auth", "DELETE /mcp/{}/auth", "POST /mcp/{}/auth/callback"),
            "POST /mcp/{}/auth/authenticate",
        ),
        "no sign-in to MCP servers",
    ),
}
"""Routes that are missing, with the reason; one that exists must not be here."""


def plain(route: str) -> str:
    """Return a route without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", route)


def test_every_route_of_opencode_exists_or_is_left_out_for_a_reason():
    wanted = {plain(line) for line in ROUTES.read_text().splitlines()}
    ours = {plain(f"{method} {route.path}") for route in every_route() for method in route.methods or ()} | {"GET /doc"}
    assert len(wanted) == 98 and wanted - ours == set(LEFT_OUT)
