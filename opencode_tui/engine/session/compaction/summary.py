"""The summary that replaces old messages: the request for it, and the one made before it is needed.

The request: the conversation as plain text, shortened to fit, with the instructions for the model. What is kept word for word
beside it, without a model, is made by `ledger.py`.

A summary is prepared in the background when the context passes a share of its usable size, so that no turn waits for it. It is kept
in memory and is valid only for the messages that it was made from: when they change (undo, prune, edit, another model), it is
discarded and its cost is added to the session. After a failure, or without room in a budget, the compaction at the limit asks the
model as usual. Source: docs/internals/compaction.md.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from itertools import groupby
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.plugin.hooks import Hooks
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.complete import Completion, ask, with_cost
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.compaction.state import OverflowRules, usable
from opencode_tui.engine.session.plugin_hooks import advise_compaction, change_request
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.engine.session.request.model_message import CONTINUE, to_model_messages
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.error import NotFoundError, ProviderError, SessionError
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage, is_waiting

# The conversation as plain text, shortened to fit, with the instructions for the model.

Measure = Callable[[str], int]
"""Returns the tokens of a text."""

MEDIA_TOKENS = 1_600
"""Tokens counted for an image; documents take more, and are removed first."""

OMITTED = "(Older messages were omitted here: the conversation is too long.)"
_SHORT_OUTPUT, _SHORT_TEXT = 300, 1_500
"""Characters to which tool outputs and texts are shortened."""


@dataclass(slots=True)
class _Piece:
    """A piece of the conversation in a summary request."""

    role: Literal["user", "assistant"]
    kind: Literal["text", "call", "result", "media"]
    text: str
    media: MediaBlock | None = None
    is_fixed: bool = False


def conversation_text(
    entries: Sequence[ModelMessage],
    *,
    room: int | None,
    measure: Measure,
    instruction: str,
    has_summary: bool = False,
) -> tuple[ModelMessage, ...]:
    """Return the conversation as text within `room` tokens (any size without it), ending with the instruction.

    With `has_summary` it starts with an earlier summary, which is not shortened: it covers everything before.
    """
    pieces = [piece for entry in entries for piece in _pieces(entry)]
    if has_summary:
        answer = next((place for place, piece in enumerate(pieces) if piece.role == "assistant"), -1)
        for piece in pieces[: answer + 1]:
            piece.is_fixed = True
    if room is not None:
        pieces = _fitting(pieces, room - measure(instruction), measure)
    if pieces and pieces[0].role == "assistant":
        pieces.insert(0, _Piece("user", "text", OMITTED))
    return tuple(_assembled([*pieces, _Piece("user", "text", instruction)]))


def _pieces(entry: ModelMessage) -> Iterator[_Piece]:
    match entry:
        case UserEntry():
            for block in entry.content:
                yield _media_piece(block) if isinstance(block, MediaBlock) else _Piece("user", "text", block.text)
        case AssistantEntry():
            for block in entry.content:
                match block:
                    case TextBlock():
                        yield _Piece("assistant", "text", block.text)
                    case CallBlock():
                        arguments = json.dumps(block.input, ensure_ascii=False)
                        yield _Piece("assistant", "call", f"[called {block.tool} {arguments}]")
                    case ThinkingBlock():
                        pass
        case ToolEntry():
            for result in entry.results:
                yield from _result_pieces(result)


def _result_pieces(result: ResultBlock) -> Iterator[_Piece]:
    yield _Piece("user", "result", f"[{result.tool} {'failed' if result.is_error else 'gave'}]\n{result.text}")
    yield from map(_media_piece, result.media)


def _media_piece(block: MediaBlock) -> _Piece:
    return _Piece("user", "media", f"[attachment {block.filename or block.mime}]", block)


def _fitting(pieces: list[_Piece], room: int, measure: Measure) -> list[_Piece]:
    """Return the pieces shortened, oldest first, until they fit."""
    excess = sum(_size(piece, measure) for piece in pieces) - room
    for shorten in (_without_media, _short_output, _short_text):
        for piece in pieces:
            if excess <= 0:
                return pieces
            if piece.is_fixed:
                continue
            before = _size(piece, measure)
            shorten(piece)
            excess -= before - _size(piece, measure)
    return _without_beginning(pieces, excess, measure) if excess > 0 else pieces


def _without_beginning(pieces: list[_Piece], excess: int, measure: Measure) -> list[_Piece]:
    """Return the pieces without the oldest ones, and with the last one cut if even that is too large."""
    start = at = sum(piece.is_fixed for piece in pieces)
    while excess > 0 and at < len(pieces) - 1:
        excess -= _size(pieces[at], measure)
        at += 1
    if excess > 0 and pieces:
        size = max(1, _size(pieces[-1], measure))
        pieces[-1].text = pieces[-1].text[: max(0, size - excess) * len(pieces[-1].text) // size]
    return pieces if at == start else [*pieces[:start], _Piece("user", "text", OMITTED), *pieces[at:]]


def _size(piece: _Piece, measure: Measure) -> int:
    return MEDIA_TOKENS if piece.media is not None else measure(piece.text)


def _without_media(piece: _Piece) -> None:
    piece.media = None


def _short_output(piece: _Piece) -> None:
    if piece.kind in ("result", "call"):
        piece.text = _shortened(piece.text, _SHORT_OUTPUT)


def _short_text(piece: _Piece) -> None:
    piece.text = _shortened(piece.text, _SHORT_TEXT)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _assembled(pieces: Sequence[_Piece]) -> Iterator[ModelMessage]:
    for role, group in groupby(pieces, lambda piece: piece.role):
        if role == "user":
            yield UserEntry(tuple(piece.media or TextBlock(piece.text) for piece in group))
        else:
            yield AssistantEntry((TextBlock("\n".join(piece.text for piece in group)),))


AGENT = "compaction"
ATTEMPTS = (1.0, 0.5)
"""Shares of the available size for the attempts at one summary."""

_UNKNOWN_ROOM = 120_000
_SUMMARY_SHARE = 6
"""Divisor of the usable context that gives the maximum size of a summary."""
_LEAST_SUMMARY, _MOST_SUMMARY = 500, 16_000
_LEAST_WORDS, _MOST_WORDS = 150, 1_500
_SHORT = 1_000
"""Tokens that a summary may always take, however short the summarized messages are."""
_SLACK = 0.06
"""Share of a model's limit that stays free, because sizes are estimates."""
_BROKEN = ("error", "content-filter")


class SummaryRequest(Struct, frozen=True):
    """A request for a summary of at most `size` tokens, and the check of its result."""

    request: LlmRequest
    size: int
    estimator: TokenEstimator

    def fault_of(self, text: str, reason: str) -> str | None:
        """Return the problem of a summary, None when it is usable."""
        ref = self.request.model.ref
        if reason in _BROKEN or not text.strip():
            return f"{ref} returned no summary; choose another model with agent.compaction.model in opencode.json"
        if self.estimator.estimate_text(text, self.request.model) > self.size:
            return (
                f"{ref} returned a summary longer than the summarized messages; "
                "choose another model with agent.compaction.model in opencode.json, or start a new session"
            )
        return None


class SummaryRequests(Struct, frozen=True):
    """Builds requests for summaries of one folder's sessions."""

    agents: AgentRegistry
    catalog: Catalog
    hooks: Hooks
    estimator: TokenEstimator
    rules: OverflowRules

    def model(self, user: UserMessage, wanted: ModelRef | None = None) -> Model:
        """Return the model for summaries: the wanted one, else the compaction agent's, else that of the conversation."""
        agent = self.agents.get(AGENT)
        chosen = wanted or (agent.model if agent else None) or user.model
        return self.catalog.resolve(self.catalog.or_default(chosen) if chosen == user.model else chosen)

    async def attempts(
        self,
        old: Sequence[MessageWithParts],
        user: UserMessage,
        model: Model,
        *,
        limit: int | None = None,
        focus: str = "",
    ) -> AsyncIterator[SummaryRequest]:
        """Yield the requests to try, each shorter than the one before; `limit` is the limit that the provider reported."""
        for share in ATTEMPTS:
            yield await self.build(old, user, model, limit=limit, share=share, focus=focus)

    async def build(
        self,
        old: Sequence[MessageWithParts],
        user: UserMessage,
        model: Model,
        *,
        limit: int | None = None,
        share: float = 1.0,
        focus: str = "",
    ) -> SummaryRequest:
        """Return the request for a summary of these messages, shortened to `share` of the model's available context."""
        agent = self.agents.get(AGENT)
        output, words = self._sizes(model)
        system = (agent.prompt if agent else None) or read_prompt(AGENT)
        entries = _without_continue(to_model_messages(old, model))
        instruction = await self._instruction(user.session_id, words)
        if focus:
            instruction += f"\n\nThe user asks the summary to focus on: {focus}"

        def measure(text: str) -> int:
            return self.estimator.estimate_text(text, model) + 1

        room = _room(model, output, limit) - measure(system)
        request = LlmRequest(
            model=model,
            system=(system,),
            messages=conversation_text(
                entries,
                room=int(room * share),
                measure=measure,
                instruction=instruction,
                has_summary=bool(old) and compaction_of(old[0]) is not None,
            ),
            max_output=output,
            temperature=agent.temperature if agent and model.temperature else None,
            top_p=agent.top_p if agent else None,
            options=agent.options if agent else {},
        )
        request = await change_request(self.hooks, request, user, AGENT)
        size = max(_SHORT, min(output, self.estimator.estimate(request)))
        return SummaryRequest(request, size, self.estimator)

    async def _instruction(self, session_id: str, words: int) -> str:
        added, replaced = await advise_compaction(self.hooks, session_id)
        prompt = replaced or read_prompt("compaction_request").replace("{words}", str(words))
        return "\n\n".join([prompt, *added])

    def _sizes(self, model: Model) -> tuple[int, int]:
        """Return the maximum tokens of the answer, reasoning included, and the number of words to ask for."""
        room = usable(model, self.rules) or _UNKNOWN_ROOM
        summary = min(_MOST_SUMMARY, max(_LEAST_SUMMARY, room // _SUMMARY_SHARE))
        most = min(model.limit.output or self.rules.output_max, self.rules.output_max)
        return min(most, summary * 2 if model.reasoning else summary), min(_MOST_WORDS, max(_LEAST_WORDS, summary // 3))


def _without_continue(entries: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """Return a conversation without the request to continue that is added after a last answer."""
    return entries[:-1] if entries and entries[-1] == UserEntry((TextBlock(CONTINUE),)) else entries


def newest_request(messages: Sequence[MessageWithParts]) -> UserMessage:
    """Return the newest request that does not wait. Raises SessionError when there is none."""
    for message in reversed(messages):
        if isinstance(message.info, UserMessage) and not is_waiting(message.info):
            return message.info
    raise SessionError("there is nothing to summarize: the session has no messages")


def _room(model: Model, output: int, limit: int | None) -> float:
    """Return the maximum tokens of a summary request."""
    window = limit or model.limit.context
    rooms = [window - output] if window else [_UNKNOWN_ROOM]
    if model.limit.input:
        rooms.append(model.limit.input)
    return min(rooms) * (1 - _SLACK)


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
        background: Background,
        store: SessionStore,
        budgets: Budgets,
    ) -> None:
        self._requests = requests
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
            await self._record_cost(session_id, work.ready.completion.cost)

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
        async with self._budgets.reserved_if_free(user.session_id, request.request) as llm:
            if llm is None:
                return
            completion = await ask(llm, request.request)
        fault = request.fault_of(completion.text, completion.reason)
        if fault is not None:
            await self._record_cost(user.session_id, completion.cost)
            raise ProviderError(fault, provider_id=summarizer.provider_id)
        work.ready = Precomputed(completion, len(old), _digest(old, model), model.ref)

    async def _record_cost(self, session_id: str, cost: Decimal) -> None:
        with suppress(NotFoundError):
            await self._store.update(session_id, lambda info: with_cost(info, cost), touch=False)


def _covers(prepared: Precomputed, sent: Sequence[MessageWithParts], model: Model) -> bool:
    return prepared.model == model.ref and prepared.digest == _digest(sent[: prepared.count], model)


def _digest(messages: Sequence[MessageWithParts], model: Model) -> str:
    """Return a hash of messages as a model sees them."""
    digest = blake2b(digest_size=16)
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
