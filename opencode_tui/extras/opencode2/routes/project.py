"""Copies of a project, which OpenCode 2's own screen makes: here these are work trees, which `/worktree` makes."""

from fastapi import Response

from opencode_tui.extras.opencode2.schema.catalog import NewCopy, OldCopy
from opencode_tui.extras.opencode2.scope import LocatedClient
from opencode_tui.server.answer import answer_value, error_body
from opencode_tui.server.router import new_router

router = new_router("opencode2-project", prefix="/experimental/project")

_INSTEAD = "copies of projects are work trees here: POST /experimental/worktree makes one, DELETE removes one"


def _refuse() -> Response:
    return answer_value(error_body("ProjectCopyError", _INSTEAD), status=400)


@router.post("/{projectID}/copy")
async def create_copy(_client: LocatedClient, _request: NewCopy) -> Response:
    """Refuse to make a copy."""
    return _refuse()


@router.delete("/{projectID}/copy", status_code=204)
async def remove_copy(_client: LocatedClient, _request: OldCopy) -> Response:
    """Refuse to remove a copy."""
    return _refuse()


@router.post("/{projectID}/copy/refresh", status_code=204)
async def refresh_copies(_client: LocatedClient) -> Response:
    """Refuse to look for copies."""
    return _refuse()
