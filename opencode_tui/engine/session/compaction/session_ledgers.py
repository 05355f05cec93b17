"""The ledgers of one folder's sessions: what their compactions keep word for word, shown and changed by the user.

A change is stored in the session. Where a compaction has kept a ledger, the text of its marker is rewritten, so that the next
request has the change: such a request does not begin with the bytes of the one before, and `prefix_breaks` names that cause.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.compaction.ledger import (
    Ledger,
    LedgerPlace,
    LedgerSources,
    build_ledger,
    edited_ledger,
    entry_id,
    line_of,
)
from opencode_tui.engine.session.compaction.state import OverflowRules, usable
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import compaction_of, filter_compacted
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.schema.api.context import LedgerChange, LedgerView
from opencode_tui.schema.error import ModelNotFoundError, NotFoundError, SessionError
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts, conversation
from opencode_tui.schema.session.ledger import (
    MOST_CHANGES,
    MOST_TEXT,
    KeptLedger,
    LedgerEdit,
    LedgerEntry,
    kept_ledger_of,
    ledger_edits_of,
    with_ledger_edits,
)
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.until import until_of

if TYPE_CHECKING:
    from opencode_tui.engine.tool.process.background import BackgroundCommands

_KEPT_ROOM = 32_000
"""Usable tokens assumed when a model's limit is unknown."""


class SessionLedgers(Struct, frozen=True):
    """Reads and changes them. `model` returns the model whose context has to hold the ledger, given the newest request."""

    store: SessionStore
    lock: SessionLock
    todos: SessionTodos
    commands: "Lazy[BackgroundCommands]"
    rules: OverflowRules
    place: Callable[[], LedgerPlace]
    model: Callable[[UserMessage], Model]

    async def read(self, info: SessionInfo, model: Model | None, tail_id: str | None) -> Ledger:
        """Return the ledger of a session for a model; messages from `tail_id` on are still sent in full."""
        messages, base = await self._uncovered(info)
        commands = self.commands.made
        sources = LedgerSources(
            messages=messages,
            todos=await self.todos.read(info.id),
            place=await asyncio.to_thread(self.place),
            room=(usable(model, self.rules) if model is not None else None) or _KEPT_ROOM,
            tail_id=tail_id,
            commands=[] if commands is None else [one for one in await commands.list(info.id) if one.is_running],
            until=until_of(info),
            edits=ledger_edits_of(info),
            base=base,
        )
        return await asyncio.to_thread(build_ledger, sources)

    async def _uncovered(self, info: SessionInfo) -> tuple[Sequence[MessageWithParts], KeptLedger | None]:
        """Return the messages that no kept ledger covers, and the newest one; all messages without one."""
        if info.revert is None:
            messages = await self.store.recent(info.id)
            part = _kept_part(messages)
            if part is not None and (kept := kept_ledger_of(part)) is not None:
                return _from(messages, part.message_id), kept
            return await self.store.tail(info.id), None
        messages = visible(await self.store.tail(info.id), info.revert)
        part = _kept_part(messages)
        kept = None if part is None else kept_ledger_of(part)
        return (messages, None) if part is None or kept is None else (_from(messages, part.message_id), kept)

    async def view(self, session_id: str) -> LedgerView:
        """Return what a compaction would keep now, also when the session's model is not configured. Raises NotFoundError."""
        info = await self.store.get(session_id)
        messages = visible(await self.recent(info), info.revert)
        asked = _newest(messages)
        if asked is None:
            return LedgerView(session_id=session_id)
        ledger = await self.read(info, self._model_of(asked), None)
        part = _kept_part(messages)
        lines = "" if part is None else part.text
        return LedgerView(
            session_id=session_id,
            entries=[one.changed(is_sent=line_of(one) in lines) for one in ledger.entries],
            removed=[one for one in ledger_edits_of(info).values() if one.text is None],
            omitted=dict(ledger.omitted),
            text=ledger.text,
            is_compacted=part is not None,
        )

    def _model_of(self, asked: UserMessage) -> Model | None:
        """Return the model whose context has to hold the ledger, None when it is not configured."""
        try:
            return self.model(asked)
        except ModelNotFoundError:
            return None

    async def recent(self, info: SessionInfo) -> list[MessageWithParts]:
        """Return the messages from the last compaction on; all while an undo is active, which may hide that compaction."""
        return await (self.store.recent(info.id) if info.revert is None else self.store.tail(info.id))

    async def kept_text(self, session_id: str) -> str:
        """Return the text that the newest compaction keeps, with the user's changes; empty without one of ours."""
        info = await self.store.get(session_id)
        _, kept = await self._kept(info)
        return "" if kept is None else edited_ledger(kept, ledger_edits_of(info)).text

    async def change(self, session_id: str, change: LedgerChange) -> LedgerView:
        """Add, replace, remove or restore an entry; the next request has it. Return the ledger.

        Raises NotFoundError for an unknown entry, SessionError for a text that is too long, BusyError while the session runs.
        """
        async with self.lock.hold(session_id):
            known = {one.id: one for one in (await self.view(session_id)).entries}
            info = await self.store.get(session_id)
            edits = _changed(ledger_edits_of(info), known, change)
            info = await self.store.update(session_id, lambda one: with_ledger_edits(one, edits), touch=False)
            await self._write_kept(info)
            await self.store.sync()
        return await self.view(session_id)

    async def _write_kept(self, info: SessionInfo) -> None:
        """Rewrite the text that the newest compaction kept, if it is one of ours."""
        part, kept = await self._kept(info)
        if part is not None and kept is not None:
            text = edited_ledger(kept, ledger_edits_of(info)).text
            await self.store.writer(part.session_id).update_part(part.changed(text=as_reminder(text) if text else ""))

    async def _kept(self, info: SessionInfo) -> tuple[TextPart | None, KeptLedger | None]:
        """Return the text that the newest compaction keeps, and its entries where it is one of ours."""
        part = _kept_part(visible(await self.recent(info), info.revert))
        return part, None if part is None else kept_ledger_of(part)


def _changed(
    edits: Mapping[str, LedgerEdit], known: Mapping[str, LedgerEntry], change: LedgerChange
) -> list[LedgerEdit]:
    """Return the user's changes with another one."""
    left, text = dict(edits), (change.text or "").strip()
    if len(text) > MOST_TEXT:
        raise SessionError(f"an entry has at most {MOST_TEXT:,} characters, this one has {len(text):,}")
    if change.id is None:
        if not text:
            raise SessionError("an entry needs a text")
        name = entry_id("note", text)
        left[name] = LedgerEdit(id=name, kind="note", text=text)
    elif change.id not in left and change.id not in known:
        raise NotFoundError(f"the ledger has no entry {change.id}; `session ledger ID` lists them")
    elif change.is_restored or (not text and change.id in left and left[change.id].kind == "note"):
        left.pop(change.id, None)
    else:
        kind = left[change.id].kind if change.id in left else known[change.id].kind
        left[change.id] = LedgerEdit(id=change.id, kind=kind, text=text or None)
    if len(left) > MOST_CHANGES:
        raise SessionError(f"a ledger has at most {MOST_CHANGES} changes; restore some of them first")
    return list(left.values())


def _newest(messages: Sequence[MessageWithParts]) -> UserMessage | None:
    return next((one.info for one in reversed(conversation(messages)) if isinstance(one.info, UserMessage)), None)


def _kept_part(messages: Sequence[MessageWithParts]) -> TextPart | None:
    """Return the part of the newest finished compaction that has its ledger; None without one."""
    sent = filter_compacted(messages)
    if not sent or compaction_of(sent[0]) is None:
        return None
    return next((part for part in sent[0].parts if isinstance(part, TextPart) and part.synthetic), None)


def _from(messages: Sequence[MessageWithParts], marker_id: str) -> Sequence[MessageWithParts]:
    """Return the messages from a marker on, with those before it that it left to be sent."""
    ids = [one.info.id for one in messages]
    at = ids.index(marker_id)
    marker = compaction_of(messages[at])
    tail_id = None if marker is None else marker.tail_id
    return messages[ids.index(tail_id) if tail_id in ids[:at] else at :]
