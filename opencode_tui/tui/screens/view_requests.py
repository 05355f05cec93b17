"""What the conversation and the sidebar ask of the chat screen."""

from typing import TYPE_CHECKING, cast

from opencode_tui.tui.keymap import BY_ID
from opencode_tui.tui.status.activity import Activity, Kind

if TYPE_CHECKING:
    from opencode_tui.schema.screen_event import ScreenToastShown
    from opencode_tui.tui.conversation import requests
    from opencode_tui.tui.dialogs.panel import Panel
    from opencode_tui.tui.prompt.editor import Editor
    from opencode_tui.tui.screens.chat import ChatScreen
    from opencode_tui.tui.sidebar.sidebar import Sidebar
    from opencode_tui.tui.status.pressed import Pressed


class ViewRequests:
    """Handlers of the chat screen; each hands on to an act."""

    @property
    def _chat(self) -> "ChatScreen":
        return cast("ChatScreen", self)

    def on_follow_changed(self, event: "requests.FollowChanged") -> None:
        """Say how much is new below, or no longer."""
        glyph = self._chat.header.look.glyphs.down
        key = min(self._chat.keymap.keys("messages_last"), key=len, default="")
        aside = Activity(word=f"{glyph} {event.new_lines} new", key=key, action_id="messages_last")
        self._chat.activity.show_aside(Activity() if event.is_following or not event.new_lines else aside)

    def on_session_requested(self, event: "requests.SessionRequested") -> None:
        """Open the session of a task's agent."""
        self._open(event.session_id)

    def on_sidebar_chosen(self, event: "Sidebar.Chosen") -> None:
        """Go to a session."""
        self._open(event.session_id)

    def on_revert_requested(self, event: "requests.RevertRequested") -> None:
        """Show what an undo from there on would do."""
        if self._chat.acts is not None:
            self._chat.do(self._chat.acts.undo.ask(event.message_id, event.part_id))

    def on_redo_requested(self, _event: "requests.RedoRequested") -> None:
        """Bring back what was undone."""
        if self._chat.acts is not None:
            self._chat.acts.do("messages_redo")

    def on_fork_requested(self, event: "requests.ForkRequested") -> None:
        """Fork from a message."""
        chat = self._chat
        if chat.acts is not None and chat.control is not None and chat.control.session_id is not None:
            chat.do(chat.acts.session.fork(chat.control.session_id, event.message_id))

    def on_restore_requested(self, event: "requests.RestoreRequested") -> None:
        """Have a pruned output sent again."""
        if self._chat.acts is not None:
            self._chat.do(self._chat.acts.session.restore(event.item.part.id))

    def on_copy_requested(self, event: "requests.CopyRequested") -> None:
        """Copy through the terminal."""
        self._chat.app.copy_to_clipboard(event.text)
        self._chat.tell("done", "Copied")

    def on_link_requested(self, event: "requests.LinkRequested") -> None:
        """Copy an address: what opens it is the person's choice."""
        self._chat.app.copy_to_clipboard(event.href)
        self._chat.tell("done", "Copied", event.href)

    def on_full_text_requested(self, event: "requests.FullTextRequested") -> None:
        """Show a long text in a view of its own."""
        self._chat.open_text(event.full)

    def on_pressed(self, event: "Pressed") -> None:
        """Do what the key of a hint does."""
        action = BY_ID[event.action_id]
        if self._chat.can(action):
            self._chat.act(action.id)

    def on_left(self, _event: "requests.Left") -> None:
        """Write again."""
        self._chat.prompt.editor.focus()

    def on_panel_typed(self, event: "Panel.Typed") -> None:
        """Keep what was typed for the prompt while a question appeared."""
        self._chat.prompt.editor.put_in(event.character)

    def show_toast(self, event: "ScreenToastShown") -> None:
        """Say what somebody has to say to all screens: a lost connection, a plugin's note."""
        kind: Kind = {"success": "done", "error": "failed"}.get(event.variant, "note")  # pyright: ignore[reportAssignmentType] - all three are kinds
        self._chat.tell(kind, event.title or event.message, event.message if event.title else "")

    def on_completions_taken(self) -> None:
        """Write the row that was clicked."""
        self._chat.prompt.take_completion(send=False)

    def on_editor_opened(self, event: "Editor.Opened") -> None:
        """Show the attachment whose marker was clicked; text that only looks like a marker is none."""
        event.stop()
        if self._chat.acts is not None and self._chat.prompt.open_attachment(event.marker) is not None:
            self._chat.acts.writing.open_attachment(event.marker)

    def _open(self, session_id: str) -> None:
        if self._chat.acts is not None:
            self._chat.acts.session.open(session_id)
