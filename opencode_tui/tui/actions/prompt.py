"""Actions of the prompt: send, external editor, stash, attachments, copy the last response."""

import asyncio
import base64
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import FilePart, TextPart
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.actions.memory import is_rule
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.external_editor import edit_file
from opencode_tui.tui.prompt.desktop import read_image, read_text
from opencode_tui.tui.prompt.draft import Attachment, Draft
from opencode_tui.tui.prompt.slash import SLASH, parse
from opencode_tui.tui.screen_api import AppApi, ChatApi
from opencode_tui.tui.state.controller import SessionController

EVENTS_S = 0.05
"""Seconds to wait for the events of a failed turn."""


class PromptActions:
    """Actions of the prompt."""

    def __init__(
        self,
        screen: ChatApi,
        app: AppApi,
        control: SessionController,
        do: Callable[[str], object],
        do_with: Callable[[str, str], bool],
        add_rule: Callable[[str], object],
    ) -> None:
        self._screen = screen
        self._app = app
        self._control = control
        self._do = do
        self._do_with = do_with
        self._add_rule = add_rule

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "input_submit": self.submit,
            "input_paste": lambda: self._screen.do(self._paste()),
            "editor_open": lambda: self._screen.do(self._edit_outside()),
            "prompt_stash": self._stash,
            "prompt_stash_pop": self._unstash,
            "attachment_open": lambda: self.open_attachment(self._screen.prompt.chosen_marker),
            "prompt_queue_edit": lambda: self._screen.do(self._edit_queued()),
            "prompt_queue_send": lambda: self._screen.do(self._send_queued()),
            "prompt_delivery_toggle": self._switch_delivery,
            "messages_copy": lambda: self._screen.do(self._copy()),
            "history_search": self._search_history,
        }

    def _search_history(self) -> None:
        """Choose an earlier prompt from a list, the latest first."""
        box = self._screen.prompt
        entries = list(dict.fromkeys(reversed(box.history.entries)))
        if not entries:
            self._screen.show_note("note", "No earlier prompts")
            return
        choices = [Choice(str(at), screen_line(" ".join(text.split()))) for at, text in enumerate(entries)]

        def done(chosen: str | None) -> None:
            if chosen is not None:
                box.clear()
                box.editor.put(entries[int(chosen)])

        self._app.open_overlay(ListContent(choices, hint="Search earlier prompts", enter="use"), done)

    def submit(self) -> None:
        """Send the prompt; a built-in slash command runs at once, `#` and a line asks to add a rule.

        With an empty prompt the oldest queued message is sent at once.
        """
        box = self._screen.prompt
        draft = box.pop_draft()
        if not draft.text.strip():
            if self._queued_ids():
                self._screen.do(self._send_queued())
            return
        self._screen.do(box.remember(draft.whole))
        self._screen.clear_note()
        command = parse(draft.text)
        if command is not None and command[0] in SLASH and command[0] not in box.own_commands:
            self._run_built_in(draft, *command)
            return
        if is_rule(draft.text) and self._control.is_alone:
            self._add_rule(draft.text)
            return
        self._do("messages_last")  # the message and its answer come there
        self._screen.do(self._send(draft))

    def _run_built_in(self, draft: Draft, name: str, words: str) -> None:
        """Run a built-in command; words that it does not use are put back, so that nothing is dropped silently."""
        if not words:
            self._do(SLASH[name])
        elif not self._do_with(SLASH[name], words):
            self._screen.prompt.put_back(draft)
            self._screen.show_note("failed", f"/{name} takes no arguments", "send it without them")

    async def _send(self, draft: Draft) -> None:
        stored: list[str] = []
        interrupts = self._control.interrupts
        try:
            await self._route(draft, stored.append)
        except OpencodeError:
            if not stored:  # the prompt could not be sent: restore it
                self._screen.prompt.put_back(draft)
            elif self._control.interrupts != interrupts or await self._is_shown_in_chat():
                return  # the chat says so, with what to do
            raise

    async def _is_shown_in_chat(self) -> bool:
        """Return whether a message in the chat shows the failure."""
        await asyncio.sleep(EVENTS_S)
        return self._control.facts is not None and bool(self._control.facts.failure)

    async def _route(self, draft: Draft, stored: Callable[[str], None]) -> None:
        if draft.text.startswith("!"):
            await self._control.shell(draft.text[1:].strip(), stored=stored)
            return
        if not draft.text.startswith("/"):
            await self._control.send(draft.whole, draft.parts(), stored=stored)
            return
        known = {one.name for one in await self._control.client.catalog.commands()}
        command = parse(draft.text, known)
        if command is None:
            await self._control.send(draft.whole, draft.parts(), stored=stored)
            return
        name, arguments = command
        if name not in known:
            raise OpencodeError(f"Unknown command /{name}. Press ctrl+p to see all commands.")
        await self._control.command(name, arguments, stored=stored)

    async def _paste(self) -> None:
        """Paste the system clipboard: an image as an attachment, else text."""
        box = self._screen.prompt
        image = await read_image()
        if image:
            box.attach(Attachment(data=image, mime="image/png", name="pasted.png"))
        elif text := await read_text():
            box.paste(text)
        else:
            self._screen.show_note("note", "Nothing to paste", "clipboard empty or not accessible")

    def open_attachment(self, marker: str) -> None:
        """Show an attachment of the prompt on a page, where it can be expanded or removed."""
        from opencode_tui.tui.screens.full_text import AttachmentActions, AttachmentScreen  # loads on demand

        box = self._screen.prompt
        one = box.open_attachment(marker)
        if one is None:
            self._screen.show_note("note", "Nothing is attached")
            return
        actions = AttachmentActions(
            write_out=lambda: box.unfold(marker),
            view=lambda: self._screen.do(self._view(one)),
            remove=lambda: box.detach(marker),
        )
        self._screen.open_page(AttachmentScreen(marker, one, actions))

    async def _view(self, one: Attachment) -> None:
        from opencode_tui.tui.prompt.desktop import view_image

        await asyncio.to_thread(view_image, one.data, one.mime)

    def _queued_ids(self) -> list[str]:
        """Return the messages that wait: for the next step, then for the end of the turn."""
        return [*(one.message_id for one in self._control.transcript.queued), *self._control.waiting.ids]

    async def _edit_queued(self) -> None:
        """Move the last queued message into the prompt, unless it was sent to the model already."""
        queued = self._queued_ids()
        if not queued:
            self._screen.show_note("note", "Nothing is queued")
        elif not await put_back_queued(self._screen, self._control, queued[-1]):
            self._screen.show_note("note", "Too late", "the message was already sent")

    async def _send_queued(self) -> None:
        """Send the oldest queued message at once: a response that is being written is interrupted, tools are not."""
        queued = self._queued_ids()
        if not queued:
            self._screen.show_note("note", "Nothing is queued")
        elif not await self._control.send_now(queued[0]):
            self._screen.show_note("note", "Too late", "the message was already sent")

    def _switch_delivery(self) -> None:
        control = self._control
        control.delivery = "queue" if control.delivery == "steer" else "steer"
        if control.delivery == "queue":
            self._screen.show_note("note", "Messages are queued", "a message sent during a turn waits for its end")
        else:
            self._screen.show_note("note", "Messages steer the turn", "one sent during a turn joins its next step")
        self._screen.refresh_chrome()

    def _stash(self) -> None:
        box = self._screen.prompt
        draft = box.pop_draft()
        if draft.text.strip():
            box.stash.append(draft)
            self._screen.show_note("note", f"Stashed ({len(box.stash)})", "/stash in an empty prompt restores it")
        else:
            self._unstash()

    def _unstash(self) -> None:
        box = self._screen.prompt
        if box.stash:
            box.put_back(box.stash.pop())
        else:
            self._screen.show_note("note", "Stash is empty")

    async def _edit_outside(self) -> None:
        """Edit the prompt in $VISUAL or $EDITOR."""
        box = self._screen.prompt
        descriptor, name = await asyncio.to_thread(tempfile.mkstemp, suffix=".md", prefix="opencode-tui-")
        os.close(descriptor)
        path = Path(name)
        try:
            await asyncio.to_thread(path.write_text, box.editor.text, "utf-8")
            edit_file(self._app, path)
            text = await asyncio.to_thread(path.read_text, "utf-8", "replace")
        finally:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        box.editor.put(text.rstrip("\n"))
        self._screen.refresh_all()

    async def _copy(self) -> None:
        """Copy the text of the last response through the terminal."""
        if self._control.session_id is None:
            return
        for message in reversed(await self._control.client.messages.list(self._control.session_id)):
            texts = [part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip()]
            if isinstance(message.info, AssistantMessage) and texts:
                self._app.copy_to_clipboard("\n\n".join(texts))
                self._screen.show_note("done", "Copied", "the last response")
                return
        self._screen.show_note("note", "No response to copy yet")


async def put_back_queued(screen: ChatApi, control: SessionController, message_id: str) -> bool:
    """Move a queued message into the prompt; return False if it was sent to the model already. Raises NotFoundError."""
    session_id = control.session_id
    if session_id is None:
        return False
    message = await control.client.messages.get(session_id, message_id)
    if not await control.client.prompts.withdraw(session_id, message_id):
        return False
    texts = [part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic]
    screen.prompt.put_back(Draft("\n".join(texts)))
    for part in message.parts:
        if isinstance(part, FilePart) and part.url.startswith("data:") and part.mime.startswith("image/"):
            data = base64.b64decode(part.url.partition(",")[2])
            screen.prompt.attach(Attachment(data=data, mime=part.mime, name=part.filename or ""))
    return True
