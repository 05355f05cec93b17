"""The chat: title, conversation, activity, prompt, status; the sidebar beside them."""

import logging
import os
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from opencode_tui.tui.keymap import Action, Keymap
from opencode_tui.tui.options import Ending, StartOptions
from opencode_tui.tui.prompt.box import PromptBox
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.status.activity import Activity, ActivityLine, Kind
from opencode_tui.tui.status.header import Header
from opencode_tui.tui.status.line import StatusLine

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.acts.acts import Acts
    from opencode_tui.tui.app import OpenCodeApp
    from opencode_tui.tui.control import Control
    from opencode_tui.tui.dialogs.panel import Panel
    from opencode_tui.tui.pump import Pump
    from opencode_tui.tui.screens.panel_host import PanelHost
    from opencode_tui.tui.sidebar.sidebar import Sidebar
    from opencode_tui.tui.standin import ConversationView

_log = logging.getLogger(__name__)

WIDE, NARROW = 140, 120
"""Cells from which the sidebar is wide, and below which it is folded."""

SETTLE_S = 0.25
"""Seconds between two looks at numbers that grow with every token."""


class ChatScreen(Screen[None], inherit_bindings=False):
    """What one looks at all day."""

    control: "Control | None" = None
    acts: "Acts | None" = None
    panels: "PanelHost | None" = None
    sidebar: "Sidebar | None" = None
    view: "ConversationView | None" = None

    def __init__(self, options: StartOptions) -> None:
        super().__init__()
        self.options = options
        self.header = Header()
        self.activity = ActivityLine()
        self.prompt = PromptBox()
        self.ask = Container(id="ask")
        self.status = StatusLine()
        self._is_submitted = False
        self._note: Activity | None = None
        self._busy_since: int | None = None
        self._settling: Timer | None = None

    @property
    def keymap(self) -> Keymap:
        """The keys in force."""
        return cast("OpenCodeApp", self.app).router.keymap

    @property
    def is_folded(self) -> bool:
        """Whether the sidebar is not seen."""
        return not (self.has_class("-wide") or self.has_class("-middle")) or self.has_class("-hidden")

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Vertical(id="page"):
            yield self.header
            yield Container(id="talk")
            yield self.activity
            with self.ask:
                yield self.prompt
            yield Static(id="gap")
            yield self.status

    def toggle_sidebar(self) -> None:
        """Fold the sidebar or bring it back; where there is no room for it, it stands over the chat."""
        has_room = self.size.width >= NARROW
        self.toggle_class("-hidden" if has_room else "-over")
        self.settle()

    def on_sidebar_chosen(self, event: "Sidebar.Chosen") -> None:
        """Go to a session."""
        if self.acts is not None:
            self.acts.session.open(event.session_id)

    def on_mount(self) -> None:
        """Take keys from the first frame on."""
        self.prompt.editor.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Give up empty rows where there is little room."""
        width, height = event.size
        self.set_class(height < 26 or width < 80, "-compact")
        self.set_class(width >= WIDE, "-wide")
        self.set_class(NARROW <= width < WIDE, "-middle")
        if width >= NARROW:
            self.remove_class("-over")
        self.settle()

    def attach(self, client: "Client") -> None:
        """Begin to work with the engine's door."""
        from opencode_tui.tui.acts.acts import Acts
        from opencode_tui.tui.control import Control  # all of these only after the first frame
        from opencode_tui.tui.pump import Pump
        from opencode_tui.tui.screens.panel_host import PanelHost
        from opencode_tui.tui.sidebar.sidebar import Sidebar

        self.sidebar = Sidebar()
        self.mount(self.sidebar)
        control = self.control = Control(client, opened=self._show_conversation, lagged=self._reload)
        self.acts = Acts(self, control)
        self.panels = PanelHost(self, control)
        pump = Pump(client, take=control.take, settle=self.settle_soon)
        self.run_worker(self._begin(control, pump), exit_on_error=False)

    async def _begin(self, control: "Control", pump: "Pump") -> None:
        try:
            await control.start(self.options)
        except Exception as error:  # noqa: BLE001 - whoever started us says what it was
            self.leave(error)
            return
        self.run_worker(pump.run(), exit_on_error=False)
        self.do(self._read_models(control))
        self.settle()
        assert self.acts is not None
        if self._is_submitted:
            self.acts.writing.submit()
        if self.options.prompt:
            self.prompt.editor.put(self.options.prompt)
            self.acts.writing.submit()

    async def _read_models(self, control: "Control") -> None:
        await control.choice.load_models()
        self.settle()

    async def _reload_now(self, control: "Control") -> None:
        await control.reload()
        self.settle()

    def _reload(self) -> None:
        if self.control is not None:
            self.do(self._reload_now(self.control))

    def _show_conversation(self) -> None:
        from opencode_tui.tui.standin import ConversationView

        assert self.control is not None
        talk = self.query_one("#talk", Container)
        talk.remove_children()
        self.view = ConversationView(self.control.transcript) if self.control.facts is not None else None
        if self.view is not None:
            talk.mount(self.view)
        self.settle()

    def show_cut(self) -> None:
        """Scroll to where an undo would begin."""

    def do(self, work: Coroutine[object, object, None]) -> None:
        """Do something beside the screen; what goes wrong is one line above the prompt, and costs nothing else."""
        self.run_worker(self._guarded(work), exit_on_error=False)

    async def _guarded(self, work: Coroutine[object, object, None]) -> None:
        from opencode_tui.schema.error import OpencodeError

        try:
            await work
        except OpencodeError as error:
            self.tell("failed", str(error))
        except Exception as error:  # noqa: BLE001 - one act must not take the screen down
            _log.exception("an act of the screen failed")
            self.tell("failed", f"{type(error).__name__}: {error}; the log has the details")

    def tell(self, kind: Kind, words: str, facts: str = "") -> None:
        """Say something in the activity line until the next key."""
        self._note = Activity(kind, " ".join(words.split()), facts)
        self.settle()

    def forget_note(self) -> None:
        """Take away what was told."""
        if self._note is not None:
            self._note = None
            self.settle()

    def settle_soon(self) -> None:
        """Look at all facts again within a moment; at once when somebody is asked or a run begins or ends."""
        control = self.control
        if control is not None and control.take_urgent():
            self.settle()
        elif self._settling is None:
            self._settling = self.set_timer(SETTLE_S, self.settle)

    def settle(self) -> None:
        """Make everything around the conversation say what is known now."""
        if self._settling is not None:
            self._settling.stop()
            self._settling = None
        if self.control is None or not self.is_mounted:
            return
        from opencode_tui.tui.sidebar.facts import sidebar_facts
        from opencode_tui.tui.surroundings import activity_of, status_of, title_of

        control, now = self.control, time.time_ns() // 1_000_000
        self._follow_run(control, now)
        if self.panels is not None:
            self.panels.sync()
        self.header.show(title_of(control, is_folded=self.is_folded))
        key = self.keymap.first("session_interrupt")
        doing = activity_of(control, now, interrupt_key=key)
        self.activity.show(self._note or doing)
        is_asking = self.panels is not None and self.panels.is_open
        self.status.show(
            status_of(
                control,
                is_folded=self.is_folded,
                is_asking=is_asking,
                width=self.size.width,
                key=self.keymap.first,
            )
        )
        if self.sidebar is not None and self.sidebar.display:
            self.sidebar.show(sidebar_facts(control, self.sidebar.look.glyphs, home=os.path.expanduser("~")))
        if control.is_busy and self._settling is None:
            self._settling = self.set_timer(1, self.settle)

    def _follow_run(self, control: "Control", now: int) -> None:
        from opencode_tui.tui.surroundings import end_of_turn

        if control.is_busy:
            if self._busy_since is None:
                self._busy_since, self._note = now, None
        elif self._busy_since is not None:
            started, self._busy_since = self._busy_since, None
            if control.facts is not None:
                self._note = end_of_turn(control, started, now)

    def restyle(self) -> None:
        """Draw everything anew in another look."""
        self.prompt.editor.restyle()
        self.refresh(layout=True)
        self.refresh_all()

    def refresh_all(self) -> None:
        """Draw every widget again."""
        self.refresh()
        for widget in self.query("*"):
            widget.refresh()

    def leave(self, error: BaseException | None = None) -> None:
        """End the app; tells which session to come back to."""
        facts = self.control.facts if self.control else None
        self.app.exit(Ending(facts.info.id if facts else None, facts.title if facts else "", error))

    def can(self, action: Action) -> bool:
        """Whether an act makes sense now: the editor that has the focus comes first, a panel keeps escape and tab."""
        editor = self.focused
        if action.area == "prompt":
            return isinstance(editor, Editor) and self._may_write(editor, action.id)
        if self.acts is None:
            return action.id == "app_exit"
        if self.panels is not None and self.panels.is_open:
            is_kept = action.id == "session_interrupt" and self.panels.takes_escape
            return not is_kept and not action.id.startswith("agent_") and self.acts.can(action)
        return self.acts.can(action)

    def _may_write(self, editor: Editor, action_id: str) -> bool:
        if action_id in ("history_previous", "history_next"):
            return editor is self.prompt.editor and self.prompt.can_recall(action_id)
        return editor.can(action_id)

    def act(self, action_id: str) -> None:
        """Do it."""
        editor = self.focused
        if action_id in ("history_previous", "history_next"):
            self.prompt.recall(action_id)
        elif isinstance(editor, Editor) and editor.can(action_id):
            editor.apply(action_id)
        elif self.acts is not None:
            self.acts.do(action_id)
        elif action_id == "app_exit":
            self.leave()

    def on_editor_submitted(self, event: Editor.Submitted) -> None:
        """Send what stands in the prompt, or as soon as the engine is there."""
        event.stop()
        if self.acts is not None:
            self.acts.writing.submit()
        else:
            self._is_submitted = True

    def on_panel_typed(self, event: "Panel.Typed") -> None:
        """Keep what was typed for the prompt while a question appeared."""
        self.prompt.editor.put_in(event.character)

    def show_leader(self, is_pending: bool) -> None:
        """Say that a second key is awaited."""
        self.activity.show_aside(Activity(key=self.keymap.leader, act="and then?") if is_pending else Activity())
