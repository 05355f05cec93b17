"""Keeps a conversation within its model's context: looks at each request before it is sent, and compacts when it is full.

Nothing is compacted by itself where that gains less than a fifth: such a turn ends with a message that says what to do. What only a
filling context needs is loaded when it fills. Source: SPEC section 3, "overflow" and "compaction".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.engine.session.compaction.state import (
    GAIN,
    LEAST_ANSWER,
    OverflowRules,
    exceeds,
    full_context,
    max_request,
    new_messages,
    parse_reported_limit,
    pending_from,
    reported_use,
    usable,
)
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.repair import is_unfinished
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.runs import Run
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.error import ContextOverflowError
from opencode_tui.schema.session.history import MessageWithParts

if TYPE_CHECKING:
    from opencode_tui.engine.session.compaction.compaction import SessionCompaction
    from opencode_tui.engine.session.compaction.precomputed import Precomputed, PrecomputedSummaries
    from opencode_tui.engine.session.compaction.summary_request import SummaryRequests

MAX_REFUSALS = 2
"""Requests in a row that a provider may refuse as too large before the turn ends."""

_SLACK = 32
"""One part in so many of a context stays free beside request and answer: sizes are estimates."""

_SUMMARY = 4_000
"""Tokens that a summary is expected to take where it matters whether something else still fits beside it."""


class Compactions(Struct, frozen=True):
    """What a filling context needs."""

    compaction: "SessionCompaction"
    requests: "SummaryRequests"
    prepared: "PrecomputedSummaries"


class CompactionRules(Struct, frozen=True):
    """What the settings say; `prepare` is the share of the usable context from which a summary is prepared, or False."""

    overflow: OverflowRules
    prepare: float | Literal[False]


@dataclass(slots=True)
class CompactionState:
    """What a run has seen and done of a full context; `request` is the one that is too large.

    `before` is the size at which the last compaction was decided, until its gain is known; `limit` is the limit that the provider reported.
    """

    request: LlmRequest | None = None
    before: int = 0
    has_gained: bool = True
    refusals: int = 0
    limit: int | None = None


class CompactionPolicy:
    """Looks after the contexts of one folder's sessions."""

    def __init__(
        self, *, store: SessionStore, estimator: TokenEstimator, rules: CompactionRules, compactions: Lazy[Compactions]
    ) -> None:
        self._store = store
        self._estimator = estimator
        self._rules = rules
        self._compactions = compactions
        self._known: set[str] = set()

    async def fit_request(self, session_id: str, request: LlmRequest, state: CompactionState) -> LlmRequest | None:
        """Return the request as it is to be sent, None when the history must be compacted before.

        Begins to prepare a summary when the context is filling, but not with the first call that this process makes in the
        session: it may be the only one. Where compacting helps too little, the answer gets what room is left. Raises
        ContextOverflowError when there is too little of that.
        """
        model, rules = request.model, self._rules.overflow
        is_known = session_id in self._known
        self._known.add(session_id)
        room = usable(model, rules)
        share = None if room is None else int(room * (self._rules.prepare or 1))
        size = self._estimator.estimate(request, beyond=None if state.before else share)
        _measure_gain(state, size)
        if room is None or not rules.is_automatic:
            return request
        messages = await self._store.messages(session_id)
        size = max(size, reported_use(messages, model))
        sent = filter_compacted(messages)
        if exceeds(size, model, rules):
            return self._shorten_answer(sent, request, size, state)
        if self._rules.prepare and size >= int(share or 0) and is_known:
            await self._prepare(session_id, sent, request, size)
        return _limit_answer(request, size)

    async def on_overflow(
        self, session_id: str, request: LlmRequest, error: ContextOverflowError, state: CompactionState
    ) -> None:
        """Note that the provider refuses a request as too large; raises what ends the turn when compacting is of no use."""
        size = self._estimator.estimate(request)
        state.refusals += 1
        if not self._rules.overflow.is_automatic:
            raise ContextOverflowError(
                f"{error}; compacting by itself is switched off: run `opencode-tui session compact {session_id}`",
                provider_id=error.provider_id,
                failure=error.failure,
            ) from error
        if state.refusals > MAX_REFUSALS:
            raise full_context(request.model, size, usable(request.model, self._rules.overflow)) from error
        messages = [one for one in await self._store.messages(session_id) if not is_unfinished(one)]
        if not _saves_enough(state, self._summarizable(filter_compacted(messages), request, size), size):
            raise full_context(request.model, size, usable(request.model, self._rules.overflow)) from error
        state.limit = parse_reported_limit(f"{error} {error.failure.body or ''}", size) or round(size * (1 - GAIN))
        state.before, state.request = size, request

    async def compact(self, run: Run, state: CompactionState) -> None:
        """Compact the history that the request carries. Raises what makes a compaction fail."""
        from opencode_tui.engine.session.compaction.compaction import CompactionTask  # only when a context is full

        request = state.request
        if request is None:
            return
        session_id = run.session_id
        sent = filter_compacted(await self._store.messages(session_id))
        prepared = await self._compactions.get().prepared.consume(
            session_id, sent, request.model, accept=lambda one: self._is_worth(one, sent, request, state)
        )
        at = prepared.count if prepared is not None else self._tail(sent, request, state)
        await self._compactions.get().compaction.compact(
            run,
            CompactionTask(
                session_id,
                is_automatic=True,
                tail_id=sent[at].info.id if at < len(sent) else None,
                prepared=prepared,
                limit=state.limit,
            ),
        )

    def interrupt(self, session_id: str) -> None:
        """End what is being prepared for a session."""
        loaded = self._compactions.made
        if loaded is not None:
            loaded.prepared.cancel(session_id)

    async def _prepare(self, session_id: str, sent: Sequence[MessageWithParts], request: LlmRequest, size: int) -> None:
        """Begin to summarise what is old, unless that has begun or would be of no use at the limit."""
        prepared, model = self._compactions.get().prepared, request.model
        await prepared.check(session_id, sent, model)
        if prepared.is_begun(session_id):
            return
        old, room = self._summarizable(sent, request, size), usable(model, self._rules.overflow) or 0
        if old >= GAIN * size and _leaves_room(old, size, room):
            prepared.begin(session_id, sent[: pending_from(sent)], model)

    def _shorten_answer(
        self, sent: Sequence[MessageWithParts], request: LlmRequest, size: int, state: CompactionState
    ) -> LlmRequest | None:
        """Return a request that is over the limit with a shorter answer, None when it is better to compact.

        Raises ContextOverflowError when neither is of use.
        """
        model, old = request.model, self._summarizable(sent, request, size)
        room = usable(model, self._rules.overflow) or 0
        if _saves_enough(state, old, size) and (_leaves_room(old, size, room) or size > max_request(model)):
            state.before, state.request = size, request
            return None
        if size > max_request(model):
            raise full_context(model, size, room)
        return _limit_answer(request, size)

    def _summarizable(self, sent: Sequence[MessageWithParts], request: LlmRequest, size: int) -> int:
        """Return the tokens of the request that a summary could stand for; what only the provider counts is taken for history."""
        old = self._size_of(new_messages(sent[: pending_from(sent)]), request)
        return old + max(0, size - self._estimator.estimate(request))

    def _is_worth(
        self, prepared: "Precomputed", sent: Sequence[MessageWithParts], request: LlmRequest, state: CompactionState
    ) -> bool:
        """Tell whether the request is small enough with a prepared summary in the place of what it stands for."""
        before, after = self._estimator.estimate(request), self._after(sent, prepared.count, request)
        after += self._estimator.estimate_text(prepared.completion.text, request.model)
        return after <= self._room(request, state) and after <= (1 - GAIN) * max(before, state.before)

    def _tail(self, sent: Sequence[MessageWithParts], request: LlmRequest, state: CompactionState) -> int:
        """Return from where on messages are sent in full: the requests that wait for an answer, unless they are too large."""
        at = pending_from(sent)
        fits = self._after(sent, at, request) + _SUMMARY <= self._room(request, state)
        return at if fits else len(sent)

    def _after(self, sent: Sequence[MessageWithParts], at: int, request: LlmRequest) -> int:
        """Return the size of the request without the messages before `at`."""
        return self._estimator.estimate(request) - self._size_of(sent, request) + self._size_of(sent[at:], request)

    def _room(self, request: LlmRequest, state: CompactionState) -> int:
        room = usable(request.model, self._rules.overflow)
        return min(one for one in (room, state.limit, 1 << 60) if one is not None)

    def _size_of(self, messages: Sequence[MessageWithParts], request: LlmRequest) -> int:
        if not messages:
            return 0
        entries = to_model_messages(messages, request.model)
        return self._estimator.estimate(replace(request, system=(), tools=(), messages=entries))


def _limit_answer(request: LlmRequest, size: int) -> LlmRequest:
    """Return the request with an answer that fits beside it, even where the size is estimated a little too low."""
    context = request.model.limit.context
    left = max(LEAST_ANSWER, context - size - context // _SLACK)
    return replace(request, max_output=left) if context and left < request.max_output else request


def _saves_enough(state: CompactionState, old: int, size: int) -> bool:
    """Tell whether a compaction can take away a fifth; after one that has not, no other of the run is tried."""
    return state.has_gained and old >= GAIN * size


def _leaves_room(old: int, size: int, room: int) -> bool:
    """Tell whether a request without what is old is well below the limit, so that it does not fill again at once."""
    return size - old <= (1 - GAIN) * room


def _measure_gain(state: CompactionState, size: int) -> None:
    """Note what the last compaction has gained, now that the request after it is known."""
    if state.before:
        state.has_gained = size <= (1 - GAIN) * state.before
        state.before = 0
