"""Every test of the contract runs with each client: inside the process, over HTTP, and on the engine of another terminal."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client.client import Client
from opencode_tui.client.remote import open_remote
from opencode_tui.client.shared import open_shared
from opencode_tui.client.thread import open_client_in_thread
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import Repo, make_repo
from tests.support.world.server import PASSWORD, served

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
SETTINGS = {
    "permission": {"webfetch": "ask", "bash": {"*": "allow", "rm *": "ask"}},
    "enabled_providers": ["fake", "anthropic", "groq"],  # the models of all others take a second to compute
}


@dataclass
class Api:
    """A client of one of the two kinds, and short ways to use it."""

    client: Client
    model: ModelServer
    project: Repo

    async def new_session(self, **fields: Any) -> SessionInfo:
        return await self.client.sessions.create(CreateSession(**fields))

    @staticmethod
    def request(text: str) -> PromptInput:
        return PromptInput(model=MODEL, parts=[TextInput(text=text)])

    async def say(self, session: SessionInfo, text: str):
        return await self.client.prompts.prompt(session.id, self.request(text))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def project(tmp_path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n", "b/c.py": "import a\n"})
    return repo


@pytest_asyncio.fixture(
    params=[
        "in the process",
        pytest.param("over HTTP", marks=pytest.mark.slow),
        pytest.param("of another terminal", marks=pytest.mark.slow),
    ]
)
async def api(request, project: Repo, environ: dict[str, str], model: ModelServer) -> AsyncIterator[Api]:
    async with AsyncExitStack() as stack:
        if request.param == "in the process":
            content = {**SETTINGS, "provider": model.config()}
            variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
            client = await stack.enter_async_context(open_client_in_thread(variables, project.path))
        elif request.param == "of another terminal":
            variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({**SETTINGS, "provider": model.config()})}
            await stack.enter_async_context(open_shared(variables, project.path, serve=serve_terminals))
            client = await stack.enter_async_context(open_shared(variables, project.path, serve=serve_terminals))
            with client.events():
                pass  # the first reader gets a note that there is another terminal
        else:
            face = await stack.enter_async_context(
                served(project.path, environ, provider=model.config(), settings=SETTINGS)
            )
            client = await stack.enter_async_context(open_remote(face.address.url, password=PASSWORD))
        yield Api(client, model, project)
