"""Actions on sessions: new, rename, delete, fork, export, compact, and navigation between them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import ForkSession, UpdateSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions.session_sets import SessionSets
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.options import Place
from opencode_tui.tui.screen_api import ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController


def _nothing() -> None: ...


class SessionActions:
    """Actions on the shown session, or on one of a list."""

    def __init__(self, screen: ChatApi, panels: PanelApi, control: SessionController, sets: SessionSets) -> None:
        self._screen = screen
        self._panels = panels
        self._control = control
        self._sets = sets

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "session_new": self._control.leave,
            "session_rename": lambda: self._with_shown(self.rename),
            "session_delete": lambda: self._with_shown(lambda info: self._sets.delete([info], self._note)),
            "session_archive": lambda: self._with_shown(lambda info: self._sets.archive([info], self._note)),
            "session_pin": lambda: self._with_shown(lambda info: self._sets.pin([info], self._note)),
            "session_restore": self._restore,
            "session_fork": lambda: self._with_shown(lambda info: self._screen.do(self.fork(info.id))),
            "session_compact": lambda: self._with_shown(lambda info: self._screen.do(self._compact(info))),
            "session_parent": self._go_up,
            "session_child_cycle": lambda: self._cycle(1),
            "session_child_cycle_reverse": lambda: self._cycle(-1),
            "sidebar_toggle": self._screen.toggle_sidebar,
        }

    def with_words(self) -> Mapping[str, Callable[[str], object]]:
        """Return the actions that use the words after the name of their slash command, by id."""
        return {
            "session_rename": lambda words: self._with_shown(lambda info: self._screen.do(self.set_title(info, words))),
            "session_compact": lambda words: self._with_shown(lambda info: self._screen.do(self._compact(info, words))),
        }

    def open(self, session_id: str) -> None:
        """Show another session."""
        self._screen.do(self._control.open(session_id))

    def open_elsewhere(self, directory: str, session_id: str, place: Place | None = None) -> None:
        """Show a session of another folder, at a place of it, unless the folder is gone or a run would be left."""
        folder = self._control.folder
        if self._control.is_alone and not Path(directory).is_dir():
            self._screen.show_note("failed", f"{directory} does not exist anymore", "the folder of this session")
        elif self._control.is_alone and any(one in folder.sessions for one in folder.statuses):
            self._screen.show_note(
                "note", "The agent is running here", "interrupt it or wait, then open another folder"
            )
        elif self._control.is_alone and any(one.is_running for one in folder.background.values()):
            self._screen.show_note(
                "note", "A background command is running here", "stop it (/jobs), then open another folder"
            )
        else:
            self._screen.leave_for(Path(directory), session_id, place)

    def rename(self, info: SessionInfo, after: Callable[[], object] = _nothing) -> None:
        """Ask for a new title; `after` is called when it was set, or not."""

        def done(title: str) -> None:
            self._panels.close()
            self._screen.do(self.set_title(info, title, after))

        ask = TextAsk("Rename this session", "rename", text=info.title)
        self._panels.open(TextPanel(ask, done=done, back=partial(self._close, after)))

    async def set_title(self, info: SessionInfo, title: str, after: Callable[[], object] = _nothing) -> None:
        """Rename a session, unless the title is empty."""
        if title and title != info.title:
            changed = await self._control.client.sessions.update(info.id, UpdateSession(title=title))
            self._control.replace(info.id, changed)
        after()

    def _close(self, after: Callable[[], object]) -> None:
        self._panels.close()
        after()

    def _note(self, words: str) -> None:
        head, _, facts = words.partition(": ")
        if words:
            self._screen.show_note("note", head, facts)

    def _restore(self) -> None:
        """Bring back what was deleted or archived last in this run."""
        if self._sets.can_undo:
            self._sets.undo(self._note)
        else:
            self._screen.show_note(
                "note", "Nothing to restore", "older deleted sessions are in the trash of the session list"
            )

    async def fork(self, session_id: str, message_id: str | None = None) -> None:
        """Fork a session, up to a message or as a whole, and open the fork."""
        made = await self._control.client.sessions.fork(session_id, ForkSession(message_id=message_id))
        await self._control.open(made.id)
        self._screen.show_note("note", "Forked", "the original session is unchanged")

    async def restore(self, part_id: str) -> None:
        """Restore a pruned output in the context."""
        if self._control.session_id is not None:
            await self._control.client.context.restore(self._control.session_id, [part_id])
            self._screen.show_note("done", "Restored", "sent again with the next request")

    async def _compact(self, info: SessionInfo, focus: str | None = None) -> None:
        self._screen.show_note("note", "Compacting", "summarizing older messages")
        await self._control.client.context.compact(
            info.id, CompactSession(model=self._control.choice.model, focus=focus)
        )
        self._screen.show_note("done", "Compacted")

    def _go_up(self) -> None:
        facts = self._control.facts
        if facts is not None and facts.info.parent_id:
            self.open(facts.info.parent_id)

    def _cycle(self, step: int) -> None:
        """Open the next subagent session of the same parent."""
        facts = self._control.facts
        if facts is None:
            return
        parent = facts.info.parent_id or facts.info.id
        sessions = self._control.folder.sessions.values()
        ids = sorted(one.id for one in sessions if one.parent_id == parent)
        if ids:
            at = ids.index(facts.info.id) + step if facts.info.id in ids else (0 if step > 0 else -1)
            self.open(ids[at % len(ids)])

    def _with_shown(self, act: Callable[[SessionInfo], object]) -> None:
        if self._control.facts is None:
            self._screen.show_note("note", "No session yet", "send a message to start one")
        else:
            act(self._control.facts.info)
