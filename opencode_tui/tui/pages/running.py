"""The page of what runs and waits in all folders, and of what ended since the user looked; keys answer the selected question.

What ended stays while the page is open: leaving it is the look.
"""

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.style import Style
from textual import events

from opencode_tui.schema.api.inbox import AskedSubject, Ended, InboxView, Running, State, Waiting
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.cells import breaks, clip, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.text.inbox import ENDED_STATES, STATES, line_of, silent_line
from opencode_tui.text.permission import Act, is_command, sandbox_facts, subject_of
from opencode_tui.text.quantity import age, money, plural, short_path, token_words
from opencode_tui.text.safe_text import screen_line, screen_lines
from opencode_tui.tui.dialogs.panel import Line, Panel
from opencode_tui.tui.dialogs.permission import PermissionPanel
from opencode_tui.tui.dialogs.permission_case import PermissionCase
from opencode_tui.tui.keys.keyed import KeyAction, keymap_of, moves, opens, router_of
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import WIDE, ListRow
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.session_state import HUES as ENDED_HUES
from opencode_tui.tui.state.session_state import sign_of
from opencode_tui.tui.theme.look import Glyphs
from opencode_tui.tui.widgets.row import Piece

TITLE = 28
"""Most cells of the column with the titles; in a screen of more than `WIDE` cells a quarter of the others is added, up to `SPARE`.
It is as wide as the longest title."""

FOLDER, TOKENS, COST, AGE = 30, 15, 9, 6
"""Cells of the columns at the right; only the last one below `WIDE`. For the folders as for the titles, most cells."""

SPARE = 30

STATE = max(map(cells, STATES.values()))
"""Cells of the column with the states, unless the word of one that ended needs more."""

HUES: Mapping[State, str] = {"asks": "warning", "stopped": "error", "retries": "warning", "works": "accent"}

_KEYS = {"y": "running_yes", "k": "running_yes", "n": "running_no", "r": "running_no"}
"""The actions of this page by the keys that answer the same questions in a chat: `k` and `r` move in the list here."""


_STEP = 5
_PAGES: Mapping[str, int] = {name: rows for name, rows in moves("page", _STEP).items() if abs(rows) == _STEP}
"""The actions that scroll a question, by rows."""


class _Widths(NamedTuple):
    """Cells of the columns with the states, the titles and the folders."""

    state: int
    title: int
    folder: int


class AskedPanel(Panel):
    """Questions of a tool with their options; they are answered in the session."""

    def __init__(self, request: QuestionRequest) -> None:
        super().__init__()
        self._questions = request.questions

    @property
    def answers(self) -> Sequence[KeyAction]:
        """None."""
        return ()

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return what it is."""
        return [("The agent asks", self.look.palette.style("text", "surface", bold=True))], ()

    def body(self, width: int) -> Sequence[Line]:
        """Return the questions and their options."""
        text, muted = self.look.palette.style("text", "surface"), self.look.palette.style("muted", "surface")
        lines: list[Line] = []
        for one in self._questions:
            lines += (
                [[], *self._folded(one.question, width, text)] if lines else self._folded(one.question, width, text)
            )
            for option in one.options:
                lines += self._folded(f"{self.look.glyphs.bullet} {option.label}  {option.description}", width, muted)
        return lines

    @staticmethod
    def _folded(words: str, width: int, style: Style) -> list[Line]:
        return [[(line[at:end], style)] for line in screen_lines(words.strip()) for at, end in breaks(line, width)]


class RunningScreen(ListPage):
    """The sessions that ask, were stopped or work; it reads every two seconds while it is open."""

    has_preview = False
    scopes = ("page:running", "page")
    heading = "What runs"
    every_s = 2.0

    def __init__(
        self,
        control: SessionController,
        view: InboxView,
        opened: Callable[[SessionInfo], None],
        look: Callable[[int], None],
    ) -> None:
        """`opened` shows a session; `look` records that what ended up to a moment in ms was seen."""
        super().__init__()
        self._inbox = control.client.inbox
        self._now = control.now
        self._view = view
        self._widths = _Widths(STATE, 0, 0)
        self._opened = opened
        self._look = look
        self._asking: Panel | None = None
        self._asked = ""
        """The ID of the request whose question is shown, or is being read."""
        self._answered: set[str] = set()
        """The requests that were answered here: the list that is read next may still have them."""

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected session."""
        row = self._row()
        if row is None:
            return (opens("open", self._open),) if self._chosen() is not None else ()
        actions = [opens("continue" if row.state == "stopped" else "open", self._open)]
        if row.is_reachable and row.state != "stopped":
            actions.append(KeyAction("running_stop", "stop", partial(self._stop, background=False)))
            if row.background:
                actions.append(
                    KeyAction("running_stop_all", "stop with background", partial(self._stop, background=True))
                )
        return actions

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions of the page; while a question is shown, its answers, and keys that move by pages scroll it."""
        actions = super().key_actions()
        if self._asking is None:
            return actions
        scroll = {name: partial(self._asking.scroll_by, rows) for name, rows in _PAGES.items()}
        return {**actions, **scroll, **{one.id: one.act for one in self._asking.answers}}

    @property
    def subject(self) -> object:
        """The selected session with the question that is shown."""
        return super().subject, self._asking

    def come_back(self, since: int = 0) -> None:
        """Have the question ignore keys for a while that appeared below a list."""
        if self._asking is not None:
            self._asking.restart(since)

    def receive_key(self, event: events.Key) -> None:
        """Run the action of a key; a question that has just appeared accepts no answer yet."""
        panel, found = self._asking, router_of(self).find(event.key, self)
        is_accepted = panel is None or panel.accepts_key(event)
        if is_accepted or found is None or found.id not in _KEYS.values():
            super().receive_key(event)

    def _row(self) -> Running | None:
        return next((one for one in self._view.rows if one.info.id == self.listing.chosen), None)

    def _chosen(self) -> SessionInfo | None:
        """Return the selected session."""
        infos = (one.info for one in (*self._view.rows, *self._view.ended))
        return next((info for info in infos if info.id == self.listing.chosen), None)

    def _open(self) -> None:
        info = self._chosen()
        if info is not None:
            self.close_page()
            self._opened(info)

    def close_page(self) -> None:
        """Close the page: what it lists as ended was seen."""
        if self._view.ended:
            self._look(self._view.ended[0].at)
        super().close_page()

    def on_page_list_opened(self) -> None:
        """Open the clicked session."""
        self._open()

    def on_page_list_moved(self) -> None:
        """Update the keys, the facts and the question for the selected session."""
        self.show_keys()
        self._show_question()

    def show_keys(self) -> None:
        """Draw the row of keys again; above it what the list has no space for, or the last error."""
        super().show_keys()
        row = self._row()
        if row is not None and not self.error:
            said = [] if self._asking is not None else [self.cut_words()]  # the question says it
            facts = [one for one in (*said, *_facts(row)) if one]
            self.foot.show_message(screen_line(f" {self.listing.look.glyphs.separator} ".join(facts)))

    async def load(self) -> None:
        """Read what runs."""
        self._view = await self._inbox.list()
        self.error = ""
        if self._view.silent:
            self.error = silent_line(self._view.silent[0])

    def summary(self) -> str:
        """Return how many ask, else how many there are."""
        asking = sum(row.state == "asks" for row in self._view.rows)
        counted = (
            f"{asking} {'asks' if asking == 1 else 'ask'} you" if asking else plural(len(self._view.rows), "session")
        )
        ended = f"{len(self._view.ended)} ended" if self._view.ended else ""
        return ", ".join(words for words in (counted if self._view.rows or not ended else "", ended) if words)

    def draw(self) -> None:
        """Draw the list and the question."""
        super().draw()
        self._show_question()

    def entries(self) -> Sequence[ListRow]:
        """Return a row for each session: its state, its title, what it asks or does; at the right its age, on wide screens more."""
        self._widths = self._measure()
        rows = [self._entry(row) for row in self._view.rows]
        rows = rows or [self.sentence("Nothing runs, and nothing waits for you.")]
        if self._view.ended:
            rows += [
                self.sentence(""),
                self.sentence("Ended since you looked"),
                *map(self._ended_entry, self._view.ended),
            ]
        return rows

    def _entry(self, row: Running) -> ListRow:
        look = (_sign(row.state, self.listing.look.glyphs), HUES[row.state])
        used, cost = token_words(row.totals.input + row.totals.output), money(row.totals.cost)
        said = screen_line(line_of(row, self._now()))
        return self._session_row(
            row.info, look, (STATES[row.state], said), (_folder(row), used, cost), row.info.time.updated
        )

    def _ended_entry(self, one: Ended) -> ListRow:
        glyphs = self.listing.look.glyphs
        look = (sign_of(one.state, glyphs), ENDED_HUES[one.state])
        folder = _ended_folder(one)
        words = (ENDED_STATES[one.state], screen_line(one.said))
        return self._session_row(one.info, look, words, (folder, "", money(one.cost)), one.at)

    def _measure(self) -> _Widths:
        """Return the widths for what is listed."""
        rows, ended = self._view.rows, self._view.ended
        spare = min(SPARE, max(0, self.app.size.width - WIDE) // 4)
        titles = (_title(one.info) for one in (*rows, *ended))
        folders = (screen_line(one) for one in (*map(_folder, rows), *map(_ended_folder, ended)))
        return _Widths(
            max([STATE, *(cells(ENDED_STATES[one.state]) for one in ended)]),
            min(TITLE + spare, max(map(cells, titles), default=0)),
            min(FOLDER + spare, max(map(cells, folders), default=0)),
        )

    def _session_row(
        self, info: SessionInfo, look: tuple[str, str], words: tuple[str, str], facts: tuple[str, str, str], at: int
    ) -> ListRow:
        """Return a row: a sign and its color, the state and what is said, the folder, tokens and cost, and a moment in ms."""
        widths = self._widths
        columns = [
            (f"{pad(words[0], widths.state)}  ", look[1]),
            (f"{self._column(_title(info), widths.title)}  ", "text"),
            (words[1], "muted"),
        ]
        left = self.row(info.id, look, columns).left
        shown = pad(age(at, self._now()), AGE, is_right=True)
        if self.app.size.width >= WIDE:
            folder = self._column(screen_line(facts[0]), widths.folder)
            shown = f"  {folder}{pad(facts[1], TOKENS, is_right=True)}{pad(facts[2], COST, is_right=True)}{shown}"
        return ListRow(left, lambda area: [(shown, self.style("muted", area))], info.id)

    def _column(self, text: str, width: int) -> str:
        return pad(clip(text, width, self.listing.look.glyphs.ellipsis), width)

    def _show_question(self) -> None:
        """Show the oldest question of the selected session, read before; remove another one."""
        row = self._row()
        waiting = [one for one in (row.waiting if row is not None else ()) if one.asked.id not in self._answered]
        wanted = waiting[0].asked.id if waiting else ""
        if wanted == self._asked:
            return
        self._asked = wanted
        self._remove_question()
        if row is not None and waiting:
            self.run_worker(
                partial(self._read_question, row, waiting[0]), group="ask", exclusive=True, exit_on_error=False
            )

    def _remove_question(self) -> None:
        if self._asking is not None:
            self._asking.remove()
            self._asking = None

    async def _read_question(self, row: Running, waiting: Waiting) -> None:
        asked = waiting.asked
        try:
            panel = (
                await self._permission(row, asked, waiting)
                if isinstance(asked, PermissionRequest)
                else AskedPanel(asked)
            )
        except NotFoundError:  # answered meanwhile
            return self.read_now()
        except OpencodeError as error:
            self.error, self._asked = str(error), ""
            return self.show_keys()
        if self._asked == asked.id and self.is_attached:
            panel.more_key = keymap_of(self).first(max(_PAGES, key=lambda name: _PAGES[name]))
            self._asking = panel
            await self.mount(panel, before=self.foot)
        return None

    async def _permission(self, row: Running, asked: PermissionRequest, waiting: Waiting) -> PermissionPanel:
        subject = subject_of(asked, waiting.call)
        about = AskedSubject(permission="bash" if is_command(asked) else asked.permission, subject=subject)
        reasons = await self._inbox.reasons(asked.id, about)
        case = PermissionCase(
            asked,
            Path(row.info.directory),
            report=None if sandbox_facts(asked).is_afterwards else reasons.report,
            call=waiting.call,
            agent=reasons.agent,
            places=reasons.places,
            no_sandbox=reasons.no_sandbox,
        )
        reject = partial(self._reply, asked, "reject")
        acts: Mapping[Act, Callable[[], None]] = {
            "once": partial(self._allow, asked),
            "reject": reject,
            "leave": reject,
        }
        return PermissionPanel(case, place=(1, len(row.waiting)), acts=acts, names=_KEYS, words={"reject": "reject"})

    def _allow(self, asked: PermissionRequest) -> None:
        """Allow it, if the question was shown to its end; else show more of it."""
        if self._asking is not None and not self._asking.is_read:
            self._asking.show_rest()
        else:
            self._reply(asked, "once")

    def _reply(self, asked: PermissionRequest, reply: Reply) -> None:
        self._answered.add(asked.id)
        self._remove_question()
        self._work(partial(self._send_reply, asked.id, reply))

    async def _send_reply(self, request_id: str, reply: Reply) -> str:
        return "" if await self._inbox.reply(request_id, reply) else "It was answered meanwhile elsewhere."

    def _stop(self, *, background: bool) -> None:
        row = self._row()
        if row is not None:
            self._work(partial(self._send_stop, row.info.id, background=background))

    async def _send_stop(self, session_id: str, *, background: bool) -> str:
        await self._inbox.stop(session_id, background=background)
        return ""

    def _work(self, send: Callable[[], Coroutine[object, object, str]]) -> None:
        """Send something, then read again; a message of it is shown until the next reading."""

        async def work() -> None:
            try:
                message = await send()
            except OpencodeError as error:
                message = str(error)
            await self.read()
            if message:
                self.error = message
                self.show_keys()

        self.run_worker(work, group="work", exit_on_error=False)


def _sign(state: State, glyphs: Glyphs) -> str:
    return {"asks": glyphs.asks, "stopped": glyphs.interrupted, "retries": glyphs.retried, "works": glyphs.running}[
        state
    ]


def _title(info: SessionInfo) -> str:
    return screen_line(" ".join(info.title.split())) or "(no title)"


def _folder(row: Running) -> str:
    folder = short_path(row.info.directory, os.path.expanduser("~"))
    return f"{folder} ({row.branch})" if row.branch else folder


def _ended_folder(one: Ended) -> str:
    return short_path(one.info.directory, os.path.expanduser("~"))


def _facts(row: Running) -> list[str]:
    """Return the folder, the usage, and what runs in the background of a session."""
    commands = plural(len(row.background), "background command") if row.background else ""
    unreachable = f"process {row.pid} takes no requests" if row.state != "stopped" and not row.is_reachable else ""
    used = token_words(row.totals.input + row.totals.output)
    return [one for one in (_folder(row), used, money(row.totals.cost), commands, unreachable) if one]
