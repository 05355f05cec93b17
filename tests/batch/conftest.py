"""The command line of batches in a repository of the test's own, beside a scripted model."""

from collections.abc import Iterator

import pytest

from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands
from tests.support.world.repo import Repo


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def line(repo: Repo, environ: dict[str, str], server: ModelServer) -> CommandLine:
    return CommandLine(repo.path, environ, provider=server.config(), settings={"model": "fake/fake-model"})


@pytest.fixture
def commands(
    repo: Repo, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    return Commands(repo.path, environ, monkeypatch, capsys)
