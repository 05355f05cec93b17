"""A scripted model, a project in git, and the server over both."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import Repo, make_repo
from tests.support.world.server import HttpFace, served

Serve = Callable[..., AbstractAsyncContextManager[HttpFace]]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    return repo


@pytest.fixture
def serve(project: Repo, environ: dict[str, str], model: ModelServer) -> Serve:
    """Opens the server: `async with serve() as face`."""
    return partial(served, project.path, environ, provider=model.config())
