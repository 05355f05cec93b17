"""Actions that interrupt a run or quit; both need a second press of the same key, or a confirmation."""

import os
from collections.abc import Callable, Mapping

from opencode_tui.text.quantity import plural
from opencode_tui.tui.actions.prompt import put_back_queued
from opencode_tui.tui.chrome.activity import Activity
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.keys.keymap import shown
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController

SHARED = ("ctrl+c", "ctrl+d")
"""Keys that quit and also edit the prompt."""

ARMED_MS = 5_000
"""Milliseconds within which a second press interrupts or quits."""

LISTED_COMMANDS = 6
"""Most background commands that the question lists one by one."""

STOPS_TURN = "The current turn will be stopped. Completed work is kept; resume the session any time."
ENDS_COMMANDS = "Background commands end with the program; their changes of files are recorded."


class RunActions:
    """Actions on the run and on the program."""

    def __init__(
        self,
        screen: ChatApi,
        app: AppApi,
        panels: PanelApi,
        control: SessionController,
        do: Callable[[str], object],
    ) -> None:
        self._do = do
        self._screen = screen
        self._app = app
        self._panels = panels
        self._control = control
        self._armed: tuple[str, str, int] | None = None
        """What a second press of a key does until a time in ms."""

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "session_interrupt": self._interrupt,
            "app_exit": self._press_quit,
            "terminal_suspend": self._suspend,
        }

    def _interrupt(self) -> None:
        if not self._control.is_busy:
            self._screen.clear_note()
            self._rewind()
        elif self._is_second("interrupt"):
            self._screen.do(self._abort())
        else:
            self._arm("interrupt", Activity(key=self._pressed("session_interrupt"), act="again to interrupt"))

    def _rewind(self) -> None:
        """Open the timeline on the second press with an empty prompt: from there one undoes or forks from any turn."""
        if self._control.facts is None or self._screen.prompt.editor.text:
            return
        if self._is_second("rewind"):
            self._disarm()
            self._do("session_timeline")
        else:
            key = self._app.keymap.first("session_interrupt")
            self._arm("rewind", Activity(key=key, act="again to rewind", action_id="session_timeline"))

    async def _abort(self) -> None:
        """Interrupt the run; messages that waited for its end come back into the prompt, where nothing sends them by itself."""
        self._disarm()
        await self._control.interrupt()
        for message_id in reversed(self._control.waiting.ids):
            await put_back_queued(self._screen, self._control, message_id)

    def _press_quit(self) -> None:
        """Quit; keys with other uses need a second press, and ctrl+c interrupts a run first."""
        if self._app.last_key == "ctrl+c" and self._control.is_busy:
            self._interrupt()
        elif self._app.last_key not in SHARED or self._is_second("quit"):
            self._disarm()
            self.quit()
        else:
            self._arm("quit", Activity(key=self._app.last_key, act="again to quit", action_id="app_exit"))

    def quit(self) -> None:
        """Quit; ask first while runs or background commands are active that would end with this process."""
        control = self._control
        busy = [one for one in control.folder.statuses if one in control.folder.sessions]
        commands = [one for one in control.folder.background.values() if one.is_running]
        if not (busy or commands) or not control.client.ends_runs:
            self._screen.leave()
            return
        about = [f"  {control.folder.sessions[one].title}" for one in busy]
        about += [f"  {one.id}  {one.command.strip().splitlines()[0]}" for one in commands[:LISTED_COMMANDS]]
        if len(commands) > LISTED_COMMANDS:
            about.append(f"  and {len(commands) - LISTED_COMMANDS} more")
        if others := control.client.terminals:
            about.append(f"{plural(others, 'other terminal')} will go on with another engine")
        sentences = [STOPS_TURN] if busy else []
        sentences += [ENDS_COMMANDS] if commands else []
        ends = "stop and quit" if busy else "end it and quit" if len(commands) == 1 else "end them and quit"
        self._panels.open(
            ConfirmPanel(
                Question(
                    "Quit while the agent is running?" if busy else "Quit while background commands are running?",
                    about,
                    " ".join(sentences),
                    (
                        KeyAction("panel_yes", ends, lambda: self._screen.do(self._end_and_leave())),
                        KeyAction("panel_cancel", "stay", self._panels.close),
                    ),
                )
            )
        )

    async def _end_and_leave(self) -> None:
        for session_id in list(self._control.folder.statuses):
            await self._control.client.prompts.abort(session_id)
        ended = await self._control.client.background.end()
        self._screen.leave(messages=[line for one in ended if (line := one.format_undone())])

    def _suspend(self) -> None:
        if os.getsid(0) == os.getpid():  # the kernel suspends no leader of a session: nothing could resume it
            self._screen.show_note("note", "Suspend needs a shell to return to", "this terminal has none")
            return
        self._app.action_suspend_process()

    def _disarm(self) -> None:
        self._armed = None
        self._screen.show_aside(Activity())

    def disarm_other(self, key: str) -> None:
        """Drop a first press when another key follows."""
        if self._armed is not None and self._armed[1] != key:
            self._disarm()

    def _pressed(self, action_id: str) -> str:
        """Return the key to press again: the one that was pressed, in readable form, else the action's first one."""
        return shown(self._app.last_key, "") if self._app.last_key else self._app.keymap.first(action_id)

    def _is_second(self, what: str) -> bool:
        """Return whether this is the second press."""
        return self._armed is not None and self._armed[0] == what and self._control.now() < self._armed[2]

    def _arm(self, what: str, hint: Activity) -> None:
        """Record a first press and show what a second one does, until its time is over or another first press follows."""
        armed = self._armed = (what, self._app.last_key, self._control.now() + ARMED_MS)
        self._screen.show_aside(hint)
        self._screen.set_timer(ARMED_MS / 1000, lambda: self._disarm() if self._armed is armed else None)
