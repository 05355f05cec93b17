"""Actions on several sessions at once: delete, archive, pin, export, restore; and the undo of what was deleted or archived."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct

from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screen_api import ChatApi, PanelApi
from opencode_tui.tui.session_tree import is_pinned
from opencode_tui.tui.state.controller import SessionController

LISTED = 12
"""Titles that a preview lists."""

Back = Callable[[str], object]
"""Called at the end with what was done, empty when nothing was."""

Work = Callable[[], Coroutine[object, object, str]]
"""Returns what was done."""

KEPT = "Your files are not touched. The trash keeps it, and u brings it back."
KEPT_ALL = "Your files are not touched. The trash keeps them, and u brings them back."


class Moved(Struct, frozen=True):
    """Sessions that were deleted or archived together in this run."""

    kind: Literal["deleted", "archived"]
    infos: Sequence[SessionInfo]


class SessionSets:
    """Acts on sessions after a preview; `moved` is what can be undone for the rest of the run, the last one at the end."""

    def __init__(self, screen: ChatApi, panels: PanelApi, control: SessionController) -> None:
        self._screen = screen
        self._panels = panels
        self._control = control
        self.moved: list[Moved] = []
        self.last_restored = ""
        """The ID of the session that was brought back last."""

    def delete(self, infos: Sequence[SessionInfo], back: Back) -> None:
        """Move sessions to the trash after a confirmation."""
        self._screen.do(self._ask_delete(infos, back))

    async def _ask_delete(self, infos: Sequence[SessionInfo], back: Back) -> None:
        below = sum(len(self._control.folder.family(info.id)) - 1 for info in infos)
        facts = [] if not below else [f"  and {plural(below, 'subagent session')}"]
        if len(infos) == 1:
            messages = await self._control.client.messages.list(infos[0].id)
            facts = [f"  {plural(len(messages), 'message')}" + (f" {facts[0].strip()}" if facts else "")]
        title = "Move this session to the trash?" if len(infos) == 1 else f"Move {len(infos)} sessions to the trash?"
        about = [*_titles(infos), *facts]
        self._ask(title, about, KEPT if len(infos) == 1 else KEPT_ALL, "delete", partial(self._delete, infos), back)

    async def _delete(self, infos: Sequence[SessionInfo]) -> str:
        deleted: list[SessionInfo] = []
        try:
            for info in _roots(infos):
                await self._control.client.sessions.remove(info.id)
                self._control.replace(info.id, None)
                deleted.append(info)
                if self._control.session_id == info.id:
                    self._control.leave()
        finally:
            self._remember("deleted", deleted)
        return f"Moved to the trash: {_named(infos)}"

    def archive(self, infos: Sequence[SessionInfo], back: Back) -> None:
        """Archive sessions, several ones after a preview."""
        sentence = "Lists omit archived sessions. Nothing is deleted."
        self._ask_for_several("archive", infos, sentence, partial(self._archive, infos), back)

    async def _archive(self, infos: Sequence[SessionInfo]) -> str:
        archived: list[SessionInfo] = []
        try:
            for info in infos:
                await self._update(info, UpdateSession(archived=self._control.now()))
                archived.append(info)
        finally:
            self._remember("archived", archived)
        return f"Archived: {_named(infos)}"

    def unarchive(self, infos: Sequence[SessionInfo], back: Back) -> None:
        """Put archived sessions back into the lists."""
        self._do(partial(self._unarchive, infos), back)

    async def _unarchive(self, infos: Sequence[SessionInfo]) -> str:
        for info in infos:
            await self._update(info, UpdateSession(archived=0))
        return f"Listed again: {_named(infos)}"

    def pin(self, infos: Sequence[SessionInfo], back: Back) -> None:
        """Pin sessions, several ones after a preview; unpin them if all are pinned."""
        verb = "unpin" if all(is_pinned(info) for info in infos) else "pin"
        sentence = "Pinned sessions are the first in every list."
        self._ask_for_several(verb, infos, sentence, partial(self._pin, infos, verb == "pin"), back)

    async def _pin(self, infos: Sequence[SessionInfo], is_wanted: bool) -> str:
        for info in infos:
            await self._update(info, UpdateSession(pinned=is_wanted))
        return f"{'Pinned' if is_wanted else 'Unpinned'}: {_named(infos)}"

    def export(self, infos: Sequence[SessionInfo], back: Back) -> None:
        """Write several conversations to new Markdown files in this folder after a preview."""
        names = [f"  session-{info.id}.md  {info.title}" for info in infos[:LISTED]]
        sentence = f"New files in {self._control.client.directory}."
        self._ask(
            f"Export {len(infos)} sessions as Markdown?",
            [*names, *_more(infos)],
            sentence,
            "write",
            partial(self._export, infos),
            back,
        )

    async def _export(self, infos: Sequence[SessionInfo]) -> str:
        from opencode_tui.client.user_files import write_new
        from opencode_tui.text.conversation import to_markdown

        for info in infos:
            messages = await self._control.client.messages.list(info.id)
            path = self._control.client.directory / f"session-{info.id}.md"
            await asyncio.to_thread(write_new, path, [to_markdown(info, messages)])
        return f"Exported: {_named(infos)}"

    @property
    def can_undo(self) -> bool:
        """Return whether `undo` has something to bring back."""
        return bool(self.moved)

    def undo(self, back: Back) -> None:
        """Bring back what was deleted or archived last."""
        if self.moved:
            self._do(self._undo, back)

    async def _undo(self) -> str:
        last = self.moved[-1]
        try:
            for info in last.infos:
                if last.kind == "deleted":
                    self._control.replace(info.id, await self._control.client.trash.restore(info.id))
                else:
                    await self._update(info, UpdateSession(archived=0))
        finally:
            self.moved.remove(last)
        self.last_restored = last.infos[0].id
        self._screen.refresh_chrome()
        return f"Restored: {_named(last.infos)}"

    def restore(self, entries: Sequence[TrashedSession], back: Back) -> None:
        """Restore sessions of the trash."""
        self._do(partial(self._restore, entries), back)

    async def _restore(self, entries: Sequence[TrashedSession]) -> str:
        for entry in entries:
            await self._control.client.trash.restore(entry.name)
            self.moved = [one for one in self.moved if all(info.id != entry.session_id for info in one.infos)]
        return f"Restored: {_named(entries)}"

    def remove(self, entries: Sequence[TrashedSession], back: Back) -> None:
        """Remove sessions of the trash permanently after a confirmation."""
        size = byte_words(sum(entry.bytes for entry in entries))
        count = "this session" if len(entries) == 1 else f"{len(entries)} sessions"
        sentence = f"{size}. This can't be undone."
        self._ask(
            f"Remove {count} permanently?", _titles(entries), sentence, "remove", lambda: self._remove(entries), back
        )

    async def _remove(self, entries: Sequence[TrashedSession]) -> str:
        await self._control.client.trash.empty([entry.name for entry in entries])
        gone = {entry.session_id for entry in entries}
        self.moved = [one for one in self.moved if all(info.id not in gone for info in one.infos)]
        return f"Removed permanently: {_named(entries)}"

    async def _update(self, info: SessionInfo, change: UpdateSession) -> None:
        self._control.replace(info.id, await self._control.client.sessions.update(info.id, change))
        self._screen.refresh_chrome()

    def _remember(self, kind: Literal["deleted", "archived"], infos: Sequence[SessionInfo]) -> None:
        if infos:
            self.moved.append(Moved(kind, infos))
        self._screen.refresh_chrome()

    def _ask_for_several(self, verb: str, infos: Sequence[SessionInfo], sentence: str, work: Work, back: Back) -> None:
        if len(infos) == 1:
            self._do(work, back)
        else:
            title = f"{verb.capitalize()} {len(infos)} sessions?"
            self._ask(title, _titles(infos), sentence, verb, work, back)

    def _ask(self, title: str, about: Sequence[str], sentence: str, verb: str, work: Work, back: Back) -> None:
        def close(then: Callable[[], object]) -> None:
            self._panels.close()
            then()

        answers = (
            KeyAction("panel_yes", verb, partial(close, lambda: self._do(work, back))),
            KeyAction("panel_cancel", "cancel", partial(close, lambda: back(""))),
        )
        self._panels.open(ConfirmPanel(Question(title, about, sentence, answers)))

    def _do(self, work: Work, back: Back) -> None:
        async def done() -> None:
            try:
                words = await work()
            except OpencodeError as error:
                back(str(error))
                raise
            back(words)

        self._screen.do(done())


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
