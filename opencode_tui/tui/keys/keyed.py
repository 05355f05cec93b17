"""Screens and widgets that have actions of their own, and the actions that many of them have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from textual import events
from textual.message_pump import MessagePump

from opencode_tui.schema.api.keybinds import TYPED_SCOPES, Action
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import CLOSE_PAGE, KeyRouter, KeyTarget


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


CANCEL = "panel_cancel"
"""The answer to a question that does nothing but close it."""


def by_id(*actions: KeyAction) -> Mapping[str, Callable[[], object]]:
    """Return what the actions do, by their IDs."""
    return {one.id: one.act for one in actions}


def opens(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that opens the selected row of a page."""
    return KeyAction("page_open", words, act)


def closes(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that closes a page."""
    return KeyAction(CLOSE_PAGE, words, act)


def close_key(keymap: Keymap) -> str:
    """Return the key that closes pages, as it is shown."""
    return keymap.first(CLOSE_PAGE)


def chooses(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that chooses the selected row of a list with a filter."""
    return KeyAction("list_choose", words, act)


def leaves(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the action that closes a list with a filter."""
    return KeyAction("list_close", words, act)


def filters(*, erase: Callable[[], object], clear: Callable[[], object]) -> Mapping[str, Callable[[], object]]:
    """Return the actions that delete the last character of a filter, and all of it."""
    return {"list_erase": erase, "list_clear": clear}


def edits(text: str, use: Callable[[str], object]) -> Mapping[str, Callable[[], object]]:
    """Return the actions that delete the last character of a typed text, its last word, and all of it; `use` gets the rest."""
    return {
        **filters(erase=lambda: use(text[:-1]), clear=lambda: use("")),
        "list_erase_word": lambda: use(text.rstrip().rpartition(" ")[0]),
    }


def confirms(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the answer yes to a question."""
    return KeyAction("panel_yes", words, act)


def cancels(words: str, act: Callable[[], object]) -> KeyAction:
    """Return the answer that closes a question and does nothing else."""
    return KeyAction(CANCEL, words, act)


def dismisses(words: str, act: Callable[[], object]) -> tuple[KeyAction, KeyAction]:
    """Return the two answers to a message, which both close it; only the first one is shown."""
    return KeyAction("notice_close", words, act), cancels("", act)
