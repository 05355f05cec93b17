"""Routes of the worktrees that clients make for a project."""

from fastapi import Response

from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeChoice, WorktreeInfo
from opencode_tui.server.answer import answer_record, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("worktree", prefix="/experimental/worktree")


@router.get("", response_model=list[str])
async def list_worktrees(client: FolderClient) -> Response:
    """List the folders of the project's linked worktrees."""
    return answer_value(list(await client.project.worktrees()))


@router.post("", response_model=WorktreeInfo)
async def create_worktree(client: FolderClient, request: CreateWorktree | None = None) -> Response:
    """Create a worktree with a new branch; `worktree.ready` or `worktree.failed` follows when its files are there."""
    return answer_record(await client.project.create_worktree(request or CreateWorktree()))


@router.delete("", response_model=bool)
async def remove_worktree(client: FolderClient, choice: WorktreeChoice) -> Response:
    """Remove a worktree; refused while it has uncommitted work. Its branch stays while it has commits of its own."""
    await client.project.remove_worktree(choice.directory)
    return answer_value(True)


@router.post("/reset", response_model=bool)
async def reset_worktree(client: FolderClient, choice: WorktreeChoice) -> Response:
    """Move the branch of a worktree to the default branch; refused while it has uncommitted work."""
    await client.project.reset_worktree(choice.directory)
    return answer_value(True)
