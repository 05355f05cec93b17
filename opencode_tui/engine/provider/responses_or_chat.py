"""Responses at an address that may have chat completions only, as gateways do.

GPT from 5.6 on calls tools through Responses only, so these are asked for first. Where the address answers that it has none, chat
completions get the request, without reasoning where a model allows that: with an effort they reject tools.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.provider.llm import WEB_SEARCH, Llm, LlmRequest, StreamEvent
from opencode_tui.engine.provider.model_facts import effort_of, plain_name
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.provider_formats import COMPATIBLE

_ABSENT = (404, 405)
_KINDS = ("address", "page")
"""The kinds of a failure that is about the address; another one with these statuses is about the model."""

_NONE = "none"


class Addresses(Struct, frozen=True):
    """The base URLs that have no Responses, for as long as the process runs; `say` shows the user a line about one."""

    known: set[str]
    say: Callable[[str], None]


class ResponsesOrChat:
    """A provider of the settings with two formats: Responses, and chat completions once its address is known to lack these."""

    def __init__(self, base_url: str, responses: Llm, chat: Llm, addresses: Addresses) -> None:
        self._base_url = base_url
        self._responses = responses
        self._chat = chat
        self._addresses = addresses

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the events of the response; see `Llm.stream`."""
        if self._base_url not in self._addresses.known:
            try:
                async with aclosing(self._responses.stream(request)) as events:
                    async for batch in events:
                        yield batch
                return
            except ProviderError as error:
                if error.failure.status not in _ABSENT or error.failure.kind not in _KINDS:
                    raise
            self._report(request)
        async with aclosing(self._chat.stream(as_chat(request))) as events:
            async for batch in events:
                yield batch

    def _report(self, request: LlmRequest) -> None:
        """Keep that the address has no Responses, and say so, once."""
        if self._base_url in self._addresses.known:
            return
        self._addresses.known.add(self._base_url)
        model = request.model
        how = "without reasoning" if _NONE in model.variants else "by chat completions, which may reject its tools"
        self._addresses.say(
            f"{self._base_url} has no Responses (/responses), so {model.ref} works {how};"
            f" provider.{model.provider_id}.options.adapter: openai asks for chat completions at once"
        )

    async def close(self) -> None:
        """Close the connections of both formats."""
        await self._responses.close()
        await self._chat.close()


def as_chat(request: LlmRequest) -> LlmRequest:
    """Return a request to Responses as one to chat completions: with tools it asks for no reasoning, if the model allows that."""
    options = dict(request.options)
    if request.tools:
        options = {name: one for name, one in options.items() if not (effort_of({name: one}) or _is_summary(name))}
        if _NONE in request.model.variants:
            options["reasoningEffort"] = _NONE
    tools = tuple(tool for tool in request.tools if not (request.searches and tool.name == WEB_SEARCH))
    model = request.model.changed(adapter=COMPATIBLE)
    return replace(request, model=model, options=options, tools=tools, searches=False)


def _is_summary(option: str) -> bool:
    return plain_name(option) == "reasoningsummary"
