"""A scripted model, a project in git, and the command in it; afterwards no process and no open record may be left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.world.cli import CommandLine
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return repo


@pytest.fixture
def line(project: Repo, environ: dict[str, str], server: ModelServer, paths: Paths) -> Iterator[CommandLine]:
    line = CommandLine(project.path, environ, provider=server.config())
    yield line
    stored = read_store(paths.storage)
    assert (line.survivors(grace_s=PATIENCE_S), stored.damaged, stored.strays, stored.unfinished) == ([], [], [], [])
