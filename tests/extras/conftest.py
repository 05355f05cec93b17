"""The project, the scripted model and the server of the tests of the server, for the extras that add routes to it."""

from tests.server.conftest import model, project, serve

__all__ = ["model", "project", "serve"]
