"""Undo and redo, each with a preview in the chat and in a panel."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING

from opencode_tui.text.undo import unchanged_files
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.undo import UndoPanel
from opencode_tui.tui.prompt.draft import Draft
from opencode_tui.tui.prompt.sent import draft_of

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoFiles, UndoOnly, UndoScope


@action("messages_undo", loads="what would be undone")
async def ask_undo(chat: Chat, message_id: str | None = None, part_id: str | None = None) -> None:
    """Show what an undo from a message or part on would do; of the last turn by default."""
    session_id = chat.control.session_id
    if session_id is None:
        return
    if chat.control.is_busy:  # end the run first; its changes are undone with the rest
        await chat.sender.interrupt()
    await _ask(chat, session_id, await chat.control.client.undo.preview(session_id, message_id, part_id))


async def _ask(chat: Chat, session_id: str, preview: "RevertPreview", *, was_at_end: bool | None = None) -> None:
    assert preview.scope is not None
    if not chat.control.knows(preview.scope.message_id):
        await chat.control.load_whole()
    was_at_end = chat.view.is_following if was_at_end is None else was_at_end
    chat.control.transcript.preview_undo(preview.scope.message_id, preview.scope.part_id)
    chat.view.scroll_to_item("undo")
    chat.panels.open(
        UndoPanel(
            preview,
            root=chat.control.client.directory,
            now=chat.control.now(),
            span=_span(chat, preview),
            show=_diff_opener(chat, session_id, preview),
            act=lambda: _answer(chat, _undo(chat, session_id, preview, was_at_end=was_at_end)),
            back=partial(_cancel, chat, was_at_end=was_at_end),
            limited=lambda only: _answer(chat, _undo(chat, session_id, preview, only, was_at_end=was_at_end)),
        )
    )


def _does_more(present: "RevertPreview", shown: "RevertPreview") -> bool:
    """Return whether an undo or a redo would change files or remove messages by now that the user was not shown."""
    return not _effects(present) <= _effects(shown)


def _effects(preview: "RevertPreview") -> set[str]:
    """Return the paths of the files that change, and the IDs of the messages and parts that are removed."""
    scope = preview.scope
    removed = [] if scope is None else [*scope.messages, *scope.parts]
    return {*(str(one.path) for one in (*preview.restored, *preview.deleted)), *removed}


def _diff_opener(chat: Chat, session_id: str, preview: "RevertPreview") -> Callable[[], object] | None:
    """Return what opens the changes of the turns to undo; None where undo is off."""
    scope = preview.scope
    if scope is None or preview.unavailable:
        return None
    return lambda: chat.do(_show_diff(chat, session_id, scope))


async def _show_diff(chat: Chat, session_id: str, scope: "UndoScope") -> None:
    from opencode_tui.tui.pages.diff import TURN, DiffScreen  # loads on demand

    with chat.waiting("Loading the changes"):
        diffs = await chat.control.client.undo.changes(session_id, scope.message_id, scope.part_id)
    sides = TURN if scope.requests == 1 and not scope.part_id else ("before", "after")
    if diffs:
        places = chat.control.client.project.places
        chat.open_page(DiffScreen(diffs, places, is_stacked=chat.settings.is_stacked, sides=sides))
    else:
        chat.show_note("note", "No file changes", "in what is undone")


def _cancel(chat: Chat, *, was_at_end: bool) -> None:
    chat.panels.close()
    _end_preview(chat, is_at_end=was_at_end)


def _end_preview(chat: Chat, *, is_at_end: bool) -> None:
    """End the preview, whose rule the conversation was scrolled to; at the end it follows what comes."""
    chat.control.transcript.end_preview()
    if is_at_end:
        chat.view.action_scroll_end()


def _answer(chat: Chat, work: Coroutine[object, object, None]) -> None:
    """Close the question and begin the work: what is typed behind the answer is for the prompt."""
    chat.panels.close()
    chat.do(work)


async def _undo(
    chat: Chat, session_id: str, preview: "RevertPreview", only: "UndoOnly | None" = None, *, was_at_end: bool
) -> None:
    """Undo what the preview showed. If it would be more by now, another terminal has sent a prompt: ask again instead."""
    scope, undo = preview.scope, chat.control.client.undo
    assert scope is not None
    report = None
    try:
        with chat.waiting("Undoing"):
            draft = Draft() if only == "files" else await _request(chat, session_id, scope.message_id)
            present = await undo.preview(session_id, scope.message_id, scope.part_id)
            if not _does_more(present, preview):
                report = await undo.revert(session_id, scope.message_id, scope.part_id, only=only)
    finally:
        _end_preview(chat, is_at_end=was_at_end or only != "files")
    if report is None:
        await _ask(chat, session_id, present, was_at_end=was_at_end)
        chat.show_note("note", "Nothing undone yet", "the session has changed, and more would be undone now")
        return
    show_files(chat, report)
    editor = chat.prompt.editor
    if draft.text and not scope.part_id and not editor.text.strip():
        chat.prompt.put_back(draft)
        editor.restored_text = editor.text
    if report.failed:
        chat.show_note("failed", "Some files could not be restored", "undo again to retry")


def show_files(chat: Chat, report: "UndoFiles") -> None:
    """Show in the chat what happened to the files."""
    scope = getattr(report, "scope", None)
    if scope is not None:
        chat.control.show_undone(scope.message_id, report)


async def _request(chat: Chat, session_id: str, message_id: str) -> Draft:
    message = await chat.control.client.messages.get(session_id, message_id)
    return draft_of(message.parts) if message.info.role == "user" else Draft()


@action("messages_redo", when=lambda chat: chat.control.facts is not None and chat.control.facts.info.revert)
async def ask_redo(chat: Chat) -> None:
    """Redo what was undone, after a preview if files would change that were changed since."""
    session_id = chat.control.session_id
    if session_id is None:
        return
    with chat.waiting("Loading what would be redone"):
        preview = await chat.control.client.undo.preview_unrevert(session_id)
    if preview.kept or preview.unprotected:
        _show_redo(chat, session_id, preview)
    else:
        await _redo(chat, session_id)


def _show_redo(chat: Chat, session_id: str, preview: "RevertPreview") -> None:
    chat.panels.open(
        UndoPanel(
            preview,
            root=chat.control.client.directory,
            now=chat.control.now(),
            span="",
            act=lambda: _answer(chat, _redo(chat, session_id, preview)),
            back=chat.panels.close,
        )
    )


async def _redo(chat: Chat, session_id: str, shown: "RevertPreview | None" = None) -> None:
    """Redo what was undone; if that would change more files than a preview has shown, ask again instead."""
    with chat.waiting("Redoing"):
        present = await chat.control.client.undo.preview_unrevert(session_id) if shown is not None else None
        if shown is not None and present is not None and _does_more(present, shown):
            _show_redo(chat, session_id, present)
            chat.show_note("note", "Nothing restored yet", "files have changed, and more would be restored now")
            return
        report: RevertReport = await chat.control.client.undo.unrevert(session_id)
    editor = chat.prompt.editor
    if editor.restored_text and editor.text == editor.restored_text:
        editor.put("")  # the chat shows it again
    if report.unavailable:
        chat.show_note("note", "Messages restored", unchanged_files(report))
    elif report.kept:
        chat.show_note("note", "Restored", f"{len(report.kept)} kept as you changed them")
    else:
        chat.show_note("done", "Restored")


def _span(chat: Chat, preview: "RevertPreview") -> str:
    """Return `1 turn · 12:04 to 12:06`: the turns to undo and their times."""
    scope = preview.scope
    if scope is None:
        return ""
    return chat.control.span(scope.messages or [scope.message_id], scope.requests)
