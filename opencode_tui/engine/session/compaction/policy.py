"""Keeps a conversation within its model's context: checks each request before it is sent, and compacts when it is full.

No automatic compaction runs when it would save less than a fifth: such a turn ends with an error that says what to do. What only a
filling context needs is loaded on demand. Source: docs/internals/compaction.md#overflow.
"""

from collections.abc import Callable, Sequence
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
    context_full_error,
    exceeds,
    max_request,
    new_messages,
    parse_reported_limit,
    pending_from,
    rejected_error,
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
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts

if TYPE_CHECKING:
    from opencode_tui.engine.session.compaction.compaction import SessionCompaction
    from opencode_tui.engine.session.compaction.summary import Precomputed, PrecomputedSummaries
    from opencode_tui.engine.session.question import QuestionService

MAX_REFUSALS = 2
"""Consecutive requests that a provider may reject as too large before the turn ends."""

_SLACK = 32
"""Share of a context (1/N) that stays free next to request and answer: sizes are estimates."""

_SUMMARY = 4_000
"""Tokens that a summary is expected to take."""


class CompactionRules(Struct, frozen=True):
    """The settings of compaction; `prepare` is the share of the usable context at which a summary is precomputed, or False."""

    overflow: OverflowRules
    prepare: float | Literal[False]


@dataclass(slots=True)
class CompactionState:
    """The compactions of one run; `request` is the one that is too large.

    `before` is the size before the last compaction, until its gain is known; `limit` is the limit that the provider reported.
    """

    request: LlmRequest | None = None
    before: int = 0
    has_gained: bool = True
    refusals: int = 0
    limit: int | None = None


class CompactionPolicy:
    """Decides when the sessions of one folder are compacted."""

    def __init__(
        self,
        *,
        store: SessionStore,
        estimator: TokenEstimator,
        rules: CompactionRules,
        compaction: "Lazy[SessionCompaction]",
        prepared: "Lazy[PrecomputedSummaries]",
        questions: "QuestionService",
        report_too_large: Callable[[str, Model, int], None] = lambda _session, _model, _size: None,
    ) -> None:
        """`report_too_large` is called for each request that does not fit, before anything is done about it."""
        self._store = store
        self._estimator = estimator
        self._rules = rules
        self._compaction = compaction
        self._prepared = prepared
        self._questions = questions
        self._report_too_large = report_too_large
        self._known: set[str] = set()

    async def fit_request(self, session_id: str, request: LlmRequest, state: CompactionState) -> LlmRequest | None:
        """Return the request to send, None when the history must be compacted first.

        Starts to precompute a summary when the context is filling, but not at the first call that this process makes in the
        session: it may be the only one. When compaction would free too little, the answer gets only the space that is left. Raises
        ContextOverflowError when that is too little.
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
        messages = await self._store.recent(session_id)
        size = max(size, reported_use(messages, model))
        sent = filter_compacted(messages)
        if exceeds(size, model, rules):
            self._report_too_large(session_id, model, size)
            return self._shorten_answer(sent, request, size, state)
        if self._rules.prepare and size >= int(share or 0) and is_known:
            await self._prepare(session_id, sent, request, size)
        return _limit_answer(request, size)

    async def on_overflow(
        self, session_id: str, request: LlmRequest, error: ContextOverflowError, state: CompactionState
    ) -> None:
        """Record that the provider rejected a request as too large. Raises the error of the turn when compaction would not help."""
        size = self._estimator.estimate(request)
        state.refusals += 1
        if not self._rules.overflow.is_automatic:
            raise ContextOverflowError(
                f"{error}; automatic compaction is off: run `opencode-tui session compact {session_id}`",
                provider_id=error.provider_id,
                failure=error.failure,
            ) from error
        if state.refusals > MAX_REFUSALS:
            raise rejected_error(request.model, size, error) from error
        messages = [one for one in await self._store.recent(session_id) if not is_unfinished(one)]
        if not _saves_enough(state, self._summarizable(filter_compacted(messages), request, size), size):
            raise rejected_error(request.model, size, error) from error
        state.limit = parse_reported_limit(f"{error} {error.failure.body or ''}", size) or round(size * (1 - GAIN))
        state.before, state.request = size, request

    async def compact(self, run: Run, state: CompactionState) -> None:
        """Compact the history of the request that is too large; after one without progress only if the user wants it.

        Raises as `SessionCompaction.compact`, and SessionError when the user does not.
        """
        from opencode_tui.engine.session.compaction.compaction import CompactionTask  # only when a context is full
        from opencode_tui.engine.session.compaction.progress import ask_to_continue, has_progress

        request = state.request
        if request is None:
            return
        session_id = run.session_id
        messages = await self._store.recent(session_id)
        if not has_progress(messages):
            await ask_to_continue(self._questions, session_id, run.policy)
        sent = filter_compacted(messages)
        prepared = await self._prepared.get().consume(
            session_id, sent, request.model, accept=lambda one: self._is_worth(one, sent, request, state)
        )
        at = prepared.count if prepared is not None else self._tail(sent, request, state)
        await self._compaction.get().compact(
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
        """Cancel the summary that is being precomputed for a session."""
        if (prepared := self._prepared.made) is not None:
            prepared.cancel(session_id)

    async def _prepare(self, session_id: str, sent: Sequence[MessageWithParts], request: LlmRequest, size: int) -> None:
        """Start to summarize the old messages, unless that has started or would not free enough."""
        prepared, model = self._prepared.get(), request.model
        await prepared.check(session_id, sent, model)
        if prepared.is_begun(session_id):
            return
        old, room = self._summarizable(sent, request, size), usable(model, self._rules.overflow) or 0
        if old >= GAIN * size and _leaves_room(old, size, room):
            prepared.begin(session_id, sent[: pending_from(sent)], model)

    def _shorten_answer(
        self, sent: Sequence[MessageWithParts], request: LlmRequest, size: int, state: CompactionState
    ) -> LlmRequest | None:
        """Return a request over the limit with a shorter answer, None when compaction is better.

        Raises ContextOverflowError when neither helps.
        """
        model, old = request.model, self._summarizable(sent, request, size)
        room = usable(model, self._rules.overflow) or 0
        if _saves_enough(state, old, size) and (_leaves_room(old, size, room) or size > max_request(model)):
            state.before, state.request = size, request
            return None
        if size > max_request(model):
            raise context_full_error(model, size, room)
        return _limit_answer(request, size)

    def _summarizable(self, sent: Sequence[MessageWithParts], request: LlmRequest, size: int) -> int:
        """Return the tokens of the request that a summary could replace, with all that only the provider counts."""
        old = self._size_of(new_messages(sent[: pending_from(sent)]), request)
        return old + max(0, size - self._estimator.estimate(request))

    def _is_worth(
        self, prepared: "Precomputed", sent: Sequence[MessageWithParts], request: LlmRequest, state: CompactionState
    ) -> bool:
        """Return whether a precomputed summary makes the request small enough."""
        before, after = self._estimator.estimate(request), self._after(sent, prepared.count, request)
        after += self._estimator.estimate_text(prepared.completion.text, request.model)
        return after <= self._room(request, state) and after <= (1 - GAIN) * max(before, state.before)

    def _tail(self, sent: Sequence[MessageWithParts], request: LlmRequest, state: CompactionState) -> int:
        """Return the index of the first message sent in full: the requests without an answer, unless they are too large."""
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
    """Return the request with an answer that fits into the context even if the estimate is a little too low."""
    context = request.model.limit.context
    left = max(LEAST_ANSWER, context - size - context // _SLACK)
    return replace(request, max_output=left) if context and left < request.max_output else request


def _saves_enough(state: CompactionState, old: int, size: int) -> bool:
    """Return whether a compaction can save a fifth; after one that did not, the run tries no other."""
    return state.has_gained and old >= GAIN * size


def _leaves_room(old: int, size: int, room: int) -> bool:
    """Return whether the request without its old messages is far below the limit, so that it does not fill again at once."""
    return size - old <= (1 - GAIN) * room


def _measure_gain(state: CompactionState, size: int) -> None:
    """Record what the last compaction saved, by the size of the request after it."""
    if state.before:
        state.has_gained = size <= (1 - GAIN) * state.before
        state.before = 0
