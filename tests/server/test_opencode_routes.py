"""Every route of OpenCode 1.1.65 exists, and every method of its own clients is answered, but for what is left out for a reason.

`python -m tests.server.test_opencode_routes` prints the table of the methods.
"""

import re
from pathlib import Path

from tests.support.world.server import every_route

ROUTES = Path(__file__).parents[1] / "support/source/opencode_routes.txt"
"""The methods and paths of its OpenAPI description."""

METHODS = ROUTES.with_name("opencode_methods.txt")
"""The methods of its JS clients, written by `opencode_methods.py` from the package."""

LEFT_OUT: dict[str, str] = {}
"""Routes that are missing, with the reason; one that exists must not be here."""


def table() -> list[tuple[str, str, str]]:
    """Return each method of OpenCode's JS clients (1, 2), its route, and `yes`, or why it is not answered."""
    ours = our_routes()
    rows = [line.split(" ", 2) for line in METHODS.read_text().splitlines()]
    return [
        (f"{number} {method}", route, "yes" if plain(route) in ours else LEFT_OUT.get(plain(route), "missing"))
        for number, method, route in rows
    ]


def our_routes() -> set[str]:
    return {plain(f"{method} {route.path}") for route in every_route() for method in route.methods or ()} | {"GET /doc"}


def plain(route: str) -> str:
    """Return a route without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", route)


def test_every_route_of_opencode_exists_or_is_left_out_for_a_reason():
    wanted = {plain(line) for line in ROUTES.read_text().splitlines()}
    assert len(wanted) == 98 and wanted - our_routes() == set(LEFT_OUT)


def test_every_method_of_the_clients_of_opencode_is_answered():
    rows = table()
    assert len(rows) > 170 and [row for row in rows if row[2] == "missing"] == []


if __name__ == "__main__":
    for row in table():
        print("{:42} {:58} {}".format(*row))
