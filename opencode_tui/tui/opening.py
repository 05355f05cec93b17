"""What the screen does before the engine is open: it keeps the actions of keys for later."""

from collections.abc import Callable, Sequence

from textual import events
from textual.widget import Widget

from opencode_tui.schema.api.keybinds import QUIT, Action
from opencode_tui.text.quantity import duration
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.chrome.activity import Activity, Kind
from opencode_tui.tui.chrome.frame import Frame
from opencode_tui.tui.options import Ending


class Opening:
    """In the place of the chat until it is built: only a wait is shown around the prompt, and no question waits."""

    def __init__(self, frame: Frame, app: BaseApp) -> None:
        self._frame = frame
        self._app = app
        self.actions: list[str] = []
        """The actions to run once the engine is open, before what kept keys do."""
        self.on_shown: Callable[[], None] | None = None
        """To be called when the actions have run: keys are kept until then, from the first one that needs the engine on."""
        self.first_press = ""
        """The key that quits, if it was pressed once, until another key."""
        self._wait: tuple[str, float] | None = None
        """What the activity line says is waited for, and for how many seconds."""

    def begin_with(self, action_id: str) -> None:
        """Run an action before those of keys once the engine is open; all keys are for what it shows."""
        self.actions.insert(0, action_id)
        self.on_shown = self._app.hold_until_shown()

    def show_wait(self, what: str, seconds: float) -> None:
        """Show in the activity line what is waited for, and for how long: `Opening ~/work  3 s`."""
        self._wait = what, seconds
        key, act = self.first_press or self._app.keymap.first(QUIT), "again to quit" if self.first_press else "quit"
        self._frame.activity.show(Activity("busy", screen_line(what), duration(seconds), key, act, QUIT))

    def _show_press(self) -> None:
        """Show what the key that quits does now, if a wait is shown."""
        if self._wait is not None:
            self.show_wait(*self._wait)

    def can(self, action: Action) -> bool:
        """Return whether an action can run later: there is no conversation whose item it could be for."""
        return action.scope != "item"

    def run(self, action_id: str) -> None:
        """Run an action later; quit at once, but at the second press of a key that edits the prompt, as at a complete screen.

        The key of another action is kept with all later ones, as what they do depends on it: then each does what it does at a
        complete screen. A sequence of keys and a click are kept by their actions.
        """
        if action_id == QUIT:
            key = self._app.last_key
            if not self.first_press and self._app.keymap.actions(key, ("prompt",)):
                self.first_press = key
                self._show_press()
            else:
                self.leave()
        else:
            self.on_shown, is_kept = self._app.hold_from_key()
            if not is_kept:
                self.actions.append(action_id)

    def is_for_prompt(self, _event: events.Key | events.Paste, _focused: Widget | None) -> bool:
        """Return whether a key is for the prompt although it has no focus."""
        return False

    def receive_in_panel(self, _event: events.Key, _focused: Widget | None) -> bool:
        """Let the panel that is shown handle a key; return whether it has one: there is no panel."""
        return False

    def begin_key(self, key: str, *, is_printable: bool) -> None:
        """End what lasts until another key: a first press."""
        if self.first_press and key != self.first_press:
            self.first_press = ""
            self._show_press()

    def complete(self, _key: str) -> bool:
        """Return whether a key chooses a completion: there are none yet."""
        return False

    def choose_recent(self, _key: str) -> bool:
        """Return whether a key chooses a session of the start page, which is not shown yet."""
        return False

    def follow_focus(self, _focused: Widget) -> None:
        """Update what depends on the focus: nothing does."""

    def show_note(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show no message: what happens before the engine is open is reported when it is."""

    def show_leader_keys(self, _keys: Callable[[], Sequence[tuple[str, Action]]] | None) -> None:
        """List no keys that can follow the leader key."""

    def refresh_chrome(self) -> None:
        """Update nothing."""

    def restyle(self) -> None:
        """Draw nothing: there is no conversation."""

    def leave(self, error: BaseException | None = None, *, messages: Sequence[str] = ()) -> None:
        """End the app without a session; the messages are then shown in the terminal."""
        self._app.exit(Ending(None, "", error, messages=tuple(messages)))

    def hang_up(self) -> None:
        """End the app because its terminal is gone: nothing runs yet."""
        self.leave()
