"""Find out which requests of a session do not start with the whole request before, why, and what that costs.

Each request is kept in short: a digest and the size of each piece in order. The newest one is stored at the end of a run, so that
the first request of another process is compared too; a break is stored at once.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import takewhile
from struct import Struct as Layout
from typing import NamedTuple

from msgspec import Struct

from opencode_tui.engine.provider.cost import extra_cost
from opencode_tui.engine.provider.decode.request_option import given_options
from opencode_tui.engine.provider.llm import LlmRequest, MediaBlock, ResultBlock, TextBlock, ToolEntry, UserEntry
from opencode_tui.engine.provider.model_facts import effort_of, is_of_group
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.media import LEFT_OUT
from opencode_tui.engine.session.request.model_message import KEPT_HEAD, PRUNED_OUTPUT, SO_FAR
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.prefix import PrefixBreak, SentRequest, SessionPrefix

MAX_BREAKS = 50
"""Breaks of a session that are kept, the newest ones."""

_BYTES_PER_TOKEN = 4
"""For requests without tokens reported by the provider."""

_UNIT = Layout("<8sI")
"""A piece as it is stored: its digest, and its size in bytes."""


_MESSAGE = "message "
"""What the places of pieces of messages start with."""

_EFFORT_IN_PROMPT = "effort in the prompt"


class _Piece(NamedTuple):
    place: str
    data: bytes
    block: object = None


class PrefixMonitor(Struct, frozen=True):
    """Compares the requests of one folder's sessions."""

    store: SessionStore
    clock: Clock

    async def observe(self, message: AssistantMessage, request: LlmRequest) -> None:
        """Compare a request that was sent with the one before; `message` is its answer. Stores a break. Needs the run lock."""
        stored = await self.store.prefix(message.session_id)
        if stored is None:
            return
        pieces = await asyncio.to_thread(lambda: list(_pieces(request)))
        units = [(blake2b(one.data, digest_size=8).digest(), len(one.data)) for one in pieces]
        last = SentRequest.trusted(
            agent=message.agent or message.mode,
            model=str(request.model.ref),
            units=b64encode(b"".join(_UNIT.pack(*unit) for unit in units)).decode(),
            effort=effort_of(given_options(request)),
        )
        found = None if stored.last is None else self._compare(stored.last, last, pieces, units, message, request)
        changed = stored.changed(last=last, requests=stored.requests + 1)
        if found is None:
            self.store.writer(message.session_id).keep_prefix(changed)
        else:
            breaks = [*stored.breaks, found][-MAX_BREAKS:]
            await self.store.writer(message.session_id).write_prefix(changed.changed(breaks=breaks))

    async def finish(self, session_id: str) -> None:
        """Store the newest request, for the end of a run. Needs the run lock."""
        stored = await self.store.prefix(session_id)
        if stored is not None:
            await self.store.writer(session_id).write_prefix(stored)

    def _compare(
        self,
        before: SentRequest,
        now: SentRequest,
        pieces: list[_Piece],
        units: list[tuple[bytes, int]],
        message: AssistantMessage,
        request: LlmRequest,
    ) -> PrefixBreak | None:
        """Return the break between two requests, None when the later one starts with the whole earlier one.

        Another effort is a break too where the provider keeps a prompt for one effort: of the messages, not of what is before them.
        """
        earlier: list[tuple[bytes, int]] = list(_UNIT.iter_unpack(b64decode(before.units)))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, units, strict=False)))
        has_new_effort = same == len(earlier)
        if has_new_effort:
            if not _has_new_effort(before, now, message, request):
                return None
            same = sum(1 for piece in pieces[:same] if not piece.place.startswith(_MESSAGE))
        kept, lost = (sum(size for _, size in part) for part in (earlier[:same], earlier[same:]))
        at = pieces[same] if same < len(pieces) else None
        sent = sum(size for _, size in units)
        tokens = round(lost * message.tokens.prompt / sent) if message.tokens.prompt else lost // _BYTES_PER_TOKEN
        cost = extra_cost(tokens, message.tokens.prompt, request.model)
        return PrefixBreak(
            message_id=message.id,
            time=self.clock(),
            model=now.model,
            cause=_effort_cause(before, now) if has_new_effort else _cause(before, now, at),
            place=at.place if at is not None else "the end of the messages",
            kept=kept,
            lost=lost,
            tokens=tokens,
            cost=None if cost is None else float(cost),
        )


def without_last(prefix: SessionPrefix, rename: Callable[[str], str] = str) -> SessionPrefix:
    """Return what a fork or a copy keeps: the frozen starts without the requests of the session.

    `rename` returns the copy's id of a message.
    """
    frozen = [one if one.request is None else one.changed(request=rename(one.request)) for one in prefix.frozen]
    return prefix.changed(frozen=frozen, breaks=[], requests=0, last=None)


def _pieces(request: LlmRequest) -> Iterator[_Piece]:
    """Yield the pieces of a request in the order in which providers cache them."""
    for tool in request.tools:
        yield _Piece(f"the tool {tool.name}", _bytes([tool.name, tool.description, tool.parameters]))
    for segment in request.system:
        yield _Piece("the system text", segment.encode("utf-8", "replace"))
    for number, entry in enumerate(request.messages, start=1):
        role = "result" if isinstance(entry, ToolEntry) else "request" if isinstance(entry, UserEntry) else "answer"
        for block in entry.results if isinstance(entry, ToolEntry) else entry.content:
            names = [name for name in block.__struct_fields__ if name not in ("part", "media", "cache")]
            fields: list[object] = [role, *(getattr(block, name) for name in names)]
            if isinstance(block, ResultBlock):
                fields += [media.data for media in block.media]
            yield _Piece(f"{_MESSAGE}{number} ({role})", _bytes(fields), block)


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _has_new_effort(before: SentRequest, now: SentRequest, message: AssistantMessage, request: LlmRequest) -> bool:
    """Return whether a request to the same model asks for another effort, and its provider did not read it from the cache."""
    if before.model != now.model or before.effort is None or before.effort == now.effort:
        return False
    is_cached = 2 * message.tokens.cache.read >= message.tokens.prompt > 0
    return not is_cached and is_of_group(request.model.api_id or request.model.model_id, _EFFORT_IN_PROMPT)


def _effort_cause(before: SentRequest, now: SentRequest) -> str:
    old, new = (one or "the provider's default" for one in (before.effort, now.effort))
    return f"the effort changed from {old} to {new}"


def _cause(before: SentRequest, now: SentRequest, at: _Piece | None) -> str:
    if before.model != now.model:
        return f"the model changed from {before.model} to {now.model}"
    is_start = at is not None and not at.place.startswith(_MESSAGE)
    if is_start and before.agent != now.agent:
        return f"the agent changed from {before.agent} to {now.agent}"
    block = None if at is None else at.block
    if is_start:
        return "the tools changed" if at is not None and at.place.startswith("the tool ") else "the system text changed"
    if isinstance(block, ResultBlock) and block.text == PRUNED_OUTPUT:
        return "an output was pruned"
    if isinstance(block, TextBlock) and block.text == SO_FAR:
        return "the history was compacted"
    if isinstance(block, TextBlock) and KEPT_HEAD in block.text[:200]:
        return "the ledger was edited"
    if isinstance(block, MediaBlock) or (isinstance(block, TextBlock) and LEFT_OUT in block.text[:200]):
        return "an attachment changed or was left out"
    return "older messages changed: an undo, a restored output or a plugin"
