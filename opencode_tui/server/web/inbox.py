"""The small page for phones: what runs, waits and ended in all folders, with questions, answers, changes and a stop; no terminal.

    GET  /web/inbox                   the page
    GET  /web/inbox/list              what runs, waits, was stopped, or ended since the user looked
    GET  /web/inbox/changes?session=  the changes of a session, as diffs
    POST /web/inbox/act               {ticket, act, id, message?, answers?, until?} → {done}

Reading needs the cookie, as all of `/web/`. An action also needs a ticket that was not used (`access.py`), which only a page of
this origin gets: no other page can act, and no request acts twice.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from opencode_tui.schema.api.inbox import AskedReasons, AskedSubject, Ended, Running, Waiting
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.ids import is_identifier
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.diff_rows import unified
from opencode_tui.text.inbox import ENDED_STATES, STATES, line_of
from opencode_tui.text.permission import (
    Choice,
    choices_of,
    is_command,
    lost_lines,
    reasons_of,
    sandbox_facts,
    subject_of,
    title_of,
)
from opencode_tui.text.quantity import age, money, short_path, token_words
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

_ANSWERS = ("once", "reject", "leave")
"""Acts of a question that the page has; those that change rules are chosen where the rule is shown."""

_KNOWN = 200
"""Questions whose reasons are kept."""

_DIFF_CHARACTERS = 200_000


class Act(Struct, frozen=True):
    """An action of the page: an answer to the request, or a stop of the session `id`.

    "look" says that the user has seen all that ended up to `until`, in ms.
    """

    ticket: str
    act: Literal["once", "reject", "answer", "stop", "look"]
    id: str = ""
    message: str | None = None
    answers: list[list[str]] | None = None
    until: int = 0


class Line(Struct, frozen=True):
    """A button of a permission request: the action that it sends, and its words."""

    act: str
    words: str


class Option(Struct, frozen=True):
    """A suggested answer."""

    label: str
    description: str


class Ask(Struct, frozen=True):
    """A question of a tool."""

    text: str
    options: Sequence[Option]
    is_multiple: bool


class Shown(Struct, frozen=True):
    """What waits for the user, as texts: a permission request with its `buttons`, or the questions `asks`."""

    id: str
    title: str
    subject: str = ""
    why: Sequence[str] = ()
    diff: str = ""
    buttons: Sequence[Line] = ()
    asks: Sequence[Ask] = ()


class Row(Struct, frozen=True):
    """One session, as texts."""

    id: str
    title: str
    state: str
    words: str
    place: str
    line: str
    facts: str
    can_stop: bool
    waiting: Sequence[Shown]


class Listing(Struct, frozen=True):
    """All sessions, what needs the user first; `silent` is how many processes do not respond.

    `ended` are those that ended since the user looked, the newest first: at `until`, in ms.
    """

    rows: Sequence[Row]
    silent: int
    ended: Sequence[Row]
    until: int


class InboxPage:
    """What the routes of the page return. `find_client` returns the client of the server's own folder."""

    def __init__(self, find_client: "Callable[[], Awaitable[Client]]", home: str) -> None:
        self._find_client = find_client
        self._home = home
        self._reasons: dict[str, AskedReasons] = {}

    async def list(self) -> Listing:
        """Return what runs, waits, was stopped or ended. Raises StorageError."""
        client = await self._find_client()
        view = await client.inbox.list()
        rows, ended = [await self._row(client, row) for row in view.rows], [self._ended_row(one) for one in view.ended]
        return Listing(rows, len(view.silent), ended, view.ended[0].at if view.ended else 0)

    async def changes(self, session_id: str) -> str:
        """Return the changes of a session as diffs. Raises NotFoundError."""
        if not is_identifier(session_id, "ses"):
            raise NotFoundError(f"there is no session {make_safe(session_id)!r}")
        client = await self._find_client()
        diffs = await client.sessions.diff(session_id)
        text = await asyncio.to_thread(lambda: make_safe("\n\n".join(map(_file_text, diffs)), multiline=True))
        return text if len(text) <= _DIFF_CHARACTERS else f"{text[:_DIFF_CHARACTERS]}\n… (cut)"

    async def act(self, act: Act) -> bool:
        """Answer or stop; return whether it had an effect. Raises NotFoundError, BusyError."""
        inbox = (await self._find_client()).inbox
        match act.act:
            case "stop":
                await inbox.stop(act.id, background=True)
                return True
            case "look":
                await inbox.look(until=act.until)
                return True
            case "answer":
                return await inbox.answer(act.id, act.answers or [])
            case "once" | "reject":
                return await inbox.reply(act.id, act.act, (act.message or "").strip() or None)

    async def _row(self, client: "Client", row: Running) -> Row:
        now, info = int(time.time() * 1000), row.info
        branch = f" ({row.branch})" if row.branch else ""
        used = row.totals.input + row.totals.output + row.totals.cached
        facts = [token_words(used), money(row.totals.cost) if row.totals.cost else "", age(info.time.updated, now)]
        return Row(
            id=info.id,
            title=make_safe(info.title),
            state=row.state,
            words=STATES[row.state],
            place=make_safe(f"{short_path(info.directory, self._home)}{branch}"),
            line="" if row.waiting else make_safe(line_of(row, now)),
            facts=", ".join(filter(None, facts)),
            can_stop=row.is_reachable and row.state != "stopped",
            waiting=[shown for one in row.waiting if (shown := await self._shown(client, row, one)) is not None],
        )

    def _ended_row(self, one: Ended) -> Row:
        when = age(one.at, int(time.time() * 1000))
        return Row(
            id=one.info.id,
            title=make_safe(one.info.title),
            state=one.state,
            words=ENDED_STATES[one.state],
            place=make_safe(short_path(one.info.directory, self._home)),
            line=make_safe(one.said),
            facts=", ".join(filter(None, [money(one.cost) if one.cost else "", when])),
            can_stop=False,
            waiting=[],
        )

    async def _shown(self, client: "Client", row: Running, waiting: Waiting) -> Shown | None:
        """Return a question as texts; None when it was answered in the meantime."""
        asked = waiting.asked
        if isinstance(asked, QuestionRequest):
            return Shown(asked.id, "The agent asks", asks=_asks(asked))
        subject = subject_of(asked, waiting.call)
        try:
            found = await self._reasons_of(client, asked, subject)
        except NotFoundError:
            return None
        why = reasons_of(
            asked,
            found.report.verdicts if found.report is not None else (),
            Path(row.info.directory),
            agent=found.agent,
            places=found.places,
            no_sandbox=found.no_sandbox,
        )
        diff = asked.metadata.get("diff")
        lost = lost_lines(sandbox_facts(asked).lost or ())
        return Shown(
            asked.id,
            make_safe(title_of(asked)),
            subject=make_safe(subject, multiline=True),
            why=[make_safe(one) for one in (*why, *lost)],
            diff=make_safe(_without_heads(diff), multiline=True) if isinstance(diff, str) else "",
            buttons=[_button(one) for one in choices_of(asked) if one.act in _ANSWERS],
        )

    async def _reasons_of(self, client: "Client", asked: PermissionRequest, subject: str) -> AskedReasons:
        """Return why a request asks; it does not change while it waits."""
        if (known := self._reasons.get(asked.id)) is not None:
            return known
        permission = "bash" if is_command(asked) else asked.permission
        about = AskedSubject(permission=permission, subject=subject)
        found = await client.inbox.reasons(asked.id, about)
        self._reasons[asked.id] = found
        if len(self._reasons) > _KNOWN:
            del self._reasons[next(iter(self._reasons))]
        return found


def _without_heads(diff: str) -> str:
    """Return a diff without the lines above the hunks of its only file, which the subject names."""
    return diff if diff.count("\nIndex: ") else diff[max(0, diff.find("@@ ")) :].rstrip("\n")


def _file_text(diff: FileDiff) -> str:
    head = f"{diff.file}  +{diff.additions} −{diff.deletions}"
    return f"{head}\n{unified(diff).partition('+++ b')[2].lstrip() or diff.note or ''}".rstrip()


def _button(choice: Choice) -> Line:
    words = make_safe(choice.words)
    return Line("once" if choice.act == "once" else "reject", f"{words[:1].upper()}{words[1:]}")


def _asks(request: QuestionRequest) -> list[Ask]:
    return [
        Ask(
            make_safe(one.question, multiline=True),
            [Option(make_safe(option.label), make_safe(option.description)) for option in one.options],
            bool(one.multiple),
        )
        for one in request.questions
    ]
