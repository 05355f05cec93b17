"""The action that shows agents, commands and skills, and the forms that make new ones: `forms`."""

from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.chat.chat import Chat


@action("definitions_view", loads="the agents, commands and skills")
async def view_definitions(chat: Chat) -> None:
    """Show the agents, commands and skills of the folder."""
    from opencode_tui.tui.actions import forms  # with the first use

    await forms.view_definitions(chat)
