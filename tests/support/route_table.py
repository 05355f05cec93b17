"""Every route that the server's application holds, however it came in."""

from collections.abc import Iterable, Iterator

from fastapi.routing import APIRoute

from opencode_tui.server.app import build_app


def every_route() -> list[APIRoute]:
    """Return the routes of the application itself; fails for one that is of no kind that tests know."""
    return list(_flat(build_app(None).routes))  # pyright: ignore[reportArgumentType] - only a request needs services


def _flat(routes: Iterable[object]) -> Iterator[APIRoute]:
    for route in routes:
        router = getattr(route, "original_router", None)  # what newer versions of the library keep of a router
        if router is not None:
            yield from _flat(router.routes)
        else:
            assert isinstance(route, APIRoute), f"{route} stands outside of the table of routes"
            yield route
