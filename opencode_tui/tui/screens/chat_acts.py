"""What the keys of the chat do, by action id; each is a few lines that ask the control or open something."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opencode_tui.tui.control import Control, now_ms
from opencode_tui.tui.keymap import Action
from opencode_tui.tui.status.activity import Activity

if TYPE_CHECKING:
    from opencode_tui.tui.screens.chat import ChatScreen

ARMED_MS = 5_000
"""Milliseconds within which a second press interrupts or quits."""


class ChatActs:
    """The acts of one chat screen."""

    def __init__(self, screen: "ChatScreen", control: Control) -> None:
        self._screen = screen
        self._control = control
        self._armed: dict[str, int] = {}
        self._acts: Mapping[str, Callable[[], object]] = {
            "app_exit": self._quit,
            "input_submit": self._submit,
            "session_interrupt": self._interrupt,
            "session_new": self._new,
            "agent_cycle": lambda: self._cycle_agent(1),
            "agent_cycle_reverse": lambda: self._cycle_agent(-1),
            "model_cycle_recent": lambda: self._cycle_model(1),
            "model_cycle_recent_reverse": lambda: self._cycle_model(-1),
            "variant_cycle": self._cycle_variant,
        }

    def can(self, action: Action) -> bool:
        """Whether the act makes sense now."""
        return action.id in self._acts

    def act(self, action_id: str) -> None:
        """Do it."""
        self._acts[action_id]()

    def submit(self, text: str) -> None:
        """Send a text as if it had been typed."""
        self._screen.do(self._send(text))

    def _submit(self) -> None:
        editor = self._screen.prompt.editor
        text = editor.text
        if text.strip():
            editor.put("")
            self._screen.forget_note()
            self.submit(text)

    async def _send(self, text: str) -> None:
        stored: list[str] = []
        try:
            if text.startswith("!"):
                await self._control.shell(text[1:].strip(), stored=stored.append)
            else:
                await self._control.send(text, [], stored=stored.append)
        except BaseException:
            if not stored:  # nothing is lost: what could not be sent stands in the prompt again
                self._screen.prompt.editor.put_in(text)
            raise

    def _interrupt(self) -> None:
        if not self._control.is_busy:
            return
        if self._is_armed("interrupt"):
            self._screen.do(self._abort())
        else:
            self._screen.activity.show_aside(
                _again(self._screen.keymap.first("session_interrupt"), "again to interrupt")
            )
            self._screen.set_timer(ARMED_MS / 1000, self._disarm)

    async def _abort(self) -> None:
        self._disarm()
        await self._control.interrupt()

    def _disarm(self) -> None:
        self._armed.clear()
        self._screen.activity.show_aside(_again("", ""))

    def _is_armed(self, what: str) -> bool:
        """Tell whether this is the second press, and remember it as the first when it is not."""
        now = now_ms()
        if now - self._armed.get(what, -ARMED_MS) < ARMED_MS:
            return True
        self._armed[what] = now
        return False

    def _quit(self) -> None:
        self._screen.leave()

    def _new(self) -> None:
        self._control.leave()

    def _cycle_agent(self, step: int) -> None:
        self._control.choice.cycle_agent(step)
        self._screen.settle()

    def _cycle_model(self, step: int) -> None:
        self._control.choice.cycle_model(step)
        self._screen.settle()

    def _cycle_variant(self) -> None:
        self._control.choice.cycle_variant()
        self._screen.settle()


def _again(key: str, act: str) -> Activity:
    return Activity(key=key, act=act)
