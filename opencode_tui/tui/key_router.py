"""Routes keys to actions: leader sequences, and the choice between several actions of one key."""

from typing import Protocol

from textual import events

from opencode_tui.tui.keymap import Action, Area, Keymap

_ORDER: tuple[Area, ...] = ("prompt", "focus", "chat", "list", "app")
"""Priority of the areas for a key with several actions."""


class KeyTarget(Protocol):
    """A screen that runs actions by id."""

    def can(self, action: Action) -> bool:
        """Return whether the action is available now."""
        ...

    def act(self, action_id: str) -> None:
        """Run the action."""
        ...

    def show_leader(self, is_pending: bool) -> None:
        """Show or hide that the second key of a sequence is expected."""
        ...


class KeyRouter:
    """Handles keys before the widgets do."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self.last_key = ""
        """The key that is being handled, as the terminal reported it; empty during a click."""
        self.is_led = False
        """Whether the next key is the second of a sequence."""

    def handle(self, event: events.Key, target: KeyTarget) -> bool:
        """Run the action of a key; return whether it has one. Other keys go to the focused widget."""
        self.last_key = event.key
        try:
            return self._handle(event, target)
        finally:
            self.last_key = ""

    def knows(self, key: str) -> bool:
        """Return whether a key may have an action while one types, so that pending text must be applied before it."""
        is_bound = any(action.area != "focus" for action in self.keymap.actions(key))
        return self.is_led or self.keymap.is_leader(key) or is_bound

    def _handle(self, event: events.Key, target: KeyTarget) -> bool:
        if self.is_led:
            self.is_led = False
            target.show_leader(False)
            self._act(event.key, target, led=True)
            return True
        if self._act(event.key, target, led=False):
            return True
        if self.keymap.is_leader(event.key):
            self.is_led = True
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
