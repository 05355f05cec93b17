"""Actions on sessions: new, rename, delete, fork, export, compact, and navigation between them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from opencode_tui.schema.api.request import ForkSession, UpdateSession
from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions import session_verbs
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.actions.session_verbs import Origin
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.options import Place
from opencode_tui.tui.sessions.rows import row_of
from opencode_tui.tui.sessions.session_list import Done


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
        session_verbs.act(chat, what, [row_of(listed(info))], Origin(partial(_note, chat)))


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
        session_verbs.undo(chat, Origin(partial(_note, chat)))
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
