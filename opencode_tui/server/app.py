"""The application: all routes, their error responses and their description."""

import warnings
from typing import cast

from fastapi import APIRouter, FastAPI
from pydantic.warnings import UnsupportedFieldAttributeWarning

from opencode_tui import __version__
from opencode_tui.entry_points import load
from opencode_tui.server.errors import install_error_answers
from opencode_tui.server.request import Services
from opencode_tui.server.routes import (
    catalog,
    compat_v0,
    event,
    file,
    mcp,
    message,
    open_request,
    own,
    project,
    screen,
    server,
    session,
    settings,
)

ROUTERS = (
    server.server_router,
    event.router,
    event.own_router,
    session.router,
    message.router,
    open_request.permission_router,
    open_request.question_router,
    settings.router,
    catalog.provider_router,
    catalog.agent_router,
    project.project_router,
    project.worktree_router,
    file.router,
    catalog.extension_router,
    screen.router,
    server.instance_router,
    compat_v0.router,
    own.own_routes(),
    mcp.router,
    cast("APIRouter", load("pty_routes")),
)


def build_app(services: Services) -> FastAPI:
    """Return the application without its guard; `/doc` describes it."""
    # FastAPI gives each parameter an alias that pydantic reports as useless when a record is built late
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    app = FastAPI(
        title="opencode-tui",
        version=__version__,
        openapi_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.state.services = services
    install_error_answers(app)
    for router in ROUTERS:  # as they are: `include_router` would build each route again, at the first request
        app.router.routes.extend(router.routes)
    return app
