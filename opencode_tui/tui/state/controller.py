"""Controls the shown session: loads it, applies events, and follows what other processes do with it."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opencode_tui.client.client import Client
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import BusyError, NotFoundError, OpencodeError
from opencode_tui.schema.event.event import BusLagged, Event, PartGrowth, PartUpdated, SessionUpdated
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.permission import APPROVALS, Approvals, PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage, is_waiting
from opencode_tui.schema.session.session import APPROVALS_KEY, SessionInfo
from opencode_tui.text.language import RUN
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.undo import stored_report, undone_files
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.state.folder import Asking, FolderState
from opencode_tui.tui.state.message import ToolItem
from opencode_tui.tui.state.model_selection import ModelSelection
from opencode_tui.tui.state.session_facts import SessionFacts, is_left_open
from opencode_tui.tui.state.transcript import Transcript
from opencode_tui.tui.state.waiting_requests import WaitingRequests

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import UndoFiles

END = 200
"""Messages of a longer session that are read when it is shown; the older ones when something needs them."""

LOOK_S = 1.0
"""Seconds between two checks whether another process has released the shown session."""


class SessionController:
    """The shown session and its state. `opened` is called when another conversation must be shown.

    `lagged` is called when events were lost, with a sentence about it or nothing; `requested` with a request of a client to
    the screen.
    """

    def __init__(
        self,
        client: Client,
        *,
        opened: Callable[[], None],
        lagged: Callable[[str], None],
        requested: Callable[[ScreenEvent], None],
        clock: Callable[[], float],
    ) -> None:
        self.client = client
        self._clock = clock
        self.folder = FolderState()
        self.choice = ModelSelection(client)
        self.facts: SessionFacts | None = None
        self.transcript = Transcript()
        self.approvals: Approvals = "normal"
        """The mode of the shown session, and of the next new one."""
        self.default_approvals: Approvals = "normal"
        self.waiting = WaitingRequests()
        self.is_alone = True
        """Whether the engine runs in this process: changes by other processes cause no events."""
        self.is_elsewhere = False
        """Whether another process runs the shown session; its changes are shown when it finishes."""
        self._is_urgent = False
        self._readings: list[list[Event]] = []
        """For each running load, the events since it started."""
        self._folder_reading = asyncio.Lock()
        self.is_whole = True
        """Whether all messages of the shown session are in the transcript, not only its end."""
        self._whole_reading = asyncio.Lock()
        self._opened = opened
        self._lagged = lagged
        self._requested = requested

    @property
    def session_id(self) -> str | None:
        """The shown session; None before its first request."""
        return self.facts.info.id if self.facts else None

    @property
    def is_busy(self) -> bool:
        """Whether a run works on the shown session."""
        return self.session_id is not None and self.folder.is_busy(self.session_id)

    @property
    def subagent(self) -> str:
        """The subagent whose session is shown, which the next request is for too; empty without one, or if it is unknown now."""
        facts = self.facts
        return (
            facts.agent if facts is not None and facts.info.parent_id and facts.agent in self.choice.subagents else ""
        )

    @property
    def agent(self) -> str | None:
        """The agent of the next request: what a subagent may do in its session, you cannot change by a prompt there."""
        return self.subagent or self.choice.agent

    @property
    def can_continue(self) -> bool:
        """Whether the shown session waits since the process of its last turn ended, and takes a prompt here."""
        facts = self.facts
        is_here = facts is not None and not facts.info.parent_id and not self.is_busy and not self.is_elsewhere
        return is_here and facts is not None and facts.killed_at > 0

    def now(self) -> int:
        """Return the time in ms since 1970."""
        return int(self._clock() * 1000)

    def questions(self) -> Sequence[Asking]:
        """Return the open questions of the shown session and of its subagent sessions, in the order of their calls."""
        if self.session_id is None or not self.folder.asking:
            return ()
        family = self.folder.family(self.session_id)
        found = [one for one in self.folder.asking.values() if one.session_id in family]
        return sorted(found, key=self._place) if len(found) > 1 else found

    def _place(self, request: Asking) -> int:
        """Return where the call of a question is in the conversation; questions of other sessions come last."""
        ref = request.tool
        if ref is None or request.session_id != self.session_id:
            return len(self.transcript.items)
        calls = (item for item in reversed(self.transcript.items) if isinstance(item, ToolItem))
        found = (item.at for item in calls if (item.message_id, item.part.call_id) == (ref.message_id, ref.call_id))
        return next(found, len(self.transcript.items))

    def waiting_elsewhere(self) -> int:
        """Return how many sessions other than the shown one and its subagent sessions need an answer."""
        shown = self.folder.family(self.session_id) if self.session_id is not None else set[str]()
        return len({one.session_id for one in self.folder.asking.values()} - shown)

    async def start(self, options: StartOptions) -> None:
        """Load the folder and open the requested session. Raises OpencodeError."""
        self.is_alone = options.server is None
        await self.load(options)
        if options.session_id:
            await self.open(options.session_id)
        elif options.is_continued and (latest := await self.client.sessions.latest()):
            await self.open(latest.id)

    async def load(self, options: StartOptions) -> None:
        """Read the folder's sessions and settings. Raises OpencodeError."""
        await self._read_folder()
        await self.choice.load(options.model, options.agent, options.variant)

    async def open(self, session_id: str) -> None:
        """Show a session; events that arrive while it is read are applied afterwards. Raises NotFoundError."""
        with self._gathered() as came:
            await self._open(session_id)
        if self.session_id == session_id:
            for event in came:
                self._apply(_as_a_whole(event))

    @contextmanager
    def _gathered(self) -> Generator[Sequence[Event]]:
        """Yield the list of events that arrive inside the block; data that is read inside it may be older than they are."""
        came: list[Event] = []
        self._readings.append(came)
        try:
            yield came
        finally:
            self._readings.remove(came)

    async def _read_folder(self) -> None:
        """Read the folder's sessions, one call at a time, so that no older list replaces a newer one."""
        async with self._folder_reading:
            with self._gathered() as came:
                await self.folder.load(self.client, self.now())
            for event in came:
                self.folder.apply(event, self.now())

    async def _open(self, session_id: str) -> None:
        info, messages, is_whole = await self._read_end(session_id)
        self.is_elsewhere = False
        if is_left_open([one for one in messages if not is_waiting(one.info)]) and not self.folder.is_busy(session_id):
            self.is_elsewhere = not await self._repair(session_id)
            info, messages, is_whole = await self._read_end(session_id)
        todos = await self.client.sessions.todos(session_id)
        diffs = await self.client.sessions.diff(session_id)
        self.transcript, self.is_whole = Transcript(session_id), is_whole
        self.facts = self._load(info, messages)
        self.facts.todos, self.facts.diffs = todos, diffs
        self._follow_approvals(info)
        self._show_undone(info)
        self._opened()

    async def _read_end(self, session_id: str) -> tuple[SessionInfo, Sequence[MessageWithParts], bool]:
        """Return a session, its newest messages as whole turns, and whether these are all of them; an active undo is in them."""
        info = await self.client.sessions.get(session_id)
        messages = await self.client.messages.list(session_id, END + 1)
        if len(messages) <= END:
            return info, messages, True
        begin = next((at for at, one in enumerate(messages) if isinstance(one.info, UserMessage)), None)
        newest = messages[begin:] if begin is not None else ()
        undone_from = info.revert.message_id if info.revert is not None else None
        if newest and (undone_from is None or any(one.info.id == undone_from for one in newest)):
            return info, newest, False
        return info, await self.client.messages.list(session_id), True

    def _load(self, info: SessionInfo, messages: Sequence[MessageWithParts]) -> SessionFacts:
        """Put messages into the transcript; return the facts of them."""
        shown = self.waiting.load(messages)
        facts = SessionFacts(info)
        facts.load(shown, is_busy=self.folder.is_busy(info.id))
        self.choice.follow(shown)
        requests = [one for one in self.folder.asking.values() if isinstance(one, PermissionRequest)]
        self.transcript.load(shown, session=info, status=self.folder.status(info.id), requests=requests)
        return facts

    async def load_whole(self) -> None:
        """Read all messages of the shown session if only its end is shown; the screen keeps its position. Raises OpencodeError."""
        async with self._whole_reading:
            transcript, facts = self.transcript, self.facts
            if self.is_whole or facts is None:
                return
            with self._gathered() as came:
                messages = await self.client.messages.list(facts.info.id)
            if self.transcript is not transcript or self.facts is None:
                return  # another session is shown
            whole = self._load(self.facts.info, messages)
            whole.todos, whole.diffs = self.facts.todos, self.facts.diffs
            self.facts, self.is_whole = whole, True
            for event in came:
                self._apply(_as_a_whole(event))
            self._show_undone(whole.info)

    async def add_older_cost(self) -> None:
        """Add the cost of the messages that are not read to that of the shown session. Raises OpencodeError."""
        facts, cost = self.facts, None
        while facts is not None and not self.is_whole and facts is self.facts and cost != facts.read_cost:
            cost = facts.read_cost
            total = await self.client.sessions.cost(facts.info.id)
            if cost == facts.read_cost:  # no step ended meanwhile
                facts.older_cost = max(0.0, total - cost)

    async def _repair(self, session_id: str) -> bool:
        """Close records that a killed process left open; return False if a live process runs the session."""
        try:
            await self.client.undo.recover(session_id)
        except BusyError:
            return False
        return True

    async def reload_if_changed(self) -> None:
        """Show what another process changed in the shown session; checks its lock first."""
        session_id = self.session_id
        if session_id is None or self.is_busy or self.is_elsewhere:
            return
        is_free = await self._repair(session_id)
        newest = (await self.client.messages.list(session_id, 1))[-1:]
        is_known = all(
            one.info.id in self.waiting.ids or any(item.message_id == one.info.id for item in self.transcript.items)
            for one in newest
        )
        if session_id == self.session_id and not self.is_busy and not (is_free and is_known):
            await self.open(session_id)

    async def follow_elsewhere(self) -> None:
        """Reload the session when the other process has released it."""
        session_id = self.session_id
        while self.is_elsewhere and session_id is not None and session_id == self.session_id:
            await asyncio.sleep(LOOK_S)
            if session_id == self.session_id and await self._repair(session_id):
                await self.open(session_id)

    def knows(self, message_id: str) -> bool:
        """Return whether a message of the shown session is not among those that are not read yet."""
        return self.is_whole or self.transcript.has_message(message_id)

    def leave(self) -> None:
        """Show an empty conversation; its session is created with the first request."""
        self.facts, self.transcript, self.is_elsewhere, self.is_whole = None, Transcript(), False, True
        self.waiting = WaitingRequests()
        self._opened()

    def apply(self, event: Event) -> None:
        """Apply an event of the folder."""
        if isinstance(event, BusLagged):
            self._lagged(event.reason)
            return
        if isinstance(event, ScreenEvent):
            self._requested(event)
            return
        for came in self._readings:
            came.append(event)
        if isinstance(event, PartGrowth):  # most events: a text that is shown grows, and nothing else
            if self.facts is not None:
                self.facts.grown += len(event.delta) if event.session_id == self.facts.info.id else 0
                self.transcript.apply(event)
            return
        if self.folder.apply(event, self.now()):
            self._is_urgent = True
        self._apply(event)

    def _apply(self, event: Event) -> None:
        if self.facts is not None and not self.waiting.apply(event, self.facts.info.id):
            self.facts.apply(event)
            self.transcript.apply(event)
            if isinstance(event, SessionUpdated) and event.info.id == self.facts.info.id:
                if event.info.revert is not None and not self.knows(event.info.revert.message_id):
                    self._lagged("")  # reads the session again, with what the undo goes back to
                self._follow_approvals(event.info)
                self._show_undone(event.info)

    def _show_undone(self, info: SessionInfo) -> None:
        """Show in the chat the effects of the active undo on files."""
        report = stored_report(info)
        if report is not None and report.scope is not None:
            self.show_undone(report.scope.message_id, report)

    def show_undone(self, message_id: str, report: "UndoFiles") -> None:
        """Show in the chat what an undo back to a message did with the files."""
        files = undone_files(report, self.client.directory, now=self.now())
        self.transcript.show_undone(message_id, files, screen_line(report.unavailable or ""))

    async def read_languages(self) -> None:
        """Read the state of the language servers, after one of them changed."""
        self.folder.is_languages_changed = False
        try:
            states = await self.client.languages.servers()
        except OpencodeError:  # the next change tries again
            return
        self.folder.languages = [one for one in states if one.status in RUN]

    async def measure_context(self) -> None:
        """Let the engine measure the next request after pruning or an undo, as the context page does."""
        facts = self.facts
        if facts is None or not facts.is_context_changed:
            return
        facts.is_context_changed = False
        try:
            view = await self.client.context.items(facts.info.id)
        except OpencodeError:  # without the session's model or agent the figure stays the estimate of its last response
            return
        if not facts.is_context_changed and not self.is_busy:
            facts.set_context(view.tokens)
            self.transcript.measure_context(view.tokens)

    def pop_urgent(self) -> bool:
        """Return whether an urgent event arrived since the last call."""
        found, self._is_urgent = self._is_urgent, False
        return found

    async def reload(self) -> None:
        """Reload everything after lost events. If the shown session was deleted, show an empty conversation."""
        await self._read_folder()
        if self.session_id is None:
            self._opened()
            return
        try:
            await self.open(self.session_id)
        except NotFoundError:
            self.leave()

    def span(self, message_ids: Sequence[str], turns: int) -> str:
        """Return `1 turn · 12:04 to 12:06` for messages of the shown session."""
        return self.facts.span(message_ids, turns, self.now()) if self.facts is not None else ""

    async def cycle_approvals(self) -> Approvals:
        """Change the mode of approvals to the next one, for the shown session and new ones, and return it."""
        return await self.set_approvals(APPROVALS[(APPROVALS.index(self.approvals) + 1) % len(APPROVALS)])

    async def set_approvals(self, mode: Approvals) -> Approvals:
        """Change the mode of approvals, for the shown session and new ones, and return it."""
        self.approvals = mode
        if self.session_id is not None:
            await self.client.permissions.set_approvals(self.session_id, self.approvals)
        return self.approvals

    def _follow_approvals(self, info: SessionInfo) -> None:
        """Show the mode of a session."""
        found = (info.metadata or {}).get(APPROVALS_KEY)
        self.approvals = APPROVALS[APPROVALS.index(found)] if found in APPROVALS else self.default_approvals

    async def session(self) -> SessionInfo:
        """Return the shown session; create it if there is none. Raises OpencodeError."""
        if self.facts is None:
            info = await self.client.sessions.create(CreateSession())
            if self.approvals != self.default_approvals:
                await self.client.permissions.set_approvals(info.id, self.approvals)
            self.facts, self.transcript, self.is_whole = SessionFacts(info), Transcript(info.id), True
            self.waiting = WaitingRequests()
            self._opened()
        return self.facts.info


def _as_a_whole(event: Event) -> Event:
    """Return an idempotent form of an event: the part's current record instead of appended text."""
    return PartUpdated(part=event.record()) if isinstance(event, PartGrowth) else event
