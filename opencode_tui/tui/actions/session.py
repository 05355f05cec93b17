"""Actions on sessions: a row for each verb with its question, its call and its undo; rename, fork, compact, navigation."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.schema.api.request import ForkSession, UpdateSession
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.keys.keyed import cancels, confirms
from opencode_tui.tui.options import Place
from opencode_tui.tui.sessions.known_sessions import Moved
from opencode_tui.tui.sessions.rows import Row, row_of
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


def _nothing() -> None: ...


@action("session_new")
def leave_session(chat: Chat) -> None:
    """Show the empty chat: the next prompt starts a session."""
    chat.control.leave()


@action("sidebar_toggle")
def toggle_sidebar(chat: Chat) -> None:
    """Show or hide the sidebar; on a narrow screen it covers the chat."""
    chat.toggle_sidebar()


@action("session_rename", with_words=True)
def rename_shown(chat: Chat, title: str = "") -> None:
    """Set the title of the shown session; ask for it without one."""
    info = chat.shown_session()
    if info is not None and title:
        chat.do(set_title(chat, info, title))
    elif info is not None:
        rename(chat, info)


def act_on_shown(chat: Chat, what: str) -> None:
    """Do what a verb says with the shown session."""
    info = chat.shown_session()
    if info is not None:
        act(chat, what, [row_of(listed(info))], Origin(partial(_note, chat)))


for _what in ("delete", "archive", "pin"):
    action(f"session_{_what}")(partial(act_on_shown, what=_what))


@action("session_fork")
async def fork_shown(chat: Chat) -> None:
    """Fork the shown session as a whole and open the fork."""
    info = chat.shown_session()
    if info is not None:
        await fork(chat, info.id)


@action("session_compact", with_words=True)
async def compact_shown(chat: Chat, focus: str = "") -> None:
    """Summarize the older messages of the shown session, with attention to what `focus` says."""
    info = chat.shown_session()
    if info is not None:
        await _compact(chat, info, focus or None)


def open_session(chat: Chat, session_id: str) -> None:
    """Show another session."""
    chat.load_page("Loading the session", chat.control.open(session_id), lets_type=True)


def show_anywhere(chat: Chat, info: SessionInfo) -> None:
    """Show a session in the folder in which it works.

    The folders without a repository are one project: that a session is of this project does not say that it works here.
    """
    control = chat.control
    works_here = info.id in control.folder.statuses or Path(info.directory) == control.client.directory
    if works_here and chat.sessions.is_here(info.id):
        open_session(chat, info.id)
    else:
        open_elsewhere(chat, info.directory, info.id)


def open_elsewhere(chat: Chat, directory: str, session_id: str, place: Place | None = None) -> None:
    """Show a session of another folder, at a place of it, unless the folder is gone or a run would be left."""
    folder = chat.control.folder
    if chat.control.is_alone and not Path(directory).is_dir():
        chat.show_note("failed", f"{directory} does not exist anymore", "the folder of this session")
    elif chat.control.is_alone and any(one in folder.sessions for one in folder.statuses):
        chat.show_note("note", "The agent is running here", "interrupt it or wait, then open another folder")
    elif chat.control.is_alone and any(one.is_running for one in folder.background.values()):
        chat.show_note("note", "A background command is running here", "stop it (/jobs), then open another folder")
    else:
        chat.leave_for(Path(directory), session_id, place)


def rename(chat: Chat, info: SessionInfo | ListedSession, after: Callable[[], object] = _nothing) -> None:
    """Ask for a new title; `after` is called when it was set, or not."""

    def done(title: str) -> None:
        chat.panels.close()
        chat.do(set_title(chat, info, title, after))

    ask = TextAsk("Rename this session", "rename", text=info.title)
    chat.panels.open(TextPanel(ask, done=done, back=partial(_close, chat, after)))


async def set_title(
    chat: Chat, info: SessionInfo | ListedSession, title: str, after: Callable[[], object] = _nothing
) -> None:
    """Rename a session, unless the title is empty."""
    if title and title != info.title:
        changed = await chat.control.client.sessions.update(info.id, UpdateSession(title=title))
        chat.sessions.replace(info.id, changed)
    after()


def _close(chat: Chat, after: Callable[[], object]) -> None:
    chat.panels.close()
    after()


def _note(chat: Chat, result: Done) -> None:
    if result.head:
        chat.show_note("note", result.head, result.facts)


@action("session_restore")
def restore_session(chat: Chat) -> None:
    """Bring back what was deleted or archived last in this run."""
    if chat.sessions.moved:
        undo(chat, Origin(partial(_note, chat)))
    else:
        chat.show_note("note", "Nothing to restore", "the trash is in the list of sessions")


async def fork(chat: Chat, session_id: str, message_id: str | None = None) -> None:
    """Fork a session, up to a message or as a whole, and open the fork."""
    with chat.waiting("Forking"):
        made = await chat.control.client.sessions.fork(session_id, ForkSession(message_id=message_id))
        await chat.control.open(made.id)
    chat.show_note("note", "Forked", "the original session is unchanged")


async def restore(chat: Chat, part_id: str) -> None:
    """Restore a pruned output in the context."""
    if chat.control.session_id is not None:
        await chat.control.client.context.restore(chat.control.session_id, [part_id])
        chat.show_note("done", "Restored", "sent again with the next request")


async def _compact(chat: Chat, info: SessionInfo, focus: str | None = None) -> None:
    from opencode_tui.schema.api.context import CompactSession  # records that few sessions need

    chat.show_note("note", "Compacting", "summarizing older messages")
    await chat.control.client.context.compact(info.id, CompactSession(model=chat.control.choice.model, focus=focus))
    chat.show_note("done", "Compacted")


def _has_relatives(chat: Chat) -> bool:
    """Return whether the shown session has subagent sessions, or is one."""
    facts = chat.control.facts
    return facts is not None and (bool(facts.info.parent_id) or len(chat.control.folder.family(facts.info.id)) > 1)


@action("session_parent", when=lambda chat: chat.control.facts is not None and chat.control.facts.info.parent_id)
def open_parent(chat: Chat) -> None:
    """Open the parent of the shown subagent session."""
    facts = chat.control.facts
    if facts is not None and facts.info.parent_id:
        open_session(chat, facts.info.parent_id)


@action("session_child_cycle", when=_has_relatives)
def next_child(chat: Chat) -> None:
    """Open the next subagent session."""
    _cycle(chat, 1)


@action("session_child_cycle_reverse", when=_has_relatives)
def previous_child(chat: Chat) -> None:
    """Open the previous subagent session."""
    _cycle(chat, -1)


def _cycle(chat: Chat, step: int) -> None:
    """Open the next subagent session of the same parent."""
    facts = chat.control.facts
    if facts is None:
        return
    parent = facts.info.parent_id or facts.info.id
    ids = sorted(one.id for one in chat.control.folder.sessions.below(parent) if one.parent_id)
    if ids:
        at = ids.index(facts.info.id) + step if facts.info.id in ids else (0 if step > 0 else -1)
        open_session(chat, ids[at % len(ids)])


if TYPE_CHECKING:
    from opencode_tui.schema.api.search import SearchGroup, SearchHit


@action("session_search", with_words=True)
def search(chat: Chat, typed: str = "", back: Callable[[], object] = _nothing) -> None:
    """Open the search page with a query; `back` is called when the user leaves it."""
    from opencode_tui.tui.pages.search import SearchScreen  # pages load on demand

    chat.open_page(SearchScreen(chat.control, partial(_open, chat), back=back, typed=typed))


def _open(chat: Chat, group: "SearchGroup", hit: "SearchHit | None") -> None:
    """Open a session, at a hit if there is one."""
    place = None
    if hit is not None:
        words = hit.snippet[slice(*hit.marks[0])] if hit.marks else ""
        place = Place(hit.message_id, hit.part_id, words)
    if group.session_id not in chat.control.folder.sessions:
        open_elsewhere(chat, group.directory, group.session_id, place)
    elif place is None:
        open_session(chat, group.session_id)
    else:
        chat.do(_open_at(chat, group.session_id, place))


async def _open_at(chat: Chat, session_id: str, place: Place) -> None:
    if chat.control.session_id != session_id:
        await chat.control.open(session_id)
    await chat.show_place(place)
