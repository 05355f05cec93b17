"""Routes keys to actions: scopes, leader sequences, and the choice between several actions of one key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from textual import events
from textual.message_pump import MessagePump

from opencode_tui.schema.api.keybinds import TYPED_SCOPES, Action
from opencode_tui.tui.keys.keymap import Keymap


class KeyTarget:
    """A screen or widget that runs actions by id."""

    scopes: Sequence[str] = ()
    """The scopes of its actions now; those of the first one come first."""

    def can(self, action: Action) -> bool:
        """Return whether the action is available now."""
        raise NotImplementedError

    def act(self, action_id: str) -> None:
        """Run the action."""
        raise NotImplementedError

    def show_leader(self, is_pending: bool) -> None:
        """Show or hide that the second key of a sequence is expected."""


class KeyRouter:
    """Maps each key to the first action that its target has for it now."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self.last_key = ""
        """The key that is being handled, as the terminal reported it; empty during a click."""
        self._sequence_target: KeyTarget | None = None
        """The target that the second key of a sequence is for."""

    @property
    def is_in_sequence(self) -> bool:
        """Return whether the next key is the second of a sequence."""
        return self._sequence_target is not None

    def handle(self, event: events.Key, target: KeyTarget) -> bool:
        """Run the action of a key; return whether it has one. Other keys go to the focused widget."""
        self.last_key = event.key
        try:
            return self._handle(event, target)
        finally:
            self.last_key = ""

    def find(self, key: str, target: KeyTarget, *, after_leader: bool = False) -> Action | None:
        """Return the action of a key that the target would run now."""
        found = self.keymap.actions(key, target.scopes, after_leader=after_leader)
        return next((action for action in found if target.can(action)), None)

    def knows(self, key: str, scopes: Sequence[str]) -> bool:
        """Return whether a key may have an action while one types, so that pending text must be applied before it."""
        return self.is_in_sequence or self.keymap.is_leader(key, scopes) or bool(self.keymap.actions(key, scopes))

    def _handle(self, event: events.Key, target: KeyTarget) -> bool:
        waiting, self._sequence_target = self._sequence_target, None
        if waiting is not None:
            waiting.show_leader(False)
        if waiting is target:
            self._run(event.key, target, after_leader=True)
            return True
        if self._run(event.key, target, after_leader=False):
            return True
        if self.keymap.is_leader(event.key, target.scopes):
            self._sequence_target = target
            target.show_leader(True)
            return True
        return False

    def _run(self, key: str, target: KeyTarget, *, after_leader: bool) -> bool:
        action = self.find(key, target, after_leader=after_leader)
        if action is not None:
            target.act(action.id)
        return action is not None


@dataclass(frozen=True, slots=True)
class KeyAction:
    """An action that is available now: its words, empty for one that is not shown, and what it does."""

    id: str
    words: str
    act: Callable[[], object]


class Keyed(KeyTarget, MessagePump):
    """A screen or widget with actions of its own; keys that reach it go through the router."""

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that are available now, by id."""
        raise NotImplementedError

    def can(self, action: Action) -> bool:
        """Return whether the action is available now."""
        return action.id in self.key_actions()

    def act(self, action_id: str) -> None:
        """Run the action."""
        self.key_actions()[action_id]()

    def on_key(self, event: events.Key) -> None:
        """Handle a key; no other widget gets it."""
        event.stop()
        self.receive_key(event)

    def receive_key(self, event: events.Key) -> None:
        """Run the action of a key, or handle it as typed text."""
        if not router_of(self).handle(event, self):
            self.type_key(event)

    def type_key(self, event: events.Key) -> None:
        """Handle a key without an action: a character is typed text."""
        if event.is_printable and event.character:
            self.type_text(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Handle pasted text as typed in one line."""
        event.stop()
        self.type_text(" ".join(event.text.split()))

    def type_text(self, text: str) -> None:
        """Handle typed text; ignored unless a subclass has a text."""


class KeyedScreen(Keyed):
    """A screen over the chat. Keys and pastes are handled when they arrive; the app keeps those before it is ready.

    In the queue of the screen those behind a key that closes it would still be for this screen, not for the next one.
    """

    is_ready = False
    """Whether it is mounted, so that it can handle keys."""

    has_help = True
    """Whether keys that work on all pages work here."""

    @property
    def subject(self) -> object:
        """What the actions apply to, such as the selected row; None if that cannot change while the page is open."""
        return None

    def come_back(self, since: int = 0) -> None:
        """Have a question of the page ignore keys for a while that appeared since a moment in ms, in which it was not seen."""

    def handle_now(self, event: events.Key | events.Paste) -> None:
        """Handle a key or paste."""
        if isinstance(event, events.Key):
            self.receive_key(event)
        else:
            self.on_paste(event)

    def receive_key(self, event: events.Key) -> None:
        """Run the action of a key, of this page or of all pages, or handle it as typed text."""
        router = router_of(self)
        if router.handle(event, self):
            return
        shared = next((one for one in router.keymap.actions(event.key, ("app",)) if one.on_pages), None)
        if shared is not None and self.has_help and not (event.is_printable and self.is_typing):
            app_of(self).act_on_page(shared.id)
        else:
            self.type_key(event)

    @property
    def is_typing(self) -> bool:
        """Whether characters are text now."""
        return any(scope.partition(":")[0] in TYPED_SCOPES for scope in self.scopes)

    def on_mount(self) -> None:
        """Have the app deliver what was typed before; handlers of subclasses have run already."""
        self.is_ready = True
        app_of(self).begin_keys()


FAR = 10**6
"""Rows that are more than a list has: by how many an action moves that goes to its first or last row."""


def moves(scope: str, page: int) -> Mapping[str, int]:
    """Return by how many rows the actions of a list or page move the selection; `page` is the number of rows of a page."""
    steps = {"up": -1, "down": 1, "previous": -page, "next": page, "first": -FAR, "last": FAR}
    return {f"{scope}_{name}": rows for name, rows in steps.items()}


class HasRouter:
    """The app, as the widgets with keys use it."""

    router: KeyRouter

    def begin_keys(self) -> None:
        """Deliver the keys that were kept until now, and all later ones at once."""
        raise NotImplementedError

    def act_on_page(self, action_id: str) -> None:
        """Run an action of the app that works on all pages, over the page that is shown."""
        raise NotImplementedError


def app_of(widget: MessagePump) -> HasRouter:
    """Return the app that a widget is in."""
    return cast("HasRouter", widget.app)


def router_of(widget: MessagePump) -> KeyRouter:
    """Return the router of the app that a widget is in."""
    return app_of(widget).router


def keymap_of(widget: MessagePump) -> Keymap:
    """Return the active keys of the app that a widget is in."""
    return router_of(widget).keymap
