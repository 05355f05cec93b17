"""Actions of the prompt: send, external editor, stash, attachments, copy the last response."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.text.quantity import short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.wait import SAID_AFTER_S
from opencode_tui.tui.chat.chat import Chat, action, run_with
from opencode_tui.tui.chrome.activity import INTERRUPT
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.external_editor import edit_file
from opencode_tui.tui.keys.keyed import KeyAction, cancels
from opencode_tui.tui.prompt.desktop import read_image, read_text
from opencode_tui.tui.prompt.draft import Attachment, Draft
from opencode_tui.tui.prompt.sent import draft_of
from opencode_tui.tui.prompt.slash import SLASH, parse

FILE = "AGENTS.md"

_SHOWN_LINES = 4
"""Lines of the file's end in the preview."""


def is_rule(text: str) -> bool:
    """Return whether a prompt is a rule to keep: one line that starts with `# `, such as `# use tabs`; `#42 fails` is none."""
    line = text.rstrip()
    return line.startswith("# ") and "\n" not in line


def add_rule(chat: Chat, draft: Draft) -> None:
    """Ask to which file a rule is added, with a preview."""
    chat.do(_ask(chat, draft))


async def _files(chat: Chat) -> tuple[Path, Path, str]:
    """Return the file of the project, the file of the user, and the user's home folder."""
    places = await chat.control.client.project.places()
    return Path(places.worktree) / FILE, Path(places.config) / FILE, places.home


async def _ask(chat: Chat, draft: Draft) -> None:
    project, own, home = await _files(chat)
    rule = draft.whole.strip()[1:].strip()
    end = await asyncio.to_thread(_last_lines, project)

    def choose(path: Path) -> Callable[[], object]:
        return lambda: chat.do(_append(chat, path, rule))

    def back() -> None:
        chat.panels.close()
        chat.prompt.put_back(draft)

    about = [*(f"  {line}" for line in end), f"+ - {rule}"]
    answers = (
        KeyAction("memory_project", f"add to {short_path(str(project), home)}", choose(project)),
        KeyAction("memory_everywhere", f"for all projects: {short_path(str(own), home)}", choose(own)),
        cancels("cancel", back),
    )
    sentence = "Instructions are sent with every request. To send it as a message, start with a space."
    chat.panels.open(ConfirmPanel(Confirmation("Keep this rule?", about, sentence, answers, "panel:memory")))


async def _append(chat: Chat, path: Path, rule: str) -> None:
    chat.panels.close()
    from opencode_tui.client.user_files import append_line  # only for a new rule

    await asyncio.to_thread(append_line, path, f"- {rule}")
    chat.show_note("done", "Rule added", f"{path} · /memory edits it")


@action("memory_edit", loads="the instructions")
async def edit_instructions(chat: Chat) -> None:
    """Choose a file with instructions and edit it."""
    if not chat.control.is_alone:
        chat.show_note("note", "Not available here", "the instructions are files of the server")
        return
    project, own, home = await _files(chat)
    choices = [
        Choice(
            str(path),
            short_path(str(path), home),
            "" if await asyncio.to_thread(path.exists) else "new file",
            group=group,
        )
        for path, group in ((project, "This project"), (own, "All projects"))
    ]

    def done(chosen: str | None) -> None:
        if chosen is not None:
            chat.do(_edit(chat, Path(chosen)))

    chat.app.open_overlay(ListContent(choices, hint="Edit instructions", enter="edit"), done)


async def _edit(chat: Chat, path: Path) -> None:
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    edit_file(chat.app, path)
    chat.refresh_all()


def _last_lines(path: Path) -> list[str]:
    """Return the last lines of a file that are not empty; none of a missing file. Blocks."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.strip()][-_SHOWN_LINES:]


NO_FILES = "takes no pictures or files"
SEND_WITHOUT = "send it without them"

EVENTS_S = 0.05
"""Seconds to wait for the events of a failed turn."""


@action("history_search")
def search_history(chat: Chat) -> None:
    """Choose an earlier prompt from a list, the latest first."""
    box = chat.prompt
    entries = list(dict.fromkeys(reversed(box.history.entries)))
    if not entries:
        chat.show_note("note", "No earlier prompts")
        return
    choices = [Choice(str(at), screen_line(" ".join(text.split()))) for at, text in enumerate(entries)]

    def done(chosen: str | None) -> None:
        if chosen is not None:
            box.clear()
            box.editor.put(entries[int(chosen)])

    chat.app.open_overlay(ListContent(choices, hint="Search earlier prompts", enter="use"), done)


CONTINUE = "Continue where you were stopped: the program ended before your answer was complete."
"""The prompt that `enter` sends for a turn that ended with its process."""


@action("input_submit")
def submit(chat: Chat) -> None:
    """Send the prompt; a built-in slash command runs at once, `#` and a line asks to add a rule.

    With an empty prompt the oldest queued message is sent at once, or a turn goes on that ended with its process.
    """
    box = chat.prompt
    draft = box.pop_draft()
    if not draft.text.strip():
        if queued_ids(chat):
            chat.do(send_queued(chat))
        elif chat.control.can_continue:
            chat.view.action_scroll_end()
            chat.do(_send(chat, Draft(CONTINUE)))
        return
    chat.do(box.remember(draft))
    chat.clear_note()
    command = parse(draft.text)
    if command is not None and command[0] in SLASH and command[0] not in chat.completing.own_commands:
        _run_built_in(chat, draft, *command)
        return
    if is_rule(draft.text) and is_rule(draft.whole) and chat.control.is_alone:
        if draft.parts():
            _give_back(chat, draft, "A rule")
        else:
            add_rule(chat, draft)
        return
    chat.view.action_scroll_end()  # the message and its answer come there
    chat.do(_send(chat, draft))


def _run_built_in(chat: Chat, draft: Draft, name: str, words: str) -> None:
    """Run a built-in command; words and files that it does not use are put back, so that nothing is dropped silently."""
    if not words:
        chat.run(SLASH[name])
    elif draft.parts():
        _give_back(chat, draft, f"/{name}")
    elif not run_with(chat, SLASH[name], _arguments(draft, words)):
        chat.prompt.put_back(draft)
        chat.show_note("failed", f"/{name} takes no arguments", SEND_WITHOUT)


def _arguments(draft: Draft, written: str) -> str:
    """Return the arguments of a command with the pasted texts that their markers stand for."""
    return Draft(written, draft.attachments).whole.strip()


def _give_back(chat: Chat, draft: Draft, what: str) -> None:
    """Put a prompt back whose files could not be sent, and say so."""
    chat.prompt.put_back(draft)
    chat.show_note("failed", f"{what} {NO_FILES}", SEND_WITHOUT)


async def _send(chat: Chat, draft: Draft) -> None:
    stored: list[str] = []
    interrupts = chat.sender.interrupts
    try:
        with ExitStack() as unsent:
            if not chat.control.is_busy:
                key = chat.keymap.first(INTERRUPT)
                unsent.enter_context(chat.waiting("Sending the prompt", cancel=key, after_s=SAID_AFTER_S, yields=True))
            await _route(chat, draft, stored.append, unsent.close)
    except asyncio.CancelledError:
        if not stored:
            chat.prompt.put_back(draft)
        raise
    except OpencodeError:
        if not stored:  # the prompt could not be sent: restore it
            chat.prompt.put_back(draft)
        elif chat.sender.interrupts != interrupts or await _is_shown_in_chat(chat):
            return  # the chat says so, with what to do
        raise


async def _is_shown_in_chat(chat: Chat) -> bool:
    """Return whether a message in the chat shows the failure."""
    await asyncio.sleep(EVENTS_S)
    return chat.control.facts is not None and bool(chat.control.facts.failure)


async def _route(chat: Chat, draft: Draft, stored: Callable[[str], None], given: Callable[[], None]) -> None:
    if draft.text.startswith("!"):  # what is typed: a pasted text is no command
        if draft.parts():
            raise OpencodeError(f"A shell command {NO_FILES}; {SEND_WITHOUT}")
        await chat.sender.shell(draft.whole[1:].strip(), stored=stored, given=given)
        return
    if not draft.text.startswith("/"):
        await chat.sender.send(draft.whole, draft.parts(), stored=stored, given=given)
        return
    known = {one.name for one in await chat.control.client.catalog.commands()}
    command = parse(draft.text, known)
    if command is None:
        await chat.sender.send(draft.whole, draft.parts(), stored=stored, given=given)
        return
    name, arguments = command
    if name not in known:
        raise OpencodeError(f"Unknown command /{name}. Press ctrl+p to see all commands.")
    await chat.sender.command(name, _arguments(draft, arguments), draft.parts(), stored=stored, given=given)


@action("input_paste")
async def paste(chat: Chat) -> None:
    """Paste the system clipboard: an image as an attachment, else text."""
    box = chat.prompt
    image = await read_image()
    if image:
        box.attach(Attachment(data=image, mime="image/png", name="pasted.png"))
    elif text := await read_text():
        box.paste(text)
    else:
        chat.show_note("note", "Nothing to paste", "clipboard empty or not accessible")


@action("attachment_open")
def open_chosen_attachment(chat: Chat) -> None:
    """Show the attachment whose marker is at the cursor, or the last one."""
    open_attachment(chat, chat.prompt.chosen_marker)


def open_attachment(chat: Chat, marker: str) -> None:
    """Show an attachment of the prompt on a page, where it can be expanded or removed."""
    from opencode_tui.tui.pages.full_text import AttachmentActions, AttachmentScreen  # loads on demand

    box = chat.prompt
    one = box.open_attachment(marker)
    if one is None:
        chat.show_note("note", "Nothing is attached")
        return
    actions = AttachmentActions(
        write_out=lambda: box.unfold(marker),
        view=lambda: chat.do(_view(chat, one)),
        remove=lambda: box.detach(marker),
    )
    chat.open_page(AttachmentScreen(marker, one, actions))


async def _view(chat: Chat, one: Attachment) -> None:
    from opencode_tui.tui.prompt.desktop import view_image

    await asyncio.to_thread(view_image, one.data, one.mime)


def queued_ids(chat: Chat) -> list[str]:
    """Return the messages that wait: for the next step, then for the end of the turn."""
    return [*(one.message_id for one in chat.control.transcript.queued), *chat.control.waiting.ids]


@action("prompt_queue_edit", when=lambda chat: chat.control.waiting.texts)
async def edit_queued(chat: Chat) -> None:
    """Move the last queued message into the prompt, unless it was sent to the model already."""
    queued = queued_ids(chat)
    if not queued:
        chat.show_note("note", "Nothing is queued")
    elif not await put_back_queued(chat, queued[-1]):
        chat.show_note("note", "Too late", "the message was already sent")


@action("prompt_queue_send", when=lambda chat: chat.control.waiting.texts)
async def send_queued(chat: Chat) -> None:
    """Send the oldest queued message at once: a response that is being written is interrupted, tools are not."""
    queued = queued_ids(chat)
    if not queued:
        chat.show_note("note", "Nothing is queued")
    elif not await chat.sender.send_now(queued[0]):
        chat.show_note("note", "Too late", "the message was already sent")


@action("prompt_delivery_toggle")
def switch_delivery(chat: Chat) -> None:
    """Change when a message that is sent during a turn is read."""
    sender = chat.sender
    sender.delivery = "queue" if sender.delivery == "steer" else "steer"
    if sender.delivery == "queue":
        chat.show_note("note", "Messages are queued", "a message sent during a turn waits for its end")
    else:
        chat.show_note("note", "Messages steer the turn", "one sent during a turn joins its next step")
    chat.refresh_chrome()


@action("prompt_stash")
def stash(chat: Chat) -> None:
    """Stash the prompt; with an empty prompt, restore the last one."""
    box = chat.prompt
    draft = box.pop_draft()
    if draft.text.strip():
        box.stash.append(draft)
        chat.show_note("note", f"Stashed ({len(box.stash)})", "/stash in an empty prompt restores it")
    else:
        unstash(chat)


@action("prompt_stash_pop")
def unstash(chat: Chat) -> None:
    """Restore the prompt that was stashed last."""
    box = chat.prompt
    if box.stash:
        box.put_back(box.stash.pop())
    else:
        chat.show_note("note", "Stash is empty")


@action("editor_open")
async def edit_outside(chat: Chat) -> None:
    """Edit the prompt in $VISUAL or $EDITOR."""
    box = chat.prompt
    descriptor, name = await asyncio.to_thread(tempfile.mkstemp, suffix=".md", prefix="opencode-tui-")
    os.close(descriptor)
    path = Path(name)
    try:
        await asyncio.to_thread(path.write_text, box.editor.text, "utf-8")
        edit_file(chat.app, path)
        text = await asyncio.to_thread(path.read_text, "utf-8", "replace")
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)
    box.editor.put(text.rstrip("\n"))
    chat.refresh_all()


@action("messages_copy")
async def copy_response(chat: Chat) -> None:
    """Copy the text of the last response through the terminal."""
    if chat.control.session_id is None:
        return
    for message in reversed(await chat.control.client.messages.list(chat.control.session_id)):
        texts = [part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip()]
        if isinstance(message.info, AssistantMessage) and texts:
            chat.app.copy_to_clipboard("\n\n".join(texts))
            chat.show_note("done", "Copied", "the last response")
            return
    chat.show_note("note", "No response to copy yet")


async def put_back_queued(chat: Chat, message_id: str) -> bool:
    """Move a queued message into the prompt; return False if it was sent to the model already. Raises NotFoundError."""
    session_id = chat.control.session_id
    if session_id is None:
        return False
    client = chat.control.client
    message = await client.messages.get(session_id, message_id)
    if not await client.prompts.withdraw(session_id, message_id):
        return False
    chat.prompt.put_back(draft_of(message.parts))
    return True
