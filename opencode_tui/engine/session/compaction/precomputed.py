"""Summaries that are computed before the context is full, so that no turn waits for them.

A background call summarizes the old messages when the context passes a share of its usable size. The result is kept in memory and
is valid only for the messages that it was made from: when they change (undo, prune, edit, another model), it is
discarded and its cost is added to the session. After a failure, or without
room in a budget, the compaction at the limit asks the model as usual.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal

from msgspec import Struct

from opencode_tui.engine.provider.complete import Completion, ask, with_cost
from opencode_tui.engine.provider.llm import MediaBlock, ResultBlock, ToolEntry
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.summary_request import SummaryRequests, newest_request
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.schema.error import NotFoundError, ProviderError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts


class Precomputed(Struct, frozen=True):
    """A summary of the first `count` messages of what was sent to a model at that time."""

    completion: Completion
    count: int
    digest: str
    model: ModelRef
    """The model of the conversation."""


class _Work:
    """One precomputation: running, ready, or failed (`ready` is None then)."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.ready: Precomputed | None = None


class PrecomputedSummaries:
    """Precomputes summaries for one folder's sessions, one at a time for each."""

    def __init__(
        self,
        *,
        requests: SummaryRequests,
        providers: Providers,
        background: Background,
        store: SessionStore,
        budgets: Budgets,
    ) -> None:
        self._requests = requests
        self._providers = providers
        self._background = background
        self._store = store
        self._budgets = budgets
        self._work: dict[str, _Work] = {}
        background.at_close(self.close)

    def is_begun(self, session_id: str) -> bool:
        """Return whether a summary of the session is running, ready or failed."""
        return session_id in self._work

    def begin(self, session_id: str, old: Sequence[MessageWithParts], model: Model) -> None:
        """Start to summarize these messages; replaces an earlier precomputation."""
        work = self._work[session_id] = _Work()
        name = f"precomputing a summary of session {session_id}"
        work.task = self._background.start(self._prepare(work, list(old), model), name=name)

    async def consume(
        self,
        session_id: str,
        sent: Sequence[MessageWithParts],
        model: Model,
        *,
        accept: Callable[[Precomputed], bool],
    ) -> Precomputed | None:
        """Return the summary of the first messages of `sent`, None without one; waits for one that is running.

        A summary that `accept` rejects is discarded.
        """
        work = self._work.get(session_id)
        if work is None:
            return None
        if work.task is not None:
            await asyncio.wait({work.task})
        prepared = work.ready
        if prepared is None or not (_covers(prepared, sent, model) and accept(prepared)):
            await self.discard(session_id)
            return None
        del self._work[session_id]
        return prepared

    async def check(self, session_id: str, sent: Sequence[MessageWithParts], model: Model) -> None:
        """Discard a summary that no longer matches the first messages of `sent`."""
        work = self._work.get(session_id)
        ready = work.ready if work is not None else None
        if ready is not None and not _covers(ready, sent, model):
            await self.discard(session_id)

    async def discard(self, session_id: str) -> None:
        """Cancel a precomputation or discard its summary; its cost is added to the session."""
        work = self._work.pop(session_id, None)
        if work is None:
            return
        if work.task is not None and not work.task.done():
            work.task.cancel()
            await asyncio.wait({work.task})
        if work.ready is not None:
            await self._note_cost(session_id, work.ready.completion.cost)

    def cancel(self, session_id: str) -> None:
        """Cancel a running precomputation; returns at once."""
        work = self._work.get(session_id)
        if work is not None and work.task is not None and not work.task.done():
            del self._work[session_id]
            work.task.cancel()

    async def close(self) -> None:
        """Discard everything."""
        for session_id in tuple(self._work):
            await self.discard(session_id)

    async def _prepare(self, work: _Work, old: list[MessageWithParts], model: Model) -> None:
        user = newest_request(old)
        summarizer = self._requests.model(user)
        request = await self._requests.build(old, user, summarizer)
        async with self._budgets.reserved_if_free(user.session_id, request.request) as is_free:
            if not is_free:
                return
            completion = await ask(self._providers.llm(summarizer), request.request)
        fault = request.fault_of(completion.text, completion.reason)
        if fault is not None:
            await self._note_cost(user.session_id, completion.cost)
            raise ProviderError(fault, provider_id=summarizer.provider_id)
        work.ready = Precomputed(completion, len(old), _digest(old, model), model.ref)

    async def _note_cost(self, session_id: str, cost: Decimal) -> None:
        with suppress(NotFoundError):
            await self._store.update(session_id, lambda info: with_cost(info, cost), touch=False)


def _covers(prepared: Precomputed, sent: Sequence[MessageWithParts], model: Model) -> bool:
    return prepared.model == model.ref and prepared.digest == _digest(sent[: prepared.count], model)


def _digest(messages: Sequence[MessageWithParts], model: Model) -> str:
    """Return a hash of messages as a model sees them."""
    digest = hashlib.sha256()
    for entry in to_model_messages(messages, model):
        for block in entry.results if isinstance(entry, ToolEntry) else entry.content:
            digest.update(f"{type(entry).__name__} {_fingerprint(block)}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _fingerprint(block: object) -> str:
    """Return a text that identifies a block; of media only size, start and end."""
    if isinstance(block, MediaBlock):
        return f"{block.mime} {block.filename} {len(block.data)} {block.data[:100]} {block.data[-100:]}"
    if isinstance(block, ResultBlock):
        return f"{block.id} {block.tool} {block.is_error} {block.text} {[_fingerprint(one) for one in block.media]}"
    return repr(block)
