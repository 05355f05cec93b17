"""From a key to the act that it means now: leader sequences, and several acts on one key told apart by what is shown."""

from typing import Protocol

from textual import events

from opencode_tui.tui.keymap import Action, Area, Keymap

_ORDER: tuple[Area, ...] = ("prompt", "chat", "list", "app")
"""Who gets a key that several could take."""


class KeyTarget(Protocol):
    """A screen that acts on action ids."""

    def can(self, action: Action) -> bool:
        """Whether the act makes sense now."""
        ...

    def act(self, action_id: str) -> None:
        """Do it, or begin to."""
        ...

    def show_leader(self, is_pending: bool) -> None:
        """Say that a second key is awaited, or no longer."""
        ...


class KeyRouter:
    """Takes every key before any widget does."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self.last_key = ""
        """The key that is being acted on, as the terminal reported it; empty for what a click does."""
        self._is_led = False

    def handle(self, event: events.Key, target: KeyTarget) -> bool:
        """Act on a key; tells whether it was one of ours. What is left belongs to the widget with the focus."""
        self.last_key = event.key
        try:
            return self._handle(event, target)
        finally:
            self.last_key = ""

    def knows(self, key: str) -> bool:
        """Tell whether a key may be more than a letter: whoever takes it should know what was typed before."""
        return self._is_led or self.keymap.is_leader(key) or bool(self.keymap.actions(key))

    def _handle(self, event: events.Key, target: KeyTarget) -> bool:
        if self._is_led:
            self._is_led = False
            target.show_leader(False)
            self._act(event.key, target, led=True)
            return True
        if self._act(event.key, target, led=False):
            return True
        if self.keymap.is_leader(event.key):
            self._is_led = True
            target.show_leader(True)
            return True
        return False

    def _act(self, key: str, target: KeyTarget, *, led: bool) -> bool:
        candidates = sorted(self.keymap.actions(key, led=led), key=lambda action: _ORDER.index(action.area))
        for action in candidates:
            if target.can(action):
                target.act(action.id)
                return True
        return False
