"""Requests of the provider tests, and the whole answer to one."""

import asyncio
from typing import Any

from msgspec.structs import replace

from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.http import DirectLlm
from opencode_tui.engine.provider.llm import Llm, LlmRequest, StreamEvent, TextBlock, ToolSpec, UserEntry
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.model import Adapter, Model
from tests.engine.provider.reading import Heard, gather
from tests.support.provider.model_script import Api
from tests.support.provider.model_server import ModelServer
from tests.support.world.waiting import PATIENCE_S

READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
WRITE = ToolSpec("write", "Writes a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
KEY = "fake-key-for-tests"


def request(text: str = "hi", *, adapter: Adapter = "openai", **fields: Any) -> LlmRequest:
    model = Model(provider_id="fake", model_id="fake-model", adapter=adapter)
    asked = LlmRequest(model, ("Be brief.",), (UserEntry((TextBlock(text),)),), (READ, WRITE))
    return replace(asked, **fields)


def direct(server: ModelServer, adapter: Api = "openai", **fields: Any) -> DirectLlm:
    endpoint = Endpoint(provider_id="fake", base_url=server.url(adapter), api_key=KEY, **fields)
    return DirectLlm(endpoint, find_format(adapter))


async def ask(llm: Llm, asked: LlmRequest) -> Heard:
    """Return the whole answer, with the error that broke it."""
    events: list[StreamEvent] = []
    try:
        async for batch in llm.stream(asked):
            events += batch
    except ProviderError as error:
        return gather(events, error)
    return gather(events)


async def ask_once(llm: Llm, asked: LlmRequest) -> Heard:
    """As `ask`, and close what was asked."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await ask(llm, asked)
    finally:
        await llm.close()
