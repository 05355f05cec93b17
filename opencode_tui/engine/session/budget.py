"""Budgets of a session and of a day: the user is asked before a request would pass one; without a user the run ends.

A session's budget counts its subagent sessions too, the day's all sessions and processes. What the user allows beyond a budget
is stored, so that no other process asks again. Source: the setting `limits.cost`.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.provider.cost import has_prices, to_cost
from opencode_tui.engine.provider.llm import Llm, LlmRequest, Usage
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.engine.session.agent_tree import AgentTrees
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import BudgetError, QuestionDismissedError, ToolError
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.session import SessionInfo

if TYPE_CHECKING:
    from opencode_tui.schema.api.context import BudgetUse

ALLOWED_KEY = "budget"
"""The key in a session's metadata with the USD that the user allowed beyond its budget."""

USUAL_ANSWER = 500
"""Tokens that an answer is expected to have when none came before."""

CONTINUE, STOP = "Continue", "Stop"

Scope = Literal["session", "day"]


class Use(NamedTuple):
    """The USD of a budget: its limit with what was allowed beyond it, and what is spent or being spent."""

    limit: Decimal
    spent: Decimal


class Passed(NamedTuple):
    """A budget that a request would pass: its limit in the settings, and its use."""

    scope: Scope
    limit: Decimal
    use: Use


class Reservation(Struct, frozen=True, eq=False):
    """The expected cost of a running request in USD, which counts for other requests; each is itself only."""

    amount: Decimal


class BudgetLimits(Struct, frozen=True):
    """The budgets in USD, None without one."""

    session: Decimal | None = None
    day: Decimal | None = None

    @property
    def is_set(self) -> bool:
        """Return whether there is a budget."""
        return self.session is not None or self.day is not None


class Budgets(Struct, frozen=True):
    """Gives the models to the requests of one folder's sessions that pass no budget."""

    limits: BudgetLimits
    store: SessionStore
    sessions: Sessions
    providers: Providers
    spending: Spending
    estimator: TokenEstimator
    questions: QuestionService
    trees: AgentTrees
    _running: dict[str, list[Reservation]] = field(default_factory=dict[str, list[Reservation]])
    _unpriced: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @asynccontextmanager
    async def reserved(
        self, session_id: str, request: LlmRequest, messages: Sequence[MessageWithParts], policy: Policy
    ) -> AsyncGenerator[Llm]:
        """Give the adapter of a request's model, with the expected cost reserved inside the context.

        Asks the user before a budget would be passed. Raises BudgetError when the user says no, when no user is present, or
        when an agent would pass a limit of `limits.agents`, AuthError when a required key is missing.
        """
        async with (
            self._counted(session_id, request, messages),
            self._paid(session_id, request, messages, policy) as llm,
        ):
            yield llm

    @asynccontextmanager
    async def _counted(
        self, session_id: str, request: LlmRequest, messages: Sequence[MessageWithParts]
    ) -> AsyncGenerator[None]:
        """Count a request of an agent, with the tokens that it will probably use."""
        tree = self.trees.tree_of(session_id)
        if tree is None:
            yield
            return
        needs_tokens = self.trees.limits.tokens is not None
        expected = 0
        if needs_tokens:
            expected = await asyncio.to_thread(self.estimator.estimate, request) + _usual_answer(request, messages)
        with tree.reserved(expected) as use:
            try:
                yield
            finally:
                if needs_tokens:
                    use.tokens = await self._last_tokens(session_id)

    async def _last_tokens(self, session_id: str) -> int:
        """Return the tokens of a session's newest answer."""
        for message in reversed(await self.store.recent(session_id)):
            if isinstance(message.info, AssistantMessage):
                return message.info.tokens.context
        return 0

    @asynccontextmanager
    async def _paid(
        self, session_id: str, request: LlmRequest, messages: Sequence[MessageWithParts], policy: Policy
    ) -> AsyncGenerator[Llm]:
        """Give the adapter of a request's model, with the expected cost reserved inside the context."""
        if not self.limits.is_set:
            yield self.providers.llm(request.model)
            return
        root = await self.sessions.get(await self.store.root_of(session_id))
        if not _is_priced(request):
            await self._ask_unpriced(session_id, root.id, str(request.model.ref), policy)
            yield self.providers.llm(request.model)
            return
        is_of_agent = session_id != root.id  # several are sent at once, so that none may count on the cache
        expected = await self._expected(request, () if is_of_agent else messages)
        while isinstance(found := await self._reserve(root, expected), Passed):
            await self._ask(session_id, found, expected, policy)
            await self._allow(found.scope, root, found.use.spent + expected - found.use.limit + found.limit)
            root = await self.sessions.get(root.id)
        with self._held(root, found):
            yield self.providers.llm(request.model)

    @asynccontextmanager
    async def reserved_if_free(self, session_id: str, request: LlmRequest) -> AsyncGenerator[Llm | None]:
        """Give the adapter for a request that no one waits for, None if it passes a budget; its cost is reserved as above.

        Asks nothing: a model without a known price is as the user has answered before. Raises AuthError when a key is missing.
        """
        if not self.limits.is_set:
            yield self.providers.llm(request.model)
            return
        root = await self.sessions.get(await self.store.root_of(session_id))
        if not _is_priced(request):
            is_allowed = (root.id, str(request.model.ref)) in self._unpriced
            yield self.providers.llm(request.model) if is_allowed else None
            return
        found = await self._reserve(root, await self._expected(request, ()))
        if isinstance(found, Passed):
            yield None
            return
        with self._held(root, found):
            yield self.providers.llm(request.model)

    async def _expected(self, request: LlmRequest, messages: Sequence[MessageWithParts]) -> Decimal:
        return expected_cost(await asyncio.to_thread(self.estimator.estimate, request), request, messages)

    async def _reserve(self, root: SessionInfo, expected: Decimal) -> "Reservation | Passed":
        """Return a reservation that counts from now on, or the budget that the request would pass.

        Nothing is awaited between the comparison and the reservation. What ended during the reads may be missing in both the
        records and the running calls, so that they are read again then.
        """
        while True:
            before = self._all_running()
            stored: list[tuple[Scope, Decimal, Use]] = [
                (scope, limit, await self._stored(scope, root)) for scope, limit in self._scopes()
            ]
            now = self._all_running()
            if all(any(one is other for other in now) for one in before):
                break
        for scope, limit, use in stored:
            use = self._with_running(scope, root, use)
            if use.spent + expected > use.limit:
                return Passed(scope, limit, use)
        reservation = Reservation(expected)
        self._running.setdefault(root.id, []).append(reservation)
        return reservation

    @contextmanager
    def _held(self, root: SessionInfo, reservation: "Reservation") -> Generator[None]:
        try:
            yield
        finally:
            self._running[root.id].remove(reservation)

    def _all_running(self) -> "list[Reservation]":
        return [one for running in self._running.values() for one in running]

    def _scopes(self) -> list[tuple[Scope, Decimal]]:
        scopes: tuple[tuple[Scope, Decimal | None], ...] = (("session", self.limits.session), ("day", self.limits.day))
        return [(scope, limit) for scope, limit in scopes if limit is not None]

    async def uses(self, session_id: str) -> "list[BudgetUse]":
        """Return the use of each budget, for a session or one of its subagent sessions. Raises StorageError, OSError."""
        from opencode_tui.schema.api.context import BudgetUse  # no turn needs it

        if not self.limits.is_set:
            return []
        root = await self.sessions.get(await self.store.root_of(session_id))
        found: list[BudgetUse] = []
        for scope, _ in self._scopes():
            use = self._with_running(scope, root, await self._stored(scope, root))
            found.append(BudgetUse(scope=scope, limit=float(use.limit), spent=float(use.spent)))
        return found

    async def _stored(self, scope: Scope, root: SessionInfo) -> Use:
        """Return the use of a budget without calls that are running; it must have a limit. Raises StorageError, OSError."""
        if scope == "day":
            day = await asyncio.to_thread(self.spending.today)
            return Use((self.limits.day or Decimal(0)) + day.allowed, day.spent)
        family = await self.sessions.family(root)
        spent = await asyncio.to_thread(self.sessions.sums.get().cost, family)
        allowed = Decimal(str((root.metadata or {}).get(ALLOWED_KEY) or 0))
        return Use((self.limits.session or Decimal(0)) + allowed, spent)

    def _with_running(self, scope: Scope, root: SessionInfo, use: Use) -> Use:
        running = self._all_running() if scope == "day" else self._running.get(root.id, [])
        return Use(use.limit, use.spent + sum((one.amount for one in running), Decimal(0)))

    async def _ask(self, session_id: str, passed: "Passed", expected: Decimal, policy: Policy) -> None:
        scope, limit, use = passed
        of = "of this session" if scope == "session" else "of today"
        said = (
            f"The budget {of}, {_usd(use.limit)}, would be passed: {_usd(use.spent)} is spent, "
            f"the next request costs about {_usd(expected)}"
        )
        more = f"Up to {_usd(limit)} more {'in this session' if scope == 'session' else 'today'}."
        stop = f"{said}; raise limits.cost.{scope} in the settings to go on"
        await self._choose(session_id, f"{said}. Continue?", more, stop, policy)

    async def _ask_unpriced(self, session_id: str, root_id: str, model: str, policy: Policy) -> None:
        if (root_id, model) in self._unpriced:
            return
        said = f"The price of {model} is unknown, so a budget cannot count it"
        provider, _, name = model.partition("/")
        stop = f"{said}; set provider.{provider}.models.{name}.cost in the settings (0 for a free model)"
        await self._choose(session_id, f"{said}. Continue?", "Without counting this model.", stop, policy)
        self._unpriced.add((root_id, model))

    async def _choose(self, session_id: str, text: str, more: str, stop: str, policy: Policy) -> None:
        """Return when the user wants to continue. Raises BudgetError with the text `stop`."""
        options = [
            QuestionOption(label=CONTINUE, description=more),
            QuestionOption(label=STOP, description="End the turn here."),
        ]
        question = Question(question=text, header="Budget", options=options)
        try:
            ((answer, *_),) = await self.questions.ask(session_id, [question], tool=None, policy=policy) or [[STOP]]
        except (QuestionDismissedError, ToolError, ValueError) as error:
            raise BudgetError(stop) from error
        if answer != CONTINUE:
            raise BudgetError(stop)

    async def _allow(self, scope: Scope, root: SessionInfo, amount: Decimal) -> None:
        if scope == "day":
            await asyncio.to_thread(self.spending.allow, amount)
            return

        def change(info: SessionInfo) -> SessionInfo:
            known = Decimal(str((info.metadata or {}).get(ALLOWED_KEY) or 0))
            return info.changed(metadata={**(info.metadata or {}), ALLOWED_KEY: float(known + amount)})

        await self.store.update(root.id, change, touch=False)


def expected_cost(tokens: int, request: LlmRequest, messages: Sequence[MessageWithParts]) -> Decimal:
    """Return what a request of `tokens` will probably cost, in USD.

    What the last request of this model sent is expected in the cache, and an answer of the last one's length.
    """
    last = _last_of_model(request, messages)
    cached = 0 if last is None else min(last.tokens.prompt, tokens)
    answer = _usual_answer(request, messages)
    prices = request.model.cost
    new = Usage(cache_write=tokens - cached) if prices.cache_write > prices.input else Usage(input=tokens - cached)
    return to_cost(Usage(input=new.input, cache_write=new.cache_write, cache_read=cached, output=answer), request.model)


def _usual_answer(request: LlmRequest, messages: Sequence[MessageWithParts]) -> int:
    """Return the tokens that an answer probably has: those of the last one of this model."""
    last = _last_of_model(request, messages)
    return USUAL_ANSWER if last is None else last.tokens.written


def _last_of_model(request: LlmRequest, messages: Sequence[MessageWithParts]) -> AssistantMessage | None:
    """Return the newest answer with a count of tokens, None where another model gave it."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and info.finish and info.tokens.prompt:
            is_same = (info.provider_id, info.model_id) == (request.model.provider_id, request.model.model_id)
            return info if is_same else None
    return None


def _is_priced(request: LlmRequest) -> bool:
    return has_prices(request.model) or request.model.adapter == "demo"


def _usd(amount: Decimal) -> str:
    return f"${amount:.2f}" if amount >= Decimal("0.1") else f"${amount:.4f}"
