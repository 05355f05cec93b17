"""The settings in force."""

from typing import Any

from fastapi import APIRouter, Response

from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import FolderClient

router = APIRouter(tags=["config"])


@router.get("/config", response_model=dict[str, Any])
async def get_config(client: FolderClient) -> Response:
    """Return the settings in force, secrets covered."""
    return answer_value(await client.settings.effective())
