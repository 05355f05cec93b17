"""What the provider tests share: a scripted model server, and requests to it."""

from collections.abc import Iterator

import pytest

from tests.support.provider.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running
