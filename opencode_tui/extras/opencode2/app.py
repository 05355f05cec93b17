"""The application of OpenCode 2's API: its routes, and the feed that they share."""

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from opencode_tui import __version__
from opencode_tui.extras.opencode2.errors import install_answers
from opencode_tui.extras.opencode2.feed import Feed
from opencode_tui.extras.opencode2.operations import name_operations
from opencode_tui.extras.opencode2.routes import (
    catalog,
    events,
    file,
    integration,
    project,
    pty,
    released,
    request,
    session,
)
from opencode_tui.server.request import Services

ROUTERS = (
    events.router,
    session.router,
    released.router,
    request.router,
    catalog.router,
    file.router,
    integration.router,
    project.router,
    pty.router,
)


def build(services: Services, description: str) -> FastAPI:
    """Return the application, whose `state.feed` must be closed; `description` is the path of the list of its operations."""
    app = FastAPI(title="opencode-tui", version=__version__, openapi_url=None, redirect_slashes=False)
    app.state.services = services
    app.state.feed = Feed(services.clients)
    install_answers(app)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    name_operations(app)
    app.add_api_route(description, lambda: JSONResponse(app.openapi()), include_in_schema=False)
    return app
