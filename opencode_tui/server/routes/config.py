"""The settings in force."""

from typing import Any

from fastapi import APIRouter, Response

from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.screen_keys import with_keys

router = APIRouter(tags=["config"])


@router.get("/config", response_model=dict[str, Any])
async def get_config(client: FolderClient) -> Response:
    """Return the settings in force, secrets covered, with the keys of OpenCode's screen where they name none."""
    return answer_value(with_keys(await client.settings.effective()))
