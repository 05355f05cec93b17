"""Where each key and paste goes, before, while and after the chat is loaded: one state machine.

| state | a text, a paste | another key |
|---|---|---|
| start: no screen can handle keys yet | kept | kept |
| a page is opened, which is not mounted yet | kept | kept |
| hold: something is loaded that keys are for | kept | kept; the key that closes pages cancels it |
| hold that lets the user type | to the prompt | kept, with all that follow |
| hold of the start, which cannot be canceled | as above | a key that quits does so, where it would behind the kept ones |
| open | to the screen on top | to the screen on top |

Kept keys are delivered one by one, in order, before any later one: what the first one does may keep the others again. On the
screen the second key of a sequence is for the target of the first one, and a key that was typed before a question could be
read is for the prompt.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from textual import events

from opencode_tui.schema.api.keybinds import BY_ID, QUIT, Action
from opencode_tui.tui.keys.keymap import Keymap

CLOSE_PAGE = "page_close"
"""The action that closes pages, and cancels what is loaded."""

_EDITS = BY_ID["input_word_forward"].group
"""The group of the actions that move in a text or delete a part of it: they do nothing in an empty prompt."""

Input = events.Key | events.Paste


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


class Way(Enum):
    """Where a key or a paste goes."""

    SCREEN = auto()
    """To the screen on top."""
    KEPT = auto()
    """It waits for what is not shown yet."""
    DROPPED = auto()
    """It ended the loading; what was kept is dropped."""
    QUITS = auto()
    """It ends the app."""


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """Keys wait for what is being loaded; `cancel` ends the loading. With `lets_type` text goes to the prompt at first."""

    cancel: Callable[[], object] | None = None
    lets_type: bool = False


class KeyRouter:
    """The states of the keys, and the action of a key that its target has now."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self.last_key = ""
        """The key that is being handled, as the terminal reported it; empty during a click."""
        self._kept: list[Input] | None = []
        """What waits, in order; None if keys go to the screen."""
        self._hold: Hold | None = None
        self._handled: events.Key | None = None
        """The key that is being handled, unless it is the second one of a sequence."""
        self._sequence_target: KeyTarget | None = None
        """The target that the second key of a sequence is for."""
        self.is_for_prompt = False
        """Whether the current key was typed before the question that is shown became active."""

    # Before a screen gets a key.

    @property
    def keeps_none(self) -> bool:
        """Whether nothing is kept, and nothing is loaded that keys are for."""
        return self._kept is None and self._hold is None

    @property
    def is_starting(self) -> bool:
        """Whether something is loaded that cannot be canceled."""
        return self._hold is not None and self._hold.cancel is None

    def admit(self, event: Input, *, is_ready: bool) -> Way:
        """Return where a key or a paste goes, and keep it if it waits; `is_ready`: the screen on top can handle keys."""
        hold = self._hold
        if hold is not None and isinstance(event, events.Key):
            if hold.cancel is None and self._quits(event):
                if all(map(self._edits, self._kept or ())):
                    return Way.SCREEN
                if self._is_last_press(event):
                    return Way.QUITS
            if hold.cancel is not None and self._closes_page(event):
                if self._kept is not None:
                    self._kept.clear()
                hold.cancel()
                return Way.DROPPED
        is_text = isinstance(event, events.Paste) or event.is_printable
        is_let = hold is None or (hold.lets_type and is_text)
        if self._kept is None:
            if is_ready and is_let:
                return Way.SCREEN
            self._kept = []
        self._kept.append(event)
        return Way.KEPT

    def hold(self, cancel: Callable[[], object] | None = None, *, lets_type: bool = False) -> Hold:
        """Keep all keys from now on, until `release`; with `lets_type` text is let through until the first other key."""
        hold = self._hold = Hold(cancel, lets_type)
        if not lets_type and self._kept is None:
            self._kept = []
        return hold

    def keep_handled(self) -> bool:
        """Keep the key that is being handled before all others; return whether there is such a key."""
        if self._handled is not None and self._kept is not None:
            self._kept.insert(0, self._handled)
        return self._handled is not None

    def release(self, hold: Hold) -> bool:
        """End a hold; return whether what is kept is to be delivered: another hold may have replaced it."""
        if self._hold is not hold:
            return False
        self._hold = None
        return True

    async def deliver(self, handle: Callable[[Input], Awaitable[object]]) -> bool:
        """Have the first kept key handled, the others behind what it does; return whether the next one can be delivered now.

        It may close a list, or show what keeps them.
        """
        kept, self._kept = self._kept or [], None
        if not kept:
            return False
        await handle(kept.pop(0))
        is_kept = self._kept is not None
        if kept:
            self._kept = [*(self._kept or ()), *kept]
        return bool(kept) and not is_kept

    def _is_last_press(self, event: events.Key) -> bool:
        """Return whether a key quits after the kept ones: at its second press, and at the third one if the first clears a text.

        One that deletes single characters may be for any text.
        """
        kept, presses = list(self._kept or ()), 0
        while kept and isinstance(last := kept[-1], events.Key) and self._quits(last):
            kept.pop()
            presses += 1
        while kept and self._edits(kept[-1]):
            kept.pop()
        last = kept[-1] if kept else None
        sends = isinstance(last, events.Key) and BY_ID["input_submit"] in self._prompt_actions(last)
        if last is None or sends:
            return presses > 0
        return presses > 1 and all(one.group != _EDITS for one in self._prompt_actions(event))

    def _edits(self, event: Input) -> bool:
        """Return whether a kept key does nothing in an empty prompt."""
        if not isinstance(event, events.Key) or self._quits(event):
            return False
        return {one.group for one in self._prompt_actions(event)} == {_EDITS}

    def _prompt_actions(self, event: events.Key) -> Sequence[Action]:
        return self.keymap.actions(event.key, ("prompt",))

    def _quits(self, event: events.Key) -> bool:
        quit_action = BY_ID[QUIT]
        return quit_action in self.keymap.actions(event.key, (quit_action.scope,))

    def _closes_page(self, event: events.Key) -> bool:
        """Return whether a key that is no text closes pages."""
        return not event.is_printable and any(one.id == CLOSE_PAGE for one in self.keymap.actions(event.key, ("page",)))

    # While the screen on top handles a key.

    def begin(self, event: events.Key) -> None:
        """Begin to handle a key, which `keep_handled` may keep."""
        self._handled = None if self.is_in_sequence else event

    def end(self) -> None:
        """End that, and what was decided about the key: a click has no such doubt."""
        self._handled = None
        self.is_for_prompt = False

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
