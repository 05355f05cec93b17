"""Follows the engine: keeps the journals of sessions complete, and hands events to the streams.

Started by the first request to OpenCode 2's API, for all sessions of the server. A stream of one session reads its journal from
a number on, so that it misses nothing and repeats nothing; the stream of all events gets what happens from now on.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Collection, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from opencode_tui.client.client import Client
from opencode_tui.client.local import LocalClients
from opencode_tui.extras.opencode2 import entries as kinds
from opencode_tui.extras.opencode2.entries import CHOICES, OLD_ID, Entry, entries_of, is_summary, part_entries
from opencode_tui.extras.opencode2.events import created_event, durable_event, event_id, plain_event, session_data
from opencode_tui.extras.opencode2.journal import FOLDER, Journal
from opencode_tui.extras.opencode2.requests import permission_value, question_value, staged_value
from opencode_tui.extras.opencode2.schema.session import StagedRevert
from opencode_tui.schema.error import NoSuchMessageError, NotFoundError, OpencodeError
from opencode_tui.schema.event.event import (
    BusLagged,
    Envelope,
    Event,
    FileEdited,
    MessageRemoved,
    MessageUpdated,
    PartGrowth,
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    SessionCreated,
    SessionDeleted,
    SessionStatusChanged,
    SessionUpdated,
    TodoUpdated,
    session_of,
)
from opencode_tui.schema.event.folder_event import (
    FileWatcherUpdated,
    PtyCreated,
    PtyDeleted,
    PtyExited,
    PtyUpdated,
)
from opencode_tui.schema.ids import is_identifier, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import ReasoningPart, TextPart
from opencode_tui.schema.session.session import IdleStatus, SessionInfo
from opencode_tui.schema.totals import SessionTotals

QUEUE_LIMIT = 16 * 1024 * 1024
"""Most bytes in the queue of one stream of all events; a slower client is cut off."""

_NEWEST = 50
"""How many messages are read first to find one: most events are about the newest."""

_logger = logging.getLogger(__name__)


class EventQueue:
    """The events for one stream of all events, as lines of JSON."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self.is_closed = False

    def put(self, line: bytes) -> None:
        """Add an event; one too many closes the queue."""
        self._lines.append(line)
        self._size += len(line)
        if self._size > QUEUE_LIMIT:
            self._lines.clear()
            self.is_closed = True
        self._news.set()

    def close(self) -> None:
        """End the stream after what is queued."""
        self.is_closed = True
        self._news.set()

    async def read(self, timeout: float) -> list[bytes]:
        """Wait for events and return them; none after `timeout` seconds, and at the end."""
        if not self._lines and not self.is_closed:
            self._news.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._news.wait()
            except TimeoutError:
                return []
        lines = list(self._lines)
        self._lines.clear()
        self._size = 0
        return lines


class Feed:
    """The journals and the streams of one server."""

    def __init__(self, clients: LocalClients) -> None:
        self._clients = clients
        self._folder: Path = clients.data_folder / FOLDER
        self._journals: dict[str, Journal] = {}
        self._queues: list[EventQueue] = []
        self._totals: dict[str, tuple[int, SessionTotals]] = {}
        self._events = clients.events()
        self._task = asyncio.create_task(self._follow(), name="opencode 2 feed")
        self.is_closed = False

    async def close(self) -> None:
        """End all streams, after the events that the engine has published."""
        while (envelope := self._events.poll()) is not None:
            await self._apply_safely(envelope)
        self.is_closed = True
        for queue in self._queues:
            queue.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._events.close()

    @contextmanager
    def listen(self) -> Generator[EventQueue]:
        """Return the events of all sessions and folders from now on."""
        queue = EventQueue()
        self._queues.append(queue)
        try:
            yield queue
        finally:
            self._queues.remove(queue)

    def greeting(self) -> bytes:
        """Return the first event of a stream of all events."""
        return encode(plain_event("server.connected", {}, system_clock()))

    def peek(self, session_id: str) -> Journal:
        """Return the journal of a session as far as it was read."""
        journal = self._journals.get(session_id)
        if journal is None:
            journal = self._journals[session_id] = Journal(self._folder, session_id)
        return journal

    async def known(self, session_id: str) -> Journal:
        """Return the journal of a session as its file was when it was read first: for its choices of agent and model."""
        async with self._changing(session_id) as journal:
            return journal

    @asynccontextmanager
    async def _changing(self, session_id: str) -> AsyncGenerator[Journal]:
        """Yield the journal of a session, read once; nothing else changes it inside the context."""
        journal = self.peek(session_id)
        async with journal.lock:
            await journal.load_once()
            yield journal

    async def totals(self, client: Client, info: SessionInfo) -> SessionTotals:
        """Return what a session used; that of an idle one is read once until its next prompt."""
        known = self._totals.get(info.id)
        is_running = info.id in await client.prompts.status()
        if known is not None and known[0] == info.time.updated and not is_running:
            return known[1]
        totals = await client.sessions.totals(info.id)
        if not is_running:
            self._totals[info.id] = (info.time.updated, totals)
        return totals

    async def journal(self, client: Client, session_id: str) -> Journal:
        """Return the journal of a session, completed from its records."""
        async with self._changing(session_id) as journal:
            await self._complete(client, journal)
            return journal

    async def admitted(self, client: Client, session_id: str, message_id: str) -> tuple[int, Entry, MessageWithParts]:
        """Return the number and the entry of a stored prompt, and its message. Raises NoSuchMessageError."""
        async with self._changing(session_id) as journal:
            message = await client.messages.get(session_id, message_id)
            entry = next((one for one in entries_of(message) if one.kind == kinds.ADMITTED), None)
            if entry is None:
                raise NoSuchMessageError(f"message {message_id} is no prompt")
            journal.fresh.pop(message_id, None)
            await self._extend(client, journal, [entry])
            number = journal.number(entry)
        assert number is not None
        return number, entry, message

    async def choose(self, client: Client, session_id: str, entry: Entry) -> None:
        """Append a choice of the user."""
        async with self._changing(session_id) as journal:
            await self._extend(client, journal, [entry])

    async def render(self, client: Client, journal: Journal, after: int, limit: int | None = None) -> list[JsonObject]:
        """Return the events with greater numbers, with the content of the records."""
        wanted = journal.after(after)[:limit]
        if not wanted:
            return []
        revert = await _undo_of(client, journal.session_id, [entry for _, entry in wanted])
        messages = await find_messages(client, journal.session_id, _names(wanted))
        return [
            durable_event(entry, seq, journal.session_id, messages.get, journal.ids, revert) for seq, entry in wanted
        ]

    def publish(self, event: JsonObject) -> None:
        """Send an event to all streams of all events."""
        if self._queues:
            line = encode(event)
            for queue in self._queues:
                queue.put(line)

    def publish_event(self, directory: str, event: Event) -> None:
        """Send an event that no journal has, if OpenCode 2 has such an event."""
        if (shaped := _once(event)) is not None:
            self.publish(plain_event(shaped[0], shaped[1], system_clock(), directory))

    async def _follow(self) -> None:
        async for envelope in self._events:
            await self._apply_safely(envelope)

    async def _apply_safely(self, envelope: Envelope) -> None:
        try:
            await self._apply(envelope.directory, envelope.event)
        except (OpencodeError, OSError) as error:  # the next event, or the next request, completes the journal
            _logger.warning("an event %s is not in a journal (%s)", type(envelope.event).__name__, error)
        except Exception:
            _logger.exception("an event %s could not be sent", type(envelope.event).__name__)

    async def _apply(self, directory: str, event: Event) -> None:
        match event:
            case BusLagged():
                self._journals = {name: one for name, one in self._journals.items() if one.lock.locked()}
                for queue in self._queues:
                    queue.close()
            case SessionDeleted():
                self.publish(plain_event("session.deleted", session_data(event.info), system_clock(), directory))
                if (journal := self._journals.pop(event.info.id, None)) is not None:
                    async with journal.lock:
                        await journal.delete()
            case SessionCreated():
                self.publish(created_event(event.info))
            case PartGrowth():
                self._publish_growth(directory, event)
            case _:
                self.publish_event(directory, event)
                session_id = session_of(event)
                if session_id and is_identifier(session_id, "ses") and isinstance(event, _TRACKED):
                    await self._track(directory, session_id, event)

    async def _track(self, directory: str, session_id: str, event: Event) -> None:
        client = await self._clients.at(directory or None)
        async with self._changing(session_id) as journal:
            await self._enter(client, journal, event)

    async def _enter(self, client: Client, journal: Journal, event: Event) -> None:
        now = system_clock()
        match event:
            case MessageUpdated(info=UserMessage() as user):
                is_known = any((kind, user.id, "") in journal for kind in _OF_USER)
                if not is_known and user.id not in journal.ids:
                    journal.fresh[user.id] = user
            case MessageUpdated(info=AssistantMessage() as answer):
                if answer.id not in journal.assistants:
                    journal.assistants.add(answer.id)
                    await self._read_prompts(client, journal, is_step=not answer.summary)
                if answer.time.completed is not None:
                    whole = await _find(client, journal.session_id, answer.id)
                    if whole is not None:
                        await self._extend(client, journal, entries_of(whole, now), whole)
            case PartUpdated():
                part = event.part
                if isinstance(part, TextPart | ReasoningPart):
                    journal.texts[part.id] = part.type
                if part.message_id in journal.assistants:
                    await self._enter_part(client, journal, part.message_id, list(part_entries(part, now)))
            case SessionStatusChanged():
                await self._read_prompts(client, journal, is_step=not isinstance(event.status, IdleStatus))
            case MessageRemoved():
                await self._enter_removal(client, journal, event.message_id)
            case SessionUpdated():
                await self._enter_undo(client, journal, event.info)
            case _:
                pass

    async def _enter_part(self, client: Client, journal: Journal, message_id: str, entries: Sequence[Entry]) -> None:
        if not entries and (kinds.STEP_STARTED, message_id, "") in journal:
            return
        if all(entry.key in journal for entry in entries) and (kinds.STEP_STARTED, message_id, "") in journal:
            return
        message = await _find(client, journal.session_id, message_id)
        if message is not None and not is_summary(message.info):
            start = Entry(kinds.STEP_STARTED, message.info.time.created, message_id)
            await self._extend(client, journal, [start, *entries], message)

    async def _enter_removal(self, client: Client, journal: Journal, message_id: str) -> None:
        """A queued prompt is stored again under another ID when its turn comes, then the old record is removed."""
        journal.fresh.pop(message_id, None)
        if message_id in journal.waiting and journal.fresh:
            await self._enter_release(client, journal, message_id, next(reversed(journal.fresh)))

    async def _enter_release(self, client: Client, journal: Journal, old_id: str, new_id: str) -> None:
        message = await _find(client, journal.session_id, new_id)
        journal.fresh.pop(new_id, None)
        if message is not None:
            released = Entry(kinds.PROMPTED, message.info.time.created, new_id, data={OLD_ID: old_id})
            await self._extend(client, journal, [released], message)

    async def _enter_undo(self, client: Client, journal: Journal, info: SessionInfo) -> None:
        staged, is_removed = journal.staged, False
        if info.revert is None:
            if staged is None:
                return
            is_removed = await _find(client, info.id, staged.message) is None
        await self._extend(client, journal, journal.state_of_undo(info.revert, is_removed))

    async def _read_prompts(self, client: Client, journal: Journal, *, is_step: bool) -> None:
        """Enter the prompts that are new; with `is_step` a step reads all that do not wait for the end of a turn."""
        for user in list(journal.fresh.values()):
            message = await _find(client, journal.session_id, user.id)
            journal.fresh.pop(user.id, None)
            if message is not None:
                await self._extend(client, journal, entries_of(message), message)
        if not is_step:
            return
        for message_id in journal.waiting:
            message = await _find(client, journal.session_id, message_id)
            if message is not None and not is_waiting(message.info):
                read = Entry(kinds.PROMPTED, message.info.time.created, message_id)
                await self._extend(client, journal, [read], message)

    async def _complete(self, client: Client, journal: Journal) -> None:
        """Enter what the records have and the journal has not: of former processes, other ones, and of before the first request."""
        info = await client.sessions.get(journal.session_id)
        messages = await client.messages.list(journal.session_id)
        await journal.load()
        await self._extend(client, journal, await asyncio.to_thread(missing_entries, journal, messages))
        journal.assistants.update(one.info.id for one in messages if isinstance(one.info, AssistantMessage))
        is_removed = journal.staged is not None and all(one.info.id != journal.staged.message for one in messages)
        await self._extend(client, journal, journal.state_of_undo(info.revert, is_removed))

    async def _extend(
        self, client: Client, journal: Journal, entries: "Iterator[Entry] | Sequence[Entry]", *known: MessageWithParts
    ) -> None:
        """Append entries, then send their events."""
        added = await journal.extend(entries)
        for one in (entry.message for _, entry in added):
            journal.fresh.pop(one, None)
        if not added or not self._queues:
            return
        info = await client.sessions.get(journal.session_id)
        revert = await _undo_of(client, journal.session_id, [entry for _, entry in added])
        found = {one.info.id: one for one in known}
        if missing := _names(added) - found.keys():
            found |= await find_messages(client, journal.session_id, missing)
        for seq, entry in added:
            event = durable_event(entry, seq, journal.session_id, found.get, journal.ids, revert)
            self.publish({**event, "location": {"directory": info.directory}})

    def _publish_growth(self, directory: str, event: PartGrowth) -> None:
        journal = self._journals.get(event.session_id)
        kind = None if journal is None else journal.texts.get(event.part_id)
        if not self._queues or kind is None:
            return
        now = system_clock()
        data = {
            "timestamp": now,
            "sessionID": event.session_id,
            "assistantMessageID": event.message_id,
            f"{kind}ID": event.part_id,
            "delta": event.delta,
        }
        self.publish(
            {
                "id": event_id(now, event.part_id, event.delta),
                "type": f"{kinds.PREFIX}{kind}.delta",
                "location": {"directory": directory},
                "data": data,
            }
        )


_OF_USER = (kinds.ADMITTED, kinds.SYNTHETIC, kinds.COMPACTION_STARTED, kinds.PROMPTED)
_TRACKED = (MessageUpdated, PartUpdated, SessionStatusChanged, MessageRemoved, SessionUpdated)


def missing_entries(journal: Journal, messages: Sequence[MessageWithParts]) -> list[Entry]:
    """Return the entries of a session's records, oldest first, where the journal may lack some.

    A prompt is read when an answer follows. One that is new, while the record of one that waited is gone, is that one.
    """
    found: list[Entry] = []
    stored = {one.info.id for one in messages}
    gone = [name for name in journal.waiting if name not in stored]
    unread: list[Entry] = []
    for message in messages:
        info = message.info
        if isinstance(info, AssistantMessage):
            if not info.summary:
                found += unread
                unread = []
            found += entries_of(message)
            continue
        if info.id in journal.ids:
            continue
        entries = list(entries_of(message))
        is_new = all(entry.key not in journal for entry in entries)
        if is_new and gone and entries and entries[0].kind == kinds.ADMITTED and not is_waiting(info):
            found.append(Entry(kinds.PROMPTED, info.time.created, info.id, data={OLD_ID: gone.pop(0)}))
            continue
        found += entries
        if any(entry.kind == kinds.ADMITTED for entry in entries) and not is_waiting(info):
            unread.append(Entry(kinds.PROMPTED, info.time.created, info.id))
    return found


def encode(event: JsonObject) -> bytes:
    """Return an event as one line of JSON."""
    return json.dumps(event, separators=(",", ":")).encode()


def _names(numbered: Sequence[tuple[int, Entry]]) -> set[str]:
    """Return the messages that entries are about."""
    names = {entry.message for _, entry in numbered if entry.kind not in CHOICES}
    return names | {entry.part for _, entry in numbered if entry.kind == kinds.COMPACTION_ENDED}


async def _undo_of(client: Client, session_id: str, entries: Sequence[Entry]) -> StagedRevert | None:
    """Return the session's undo if an entry is about one."""
    if all(entry.kind != kinds.STAGED for entry in entries):
        return None
    return await staged_value(client, await client.sessions.get(session_id))


async def find_messages(client: Client, session_id: str, names: Collection[str]) -> dict[str, MessageWithParts]:
    """Return these messages of a session by their IDs, without those that are gone; most are among the newest ones."""
    wanted = set(names)
    for limit in (_NEWEST, None):
        try:
            listed = await client.messages.list(session_id, limit)
        except NotFoundError:
            return {}
        found = {one.info.id: one for one in listed if one.info.id in wanted}
        if len(found) == len(wanted) or (limit is not None and len(listed) < limit):
            return found
    return found


async def _find(client: Client, session_id: str, message_id: str) -> MessageWithParts | None:
    return (await find_messages(client, session_id, (message_id,))).get(message_id)


def _once(event: Event) -> tuple[str, JsonObject] | None:
    """Return the type and the data of an event that no journal has."""
    match event:
        case PermissionAsked():
            return "permission.v2.asked", permission_value(event).to_dict()
        case PermissionReplied():
            reply = {"sessionID": event.session_id, "requestID": event.request_id, "reply": event.reply}
            return "permission.v2.replied", reply
        case QuestionAsked():
            return "question.v2.asked", question_value(event).to_dict()
        case QuestionReplied():
            answers = {"sessionID": event.session_id, "requestID": event.request_id, "answers": event.answers}
            return "question.v2.replied", answers
        case QuestionRejected():
            return "question.v2.rejected", {"sessionID": event.session_id, "requestID": event.request_id}
        case TodoUpdated():
            todos = [{name: getattr(one, name) for name in ("content", "status", "priority")} for one in event.todos]
            return "todo.updated", {"sessionID": event.session_id, "todos": todos}
        case FileEdited():
            return "file.edited", {"file": event.file}
        case FileWatcherUpdated():
            return "file.watcher.updated", {"file": event.file, "event": event.event}
        case PtyCreated() | PtyUpdated():
            return event.type, {"info": event.info.to_dict()}
        case PtyExited():
            return event.type, {"id": event.id, "exitCode": max(0, event.exit_code)}
        case PtyDeleted():
            return event.type, {"id": event.id}
        case SessionUpdated():
            return "session.updated", session_data(event.info)
        case _:
            return None
