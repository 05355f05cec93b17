"""What is done with sessions, one or several: a row for each verb, with its question, its call and its undo."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.keys.keyed import cancels, confirms
from opencode_tui.tui.sessions.known_sessions import Moved
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.sessions.session_list import NOTHING, Done

LISTED = 12
"""Titles that a question lists."""

Call = Callable[[Chat, Row], Coroutine[object, object, object]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an action was chosen; `back` gets what was done, `leave` is called before a question or another page is shown."""

    back: Callable[[Done], object]
    leave: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Verb:
    """Question and sentence may contain `{them}`, `{it}`, `{folder}` and `{size}`, the line of a session `{id}` and `{title}`."""

    done: str
    """What is said afterwards, before the title or the number of sessions."""
    doing: str
    """What is said while it lasts."""
    call: Call
    question: str = ""
    """Asked before it is done with several sessions; empty for a verb without a question."""
    sentence: str = ""
    yes: str = ""
    undo: Call | None = None
    asks_for_one: bool = False
    includes_children: bool = False
    """The call of a session is one of its subagents' sessions too."""
    line: str = "{title}"
    facts: Callable[[Chat, Sequence[Row]], Coroutine[object, object, str]] | None = None
    """Returns a last line of the question."""


async def _what_is_deleted(chat: Chat, rows: Sequence[Row]) -> str:
    below = sum(len(chat.control.folder.family(row.id)) - 1 for row in rows)
    facts = [f"and {plural(below, 'subagent session')}"] if below else []
    if len(rows) == 1:
        facts = [plural(len(await chat.control.client.messages.ids(rows[0].id)), "message"), *facts]
    return " ".join(facts)


async def _delete(chat: Chat, row: Row) -> None:
    await chat.control.client.sessions.remove(row.id)
    chat.sessions.replace(row.id, None)
    if chat.control.session_id == row.id:
        chat.control.leave()


async def _undelete(chat: Chat, row: Row) -> None:
    chat.sessions.replace(row.id, await chat.control.client.trash.restore(row.id))


async def _update(chat: Chat, row: Row, change: UpdateSession) -> None:
    chat.sessions.replace(row.id, await chat.control.client.sessions.update(row.id, change))


async def _archive(chat: Chat, row: Row) -> None:
    await _update(chat, row, UpdateSession(archived=chat.control.now()))


_unarchive = partial(_update, change=UpdateSession(archived=0))


async def _export(chat: Chat, row: Row) -> None:
    from opencode_tui.client.user_files import write_new
    from opencode_tui.text.conversation import to_markdown

    client = chat.control.client
    info, messages = await client.sessions.get(row.id), await client.messages.list(row.id)
    await asyncio.to_thread(write_new, client.directory / f"session-{row.id}.md", to_markdown(info, messages))


async def _restore(chat: Chat, row: Row) -> None:
    await chat.control.client.trash.restore(row.id)
    _drop_undo(chat, row)


async def _remove(chat: Chat, row: Row) -> None:
    await chat.control.client.trash.empty([row.id])
    _drop_undo(chat, row)


def _drop_undo(chat: Chat, row: Row) -> None:
    if isinstance(row.of, TrashedSession):
        chat.sessions.drop_moved(row.of.session_id)


_TRASH = "Your files are not touched. The trash keeps {it}, and u brings {it} back."
_ARCHIVE = "Lists omit archived sessions. Nothing is deleted."
_PINS = "Pinned sessions are the first in every list."
_FILES = "New files in {folder}."
_FOREVER = "{size}. This can't be undone."

VERBS: Mapping[str, Verb] = {
    "delete": Verb(
        "Moved to the trash",
        "Moving to the trash",
        _delete,
        "Move {them} to the trash?",
        _TRASH,
        "delete",
        _undelete,
        asks_for_one=True,
        includes_children=True,
        facts=_what_is_deleted,
    ),
    "archive": Verb("Archived", "Archiving", _archive, "Archive {them}?", _ARCHIVE, "archive", _unarchive),
    "unarchive": Verb("Listed again", "Restoring", _unarchive),
    "pin": Verb("Pinned", "Pinning", partial(_update, change=UpdateSession(pinned=True)), "Pin {them}?", _PINS, "pin"),
    "unpin": Verb(
        "Unpinned", "Unpinning", partial(_update, change=UpdateSession(pinned=False)), "Unpin {them}?", _PINS, "unpin"
    ),
    "export": Verb(
        "Exported", "Exporting", _export, "Export {them} as Markdown?", _FILES, "write", line="session-{id}.md  {title}"
    ),
    "restore": Verb("Restored", "Restoring", _restore),
    "remove": Verb(
        "Removed permanently", "Removing", _remove, "Remove {them} permanently?", _FOREVER, "remove", asks_for_one=True
    ),
}
"""By the word that the keys of lists show; the last two are for deleted sessions."""


def act(chat: Chat, what: str, rows: Sequence[Row], origin: Origin) -> None:
    """Do what a verb says with sessions, after its question if it needs one; `pin` unpins them if all are pinned."""
    verb = VERBS["unpin" if what == "pin" and all(row.is_pinned for row in rows) else what]
    if verb.question and (verb.asks_for_one or len(rows) > 1):
        origin.leave()
        chat.do(_ask(chat, verb, rows, origin))
    else:
        chat.do(_do(chat, verb, rows, origin))


def undo(chat: Chat, origin: Origin) -> None:
    """Bring back what was deleted or archived last, if there is anything, and select it."""
    if chat.sessions.moved:
        last = chat.sessions.moved.pop()
        selected = last.rows[0].id
        back = Origin(lambda result: origin.back(result._replace(selected=selected)))
        chat.do(_do(chat, Verb("Restored", "Restoring", lambda _chat, row: last.undo(row)), last.rows, back))


async def _ask(chat: Chat, verb: Verb, rows: Sequence[Row], origin: Origin) -> None:
    lines = [f"  {verb.line.format(id=row.id, title=row.title)}" for row in rows[:LISTED]]
    lines += [f"  and {len(rows) - LISTED} more"] if len(rows) > LISTED else []
    with chat.waiting("Loading the session" if len(rows) == 1 else "Loading the sessions"):
        facts = await verb.facts(chat, rows) if verb.facts is not None else ""
    words = {
        "them": "this session" if len(rows) == 1 else f"{len(rows)} sessions",
        "it": "it" if len(rows) == 1 else "them",
        "folder": chat.control.client.directory,
        "size": byte_words(sum(row.of.bytes for row in rows if isinstance(row.of, TrashedSession))),
    }

    def close(then: Callable[[], object]) -> None:
        chat.panels.close()
        then()

    answers = (
        confirms(verb.yes, partial(close, lambda: chat.do(_do(chat, verb, rows, origin)))),
        cancels("cancel", partial(close, partial(origin.back, NOTHING))),
    )
    about = [*lines, f"  {facts}"] if facts else lines
    question, sentence = verb.question.format(**words), verb.sentence.format(**words)
    chat.panels.open(ConfirmPanel(Confirmation(question, about, sentence, answers)))


async def _do(chat: Chat, verb: Verb, rows: Sequence[Row], origin: Origin) -> None:
    """Do what the verb says with each session; what was done before a failure can be undone."""
    done: list[Row] = []
    try:
        for row in _roots(rows) if verb.includes_children else rows:
            with chat.waiting(verb.doing):
                await verb.call(chat, row)
            done.append(row)
    except OpencodeError as error:
        origin.back(Done(str(error)))
        raise
    finally:
        if done and verb.undo is not None:
            chat.sessions.moved.append(Moved(done, partial(verb.undo, chat)))
        chat.refresh_chrome()
    named = rows[0].title if len(rows) == 1 else plural(len(rows), "session")
    origin.back(Done(verb.done, named, may_undo=verb.undo is not None))


def _roots(rows: Sequence[Row]) -> list[Row]:
    """Return the sessions without those whose parent is among them."""
    ids = {row.id for row in rows}
    return [row for row in rows if not (isinstance(row.of, ListedSession) and row.of.parent_id in ids)]
