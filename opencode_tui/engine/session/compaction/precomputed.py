"""Summaries that are prepared before the limit comes, so that nobody waits for them.

A call in the background summarises what is old when the context passes a share of what is usable. The result lives in memory and
stands for the messages that it was made from: when they are no longer the same (undo, prune, edit, another model), it is thrown
away and its price is noted with the session. A failure only means that the limit will be waited at.
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
from opencode_tui.engine.session.compaction.summary_request import SummaryRequests, newest_request
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.schema.error import NotFoundError, ProviderError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts


class Precomputed(Struct, frozen=True):
    """A summary of the first `count` messages that were sent to a model when it was made."""

    completion: Completion
    count: int
    digest: str
    model: ModelRef
    """The model of the conversation."""


class _Work:
    """One preparation: under way, ready, or failed (`ready` is None then)."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.ready: Precomputed | None = None


class PrecomputedSummaries:
    """Prepares summaries for one folder's sessions, one at a time for each."""

    def __init__(
        self, *, requests: SummaryRequests, providers: Providers, background: Background, store: SessionStore
    ) -> None:
        self._requests = requests
        self._providers = providers
        self._background = background
        self._store = store
        self._work: dict[str, _Work] = {}
        background.at_close(self.close)

    def is_begun(self, session_id: str) -> bool:
        """Tell whether a summary of the session is under way, waits or has failed."""
        return session_id in self._work

    def begin(self, session_id: str, old: Sequence[MessageWithParts], model: Model) -> None:
        """Begin to summarise these messages in the place of whatever was begun."""
        work = self._work[session_id] = _Work()
        name = f"preparing a summary of session {session_id}"
        work.task = self._background.start(self._prepare(work, list(old), model), name=name)

    async def consume(
        self,
        session_id: str,
        sent: Sequence[MessageWithParts],
        model: Model,
        *,
        accept: Callable[[Precomputed], bool],
    ) -> Precomputed | None:
        """Return the summary that stands for the beginning of what is sent now, None without one; waits for one under way.

        One that is not accepted is thrown away.
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
        """Throw a summary away that no longer stands for the beginning of what is sent."""
        work = self._work.get(session_id)
        ready = work.ready if work is not None else None
        if ready is not None and not _covers(ready, sent, model):
            await self.discard(session_id)

    async def discard(self, session_id: str) -> None:
        """End a preparation, or throw its summary away; its price is noted with the session."""
        work = self._work.pop(session_id, None)
        if work is None:
            return
        if work.task is not None and not work.task.done():
            work.task.cancel()
            await asyncio.wait({work.task})
        if work.ready is not None:
            await self._note_cost(session_id, work.ready.completion.cost)

    def cancel(self, session_id: str) -> None:
        """End a preparation that is under way; returns at once."""
        work = self._work.get(session_id)
        if work is not None and work.task is not None and not work.task.done():
            del self._work[session_id]
            work.task.cancel()

    async def close(self) -> None:
        """Throw everything away."""
        for session_id in tuple(self._work):
            await self.discard(session_id)

    async def _prepare(self, work: _Work, old: list[MessageWithParts], model: Model) -> None:
        user = newest_request(old)
        summariser = self._requests.model(user)
        request = await self._requests.build(old, user, summariser)
        completion = await ask(self._providers.llm(summariser), request.request)
        fault = request.fault_of(completion.text, completion.reason)
        if fault is not None:
            await self._note_cost(user.session_id, completion.cost)
            raise ProviderError(fault, provider_id=summariser.provider_id)
        work.ready = Precomputed(completion, len(old), _digest(old, model), model.ref)

    async def _note_cost(self, session_id: str, cost: Decimal) -> None:
        with suppress(NotFoundError):
            await self._store.update(session_id, lambda info: with_cost(info, cost), touch=False)


def _covers(prepared: Precomputed, sent: Sequence[MessageWithParts], model: Model) -> bool:
    return prepared.model == model.ref and prepared.digest == _digest(sent[: prepared.count], model)


def _digest(messages: Sequence[MessageWithParts], model: Model) -> str:
    """Return what tells whether messages are still the same to a model."""
    digest = hashlib.sha256()
    for entry in to_model_messages(messages, model):
        for block in entry.results if isinstance(entry, ToolEntry) else entry.content:
            digest.update(f"{type(entry).__name__} {_fingerprint(block)}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _fingerprint(block: object) -> str:
    """Return a block in words, megabytes of media by what tells them apart."""
    if isinstance(block, MediaBlock):
        return f"{block.mime} {block.filename} {len(block.data)} {block.data[:100]} {block.data[-100:]}"
    if isinstance(block, ResultBlock):
        return f"{block.id} {block.tool} {block.is_error} {block.text} {[_fingerprint(one) for one in block.media]}"
    return repr(block)
