"""The status page: what works here, with which settings, and what is wrong."""

from opencode_tui import __version__
from opencode_tui.tui.control import Control


async def folder_status(control: Control) -> str:
    """Plain text, a fact a line; raw."""
    client = control.client
    places = await client.project.places()
    providers = await client.catalog.providers(only_ready=True)
    tools = await client.catalog.tools()
    skills = await client.catalog.skills()
    lines = [
        f"opencode_tui   {__version__}",
        f"folder         {places.directory}",
        f"worktree       {places.worktree}",
        f"branch         {control.folder.branch or 'none'}",
        f"settings       {places.config}",
        f"state          {places.state}",
        "",
        f"model          {control.choice.model or 'none'}",
        f"agent          {control.choice.agent or 'none'}",
        f"session        {control.session_id or 'none yet'}",
        f"sessions       {len(control.folder.sessions)}, {len(control.folder.statuses)} at work",
        "",
        f"providers      {', '.join(one.id for one in providers) or 'none'}",
        f"tools          {', '.join(one.id for one in tools)}",
        f"skills         {', '.join(one.name for one in skills) or 'none'}",
    ]
    for head, told in (("warnings", control.warnings), ("not in force", control.ignored)):
        if told:
            lines += ["", head, *(f"  {' '.join(one.split())}" for one in told)]
    return "\n".join(lines)
