"""Actions on several sessions at once: delete, archive, pin, export, restore; and the undo of what was deleted or archived."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Literal

from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.sessions.known_sessions import Moved
from opencode_tui.tui.sessions.session_list import NOTHING, Done
from opencode_tui.tui.state.session_state import is_pinned

LISTED = 12
"""Titles that a preview lists."""

Back = Callable[[Done], object]
"""Called at the end with what was done."""

Work = Callable[[], Coroutine[object, object, Done]]
"""Returns what was done."""

KEPT = "Your files are not touched. The trash keeps it, and u brings it back."
KEPT_ALL = "Your files are not touched. The trash keeps them, and u brings them back."


def delete(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    """Move sessions to the trash after a confirmation."""
    chat.do(_ask_delete(chat, infos, back))


async def _ask_delete(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    below = sum(len(chat.control.folder.family(info.id)) - 1 for info in infos)
    facts = [] if not below else [f"  and {plural(below, 'subagent session')}"]
    if len(infos) == 1:
        messages = await chat.control.client.messages.list(infos[0].id)
        facts = [f"  {plural(len(messages), 'message')}" + (f" {facts[0].strip()}" if facts else "")]
    title = "Move this session to the trash?" if len(infos) == 1 else f"Move {len(infos)} sessions to the trash?"
    about = [*_titles(infos), *facts]
    _ask(chat, title, about, KEPT if len(infos) == 1 else KEPT_ALL, "delete", partial(_delete, chat, infos), back)


async def _delete(chat: Chat, infos: Sequence[SessionInfo]) -> Done:
    deleted: list[SessionInfo] = []
    try:
        for info in _roots(infos):
            await chat.control.client.sessions.remove(info.id)
            chat.sessions.replace(info.id, None)
            deleted.append(info)
            if chat.control.session_id == info.id:
                chat.control.leave()
    finally:
        _remember(chat, "deleted", deleted)
    return Done("Moved to the trash", _named(infos), may_undo=True)


def archive(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    """Archive sessions, several ones after a preview."""
    sentence = "Lists omit archived sessions. Nothing is deleted."
    _ask_for_several(chat, "archive", infos, sentence, partial(_archive, chat, infos), back)


async def _archive(chat: Chat, infos: Sequence[SessionInfo]) -> Done:
    archived: list[SessionInfo] = []
    try:
        for info in infos:
            await _update(chat, info, UpdateSession(archived=chat.control.now()))
            archived.append(info)
    finally:
        _remember(chat, "archived", archived)
    return Done("Archived", _named(infos), may_undo=True)


def unarchive(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    """Put archived sessions back into the lists."""
    _do(chat, partial(_unarchive, chat, infos), back)


async def _unarchive(chat: Chat, infos: Sequence[SessionInfo]) -> Done:
    for info in infos:
        await _update(chat, info, UpdateSession(archived=0))
    return Done("Listed again", _named(infos))


def pin(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    """Pin sessions, several ones after a preview; unpin them if all are pinned."""
    verb = "unpin" if all(is_pinned(info) for info in infos) else "pin"
    sentence = "Pinned sessions are the first in every list."
    _ask_for_several(chat, verb, infos, sentence, partial(_pin, chat, infos, verb == "pin"), back)


async def _pin(chat: Chat, infos: Sequence[SessionInfo], is_wanted: bool) -> Done:
    for info in infos:
        await _update(chat, info, UpdateSession(pinned=is_wanted))
    return Done("Pinned" if is_wanted else "Unpinned", _named(infos))


def export(chat: Chat, infos: Sequence[SessionInfo], back: Back) -> None:
    """Write several conversations to new Markdown files in this folder after a preview."""
    names = [f"  session-{info.id}.md  {info.title}" for info in infos[:LISTED]]
    sentence = f"New files in {chat.control.client.directory}."
    _ask(
        chat,
        f"Export {len(infos)} sessions as Markdown?",
        [*names, *_more(infos)],
        sentence,
        "write",
        partial(_export, chat, infos),
        back,
    )


async def _export(chat: Chat, infos: Sequence[SessionInfo]) -> Done:
    from opencode_tui.client.user_files import write_new
    from opencode_tui.text.conversation import to_markdown

    for info in infos:
        messages = await chat.control.client.messages.list(info.id)
        path = chat.control.client.directory / f"session-{info.id}.md"
        await asyncio.to_thread(write_new, path, [to_markdown(info, messages)])
    return Done("Exported", _named(infos))


def undo(chat: Chat, back: Back) -> None:
    """Bring back what was deleted or archived last."""
    if chat.sessions.moved:
        _do(chat, partial(_undo, chat), back)


async def _undo(chat: Chat) -> Done:
    last = chat.sessions.moved[-1]
    try:
        for info in last.infos:
            if last.kind == "deleted":
                chat.sessions.replace(info.id, await chat.control.client.trash.restore(info.id))
            else:
                await _update(chat, info, UpdateSession(archived=0))
    finally:
        chat.sessions.moved.remove(last)
    chat.sessions.last_restored = last.infos[0].id
    chat.refresh_chrome()
    return Done("Restored", _named(last.infos))


def restore(chat: Chat, entries: Sequence[TrashedSession], back: Back) -> None:
    """Restore sessions of the trash."""
    _do(chat, partial(_restore, chat, entries), back)


async def _restore(chat: Chat, entries: Sequence[TrashedSession]) -> Done:
    for entry in entries:
        await chat.control.client.trash.restore(entry.name)
        chat.sessions.drop_moved({entry.session_id})
    return Done("Restored", _named(entries))


def remove(chat: Chat, entries: Sequence[TrashedSession], back: Back) -> None:
    """Remove sessions of the trash permanently after a confirmation."""
    size = byte_words(sum(entry.bytes for entry in entries))
    count = "this session" if len(entries) == 1 else f"{len(entries)} sessions"
    sentence = f"{size}. This can't be undone."
    _ask(
        chat, f"Remove {count} permanently?", _titles(entries), sentence, "remove", lambda: _remove(chat, entries), back
    )


async def _remove(chat: Chat, entries: Sequence[TrashedSession]) -> Done:
    await chat.control.client.trash.empty([entry.name for entry in entries])
    chat.sessions.drop_moved({entry.session_id for entry in entries})
    return Done("Removed permanently", _named(entries))


async def _update(chat: Chat, info: SessionInfo, change: UpdateSession) -> None:
    chat.sessions.replace(info.id, await chat.control.client.sessions.update(info.id, change))
    chat.refresh_chrome()


def _remember(chat: Chat, kind: Literal["deleted", "archived"], infos: Sequence[SessionInfo]) -> None:
    if infos:
        chat.sessions.moved.append(Moved(kind, infos))
    chat.refresh_chrome()


def _ask_for_several(
    chat: Chat, verb: str, infos: Sequence[SessionInfo], sentence: str, work: Work, back: Back
) -> None:
    if len(infos) == 1:
        _do(chat, work, back)
    else:
        title = f"{verb.capitalize()} {len(infos)} sessions?"
        _ask(chat, title, _titles(infos), sentence, verb, work, back)


def _ask(chat: Chat, title: str, about: Sequence[str], sentence: str, verb: str, work: Work, back: Back) -> None:
    def close(then: Callable[[], object]) -> None:
        chat.panels.close()
        then()

    answers = (
        KeyAction("panel_yes", verb, partial(close, lambda: _do(chat, work, back))),
        KeyAction("panel_cancel", "cancel", partial(close, lambda: back(NOTHING))),
    )
    chat.panels.open(ConfirmPanel(Confirmation(title, about, sentence, answers)))


def _do(chat: Chat, work: Work, back: Back) -> None:
    async def done() -> None:
        try:
            result = await work()
        except OpencodeError as error:
            back(Done(str(error)))
            raise
        back(result)

    chat.do(done())


def _roots(infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Return the sessions without those whose parent is among them: they are deleted with it."""
    ids = {info.id for info in infos}
    return [info for info in infos if info.parent_id not in ids]


def _titles(infos: Sequence[SessionInfo] | Sequence[TrashedSession]) -> list[str]:
    return [*(f"  {info.title}" for info in infos[:LISTED]), *_more(infos)]


def _more(infos: Sequence[object]) -> list[str]:
    return [f"  and {len(infos) - LISTED} more"] if len(infos) > LISTED else []


def _named(infos: Sequence[SessionInfo] | Sequence[TrashedSession]) -> str:
    return " ".join(infos[0].title.split()) if len(infos) == 1 else plural(len(infos), "session")
