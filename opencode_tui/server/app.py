"""The application: all routes, their error answers, their description."""

import warnings

from fastapi import FastAPI
from pydantic.warnings import UnsupportedFieldAttributeWarning

from opencode_tui import __version__
from opencode_tui.server.errors import install_error_answers
from opencode_tui.server.request import Services
from opencode_tui.server.routes import (
    agent,
    compaction,
    config,
    context,
    event,
    extension,
    file,
    health,
    instance,
    message,
    newer,
    older,
    own_folder,
    own_session,
    permission,
    project,
    provider,
    question,
    screen,
    session,
    undo,
)

ROUTERS = (
    health.router,
    event.router,
    event.own_router,
    session.router,
    undo.router,
    undo.own_router,
    compaction.router,
    compaction.own_router,
    context.router,
    message.router,
    permission.router,
    question.router,
    config.router,
    provider.router,
    agent.router,
    project.router,
    file.router,
    extension.router,
    screen.router,
    instance.router,
    older.router,
    newer.router,
    own_session.router,
    own_folder.router,
)


def build_app(services: Services) -> FastAPI:
    """Return the application behind the guard; `/doc` describes it."""
    # FastAPI gives each parameter an alias that pydantic reports as useless when a record is built late
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    app = FastAPI(
        title="opencode-tui",
        version=__version__,
        openapi_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        separate_input_output_schemas=False,
    )
    app.state.services = services
    install_error_answers(app)
    for router in ROUTERS:
        app.include_router(router)
    return app
