"""The page of permissions, and the panel that edits a grant."""

from typing import TYPE_CHECKING

from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel

if TYPE_CHECKING:
    from opencode_tui.schema.api.grants import StoredGrant


@action("permissions_view", loads="the permission rules")
async def view_permissions(chat: Chat) -> None:
    """Show what is always allowed here, and the rules of the chosen agent."""
    from opencode_tui.tui.pages.permissions import PermissionsScreen

    rules = await chat.control.client.rules.list(chat.control.agent)
    places = await chat.control.client.project.places()
    chat.open_page(PermissionsScreen(chat.control, rules, places, edited=lambda grant: _edit(chat, grant)))


def _edit(chat: Chat, grant: "StoredGrant") -> None:
    """Ask for another pattern of a grant, then show the page again."""

    def back() -> None:
        chat.panels.close()
        chat.load_page("Loading the permission rules", view_permissions(chat))

    async def change(pattern: str) -> None:
        await chat.control.client.rules.change(grant.permission, grant.pattern, pattern)
        back()

    def done(pattern: str) -> None:
        if pattern and pattern != grant.pattern:
            chat.do(change(pattern))
        else:
            back()

    title = f"Always allow in this project ({screen_line(grant.permission)})"
    ask = TextAsk(title, "save", text=screen_line(grant.pattern), hint="* is any text", bar="warning")
    chat.panels.open(TextPanel(ask, done=done, back=back))
