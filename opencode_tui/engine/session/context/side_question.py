"""Answers questions about a session outside its turns; the session keeps nothing of them but their cost.

The request is the next one of the session with the question at its end, tools and options included, so that a provider finds it in
its cache. A call in the response is not run; where there is nothing else, the model is asked again and must answer in words: that
setting would break a provider's cache. Source: docs/internals/prefix.md.
"""

from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.provider.complete import Completion, ask, with_cost
from opencode_tui.engine.provider.llm import AssistantEntry, LlmRequest, ModelMessage, TextBlock, UserEntry
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.context.report import SessionContext
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.engine.session.request.thoughts import without_refused
from opencode_tui.schema.api.side_question import SideAnswer, SideQuestion
from opencode_tui.schema.error import BudgetError, ProviderError
from opencode_tui.schema.session.session import SessionInfo


class SideQuestions(Struct, frozen=True):
    """Answers side questions in one folder."""

    context: SessionContext
    store: SessionStore
    budgets: Budgets

    async def ask(self, session_id: str, question: SideQuestion) -> SideAnswer:
        """Return the model's answer; the turn of the session, if one runs, continues.

        Raises NotFoundError, ConfigError, ModelNotFoundError, BudgetError, AuthError, ProviderError.
        """
        base = await self.context.finished_request(session_id)
        request = replace(base, messages=(*_conversation(base.messages, question),))
        try:
            completions = [await self._send(session_id, request)]
        except ProviderError as error:
            reduced = without_refused(request, error.failure.kind)
            if reduced is None:
                raise
            request = reduced
            completions = [await self._send(session_id, request)]
        if not completions[0].text.strip():
            completions.append(await self._send(session_id, replace(request, tool_choice="none")))
        text = completions[-1].text.strip()
        if not text:
            raise ProviderError("the model gave no answer", provider_id=request.model.provider_id)
        tokens = [one.tokens for one in completions]
        return SideAnswer(
            text=text,
            model=request.model.ref,
            cost=float(sum((one.cost for one in completions), Decimal(0))),
            input=sum(one.prompt for one in tokens),
            cached=sum(one.cache.read for one in tokens),
            output=sum(one.written for one in tokens),
        )

    async def _send(self, session_id: str, request: LlmRequest) -> Completion:
        async with self.budgets.reserved_if_free(session_id, request) as llm:
            if llm is None:
                raise BudgetError("a budget has no room for the side question; raise limits.cost in the settings")
            completion = await ask(llm, request)

        def change(info: SessionInfo) -> SessionInfo:
            return with_cost(info, completion.cost)

        if completion.cost:
            await self.store.update(session_id, change, touch=False)
        return completion


def _conversation(messages: tuple[ModelMessage, ...], question: SideQuestion) -> Iterator[ModelMessage]:
    """Yield a conversation with side questions at its end; a request that has no answer yet and the first one are one message."""
    before = messages
    asked = [one.question for one in question.earlier] + [question.text]
    blocks = (TextBlock(as_reminder(read_prompt("side_question"))), TextBlock(asked[0]))
    if before and isinstance(before[-1], UserEntry):
        blocks = (*before[-1].content, *blocks)
        before = before[:-1]
    yield from before
    yield UserEntry(blocks)
    for one, following in zip(question.earlier, asked[1:], strict=True):
        yield AssistantEntry((TextBlock(one.answer),))
        yield UserEntry((TextBlock(following),))
