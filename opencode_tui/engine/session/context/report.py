"""The next request of a session: item by item, and as it would be sent to the provider.

Built by the code that builds the loop's requests. Reads only: it takes no lock, repairs nothing and calls no model.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.agent.agents import AgentInfo
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.provider.request_preview import preview_request
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.prune import prunable
from opencode_tui.engine.session.compaction.state import OverflowRules, pruned_since, usable
from opencode_tui.engine.session.context.items import ContextSources, context_items, measure
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.builder import BuiltRequest, RequestBuilder, RequestTask
from opencode_tui.engine.session.request.history import filter_compacted, is_answered, position
from opencode_tui.engine.session.request.model_message import CONTINUE
from opencode_tui.engine.session.request.structured import structured_answer
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.session.tokens.estimate import ModelEstimate, TokenEstimator
from opencode_tui.schema.api.context import ContextView, PrefixChange, PrefixView, RequestView
from opencode_tui.schema.error import AuthError
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts, session_cost, with_parts
from opencode_tui.schema.session.message import AssistantMessage, MessageTime, UserMessage
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import keeps_answer

if TYPE_CHECKING:
    from opencode_tui.schema.session.prefix import SessionPrefix

_MOST_FACTOR, _LEARNED_FACTOR = 2.0, 1.25
"""Maximum factor between an estimate and a report, for a new model and for a known one.

Beyond that the report is of another request: rules or tools were changed since, or outputs restored.
"""

_KNOWN = 5
"""Reports after which a model counts as known."""


class _Next(Struct, frozen=True):
    """The next request of a session, and the messages that it is built from; `older` are those before them, all summarized."""

    info: SessionInfo
    agent: str
    built: BuiltRequest
    stored: Sequence[MessageWithParts]
    visible: Sequence[MessageWithParts]
    sent: Sequence[MessageWithParts]
    older: int = 0


class SessionContext(Struct, frozen=True):
    """Shows the next requests of one folder's sessions."""

    store: SessionStore
    agents: AgentRegistry
    requests: RequestBuilder
    catalog: Catalog
    estimator: TokenEstimator
    rules: OverflowRules
    budgets: Budgets

    async def view(self, session_id: str) -> ContextView:
        """Return the next request item by item. Raises NotFoundError, ConfigError when its agent is gone, ModelNotFoundError."""
        following = await self._next(session_id)
        view = await asyncio.to_thread(self._view, following)
        prefix = _prefix(following.built, await self.store.prefix(session_id))
        cost = await self.budgets.sessions.cost(session_id) if following.older else view.cost
        return view.changed(prefix=prefix, cost=cost, budgets=await self.budgets.uses(session_id))

    def with_room(self, models: Sequence[Model]) -> Sequence[Model]:
        """Return the models with the usable context of each."""
        return [model.changed(usable=usable(model, self.rules)) for model in models]

    async def request(self, session_id: str) -> RequestView:
        """Return the next request as it would be sent; raises as `view` does."""
        following = await self._next(session_id)
        request = following.built.request
        preview = preview_request(request, self._endpoint(request.model))
        return RequestView(
            session_id=session_id,
            model=request.model.ref,
            adapter=request.model.adapter,
            url=preview.url,
            headers=preview.headers,
            body=preview.body,
        )

    async def finished_request(self, session_id: str) -> LlmRequest:
        """Return the next request without a response that is still being written, whose tools still run; raises as `view` does."""
        return (await self._next(session_id, only_finished=True)).built.request

    async def _next(self, session_id: str, *, only_finished: bool = False) -> _Next:
        store, requests = self.store, self.requests
        info = await store.get(session_id)
        stored, older = await self._stored(info)
        if only_finished:
            stored = [one for one in stored if isinstance(one.info, UserMessage) or one.info.time.completed]
        shown = visible(stored, info.revert)
        sent = filter_compacted(shown)
        asked = next((one for one in reversed(sent) if isinstance(one.info, UserMessage)), None)
        user = asked.info if asked is not None else self._placeholder_request(session_id)
        assert isinstance(user, UserMessage)
        agent, is_open = requests.agent(user), not is_answered(sent, position(sent))
        task = RequestTask(
            messages=sent if asked is not None else [with_parts(user, [])],
            agent=agent,
            model=self.catalog.resolve(self.catalog.or_default(user.model)),
            rules=await requests.rules(info, agent),
            form=structured_answer(user.format) if is_open and not only_finished else None,
            is_last=agent.steps == 1 and not only_finished,
            is_preview=True,
        )
        built = await requests.build(task)
        built = replace(built, request=_without_continue(built.request))
        return _Next(info, agent.name, built, stored, shown, sent, older)

    async def _stored(self, info: SessionInfo) -> tuple[list[MessageWithParts], int]:
        """Return the messages that the next request depends on, and the number of older ones; all while an undo is active."""
        if info.revert is not None:
            return await self.store.messages(info.id), 0
        stored = await self.store.recent(info.id)
        return stored, max(0, len(await self.store.ids(info.id)) - len(stored))

    def _view(self, following: _Next) -> ContextView:
        request = following.built.request
        estimate = self.estimator.of_model(request.model)
        newest = _reported(following, request.model)
        most = _LEARNED_FACTOR if estimate.reports >= _KNOWN else _MOST_FACTOR
        factor = 1.0 if newest is None else _factor(following, newest, estimate)
        factor = factor if 1 / most <= factor <= most else 1.0
        sources = ContextSources(
            built=following.built,
            stored=following.stored,
            visible=following.visible,
            sent=following.sent,
            estimate=estimate.scaled(factor),
            older=following.older,
        )
        items = context_items(sources)
        wanted = {part.id for part in prunable(following.visible)}
        return ContextView(
            session_id=following.info.id,
            model=request.model.ref,
            agent=following.agent,
            tokens=sum(item.tokens for item in items),
            usable=usable(request.model, self.rules),
            context=request.model.limit.context or None,
            reported=None if newest is None else newest.tokens.context,
            factor=round(factor, 4),
            learned=estimate.reports,
            prunable=sum(item.frees or 0 for item in items if item.part_id in wanted),
            cost=float(session_cost(following.info, (message.info for message in following.stored))),
            items=items,
        )

    def _endpoint(self, model: Model) -> Endpoint | None:
        if model.adapter == "demo":
            return None
        try:
            return self.catalog.endpoint(model.provider_id)
        except AuthError:
            return None  # the body can be shown without a key

    def _placeholder_request(self, session_id: str) -> UserMessage:
        """Return an empty request, for a session that has none yet."""
        agent: AgentInfo = self.agents.default()
        return UserMessage(
            id="msg_",
            session_id=session_id,
            time=MessageTime(created=0),
            agent=agent.name,
            model=agent.model or self.catalog.default_model(),
        )


def _prefix(built: BuiltRequest, stored: "SessionPrefix | None") -> PrefixView:
    breaks = [] if stored is None else stored.breaks
    return PrefixView(
        since=built.frozen_at,
        pending=[PrefixChange(name=one.name, text=one.text) for one in built.pending] if built.frozen_at else [],
        requests=0 if stored is None else stored.requests,
        breaks=breaks,
        lost_tokens=sum(one.tokens for one in breaks),
        lost_cost=sum(one.cost or 0 for one in breaks),
    )


def _factor(following: _Next, newest: AssistantMessage, estimate: ModelEstimate) -> float:
    """Return the ratio of the provider's count to the estimate for the request of the newest answer."""
    sizes = measure(following.built.request, following.built.layers, estimate)
    estimated = sum(sizes.layers) + sizes.plugin + sum(sizes.tools)
    for message in following.built.messages:
        if message.info.id == newest.id:
            break
        estimated += sum(sizes.parts.get(part.id, 0.0) for part in message.parts)
    return newest.tokens.prompt / estimated if estimated else 1.0


def _without_continue(request: LlmRequest) -> LlmRequest:
    """Return the request without the placeholder for the next prompt."""
    last = request.messages[-1] if request.messages else None
    if isinstance(last, UserEntry) and last.content == (TextBlock(CONTINUE),):
        return replace(request, messages=request.messages[:-1])
    return request


def _reported(following: _Next, model: Model) -> AssistantMessage | None:
    """Return the newest answer whose reported tokens apply to the next request: same model, nothing pruned or restored since."""
    for message in reversed(following.sent):
        info = message.info
        if isinstance(info, AssistantMessage) and info.finish and keeps_answer(info.error):
            is_same = (info.provider_id, info.model_id) == (model.provider_id, model.model_id)
            is_counted = info.tokens.prompt > 0
            changed = info.summary or pruned_since(following.sent, info.time.completed or 0)
            return info if is_same and is_counted and not changed else None
    return None
