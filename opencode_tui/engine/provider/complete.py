"""Model calls outside a conversation: the text of the response is returned, not stored or shown."""

from contextlib import aclosing
from decimal import Decimal

from msgspec import Struct

from opencode_tui.engine.provider.cost import to_cost, to_tokens
from opencode_tui.engine.provider.llm import FinishStep, Llm, LlmRequest, TextDelta
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.session import COST_KEY, SessionInfo, hidden_cost


class Completion(Struct, frozen=True):
    """The text of a response, its usage and its cost in USD."""

    text: str
    reason: str
    tokens: Tokens
    cost: Decimal


async def ask(llm: Llm, request: LlmRequest) -> Completion:
    """Return the response to a request, without retries. Raises ProviderError."""
    pieces: list[str] = []
    finish: FinishStep | None = None
    async with aclosing(llm.stream(request)) as stream:
        async for batch in stream:
            for event in batch:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, FinishStep):
                    finish = event
    if finish is None:
        raise ProviderError("the response ended unexpectedly", provider_id=request.model.provider_id)
    return Completion("".join(pieces), finish.reason, to_tokens(finish.usage), to_cost(finish.usage, request.model))


def with_cost(info: SessionInfo, cost: Decimal) -> SessionInfo:
    """Return a session's record with the cost of a call outside its messages added."""
    if not cost:
        return info
    return info.changed(metadata={**(info.metadata or {}), COST_KEY: float(hidden_cost(info) + cost)})
