"""Routes of folders, projects, the branch, and the worktrees that clients make for a project."""

from typing import Annotated, Literal

from fastapi import Path, Response

from opencode_tui.schema.api.project import Places, ProjectInfo, UpdateProject
from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeChoice, WorktreeInfo
from opencode_tui.schema.record import Record, absent
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

project_router = new_router("project")
worktree_router = new_router("worktree", prefix="/experimental/worktree")

ProjectId = Annotated[str, Path(alias="projectID", pattern=r"^[0-9A-Za-z]{1,64}$")]


class VersionControl(Record):
    """The branch that is checked out."""

    branch: str | None = absent()


class ChangedPath(Record):
    """A file that differs from the last commit, as newer clients read it."""

    file: str
    additions: int
    deletions: int
    status: Literal["added", "deleted", "modified"]


@project_router.get("/path", response_model=Places)
async def get_places(client: FolderClient) -> Response:
    """Return the folders of the user and of the program, and the working folder."""
    return answer_record(await client.project.places())


@project_router.get("/project", response_model=list[ProjectInfo])
async def list_projects(client: FolderClient) -> Response:
    """List every known project."""
    return answer_records(await client.project.all())


@project_router.get("/project/current", response_model=ProjectInfo)
async def get_project(client: FolderClient) -> Response:
    """Return the folder's project."""
    return answer_record(await client.project.current())


@project_router.patch("/project/{projectID}", response_model=ProjectInfo)
async def change_project(client: FolderClient, project_id: ProjectId, request: UpdateProject) -> Response:
    """Change the name, icon or commands of a project."""
    return answer_record(await client.project.update(project_id, request))


@project_router.get("/vcs", response_model=VersionControl)
async def get_version_control(client: FolderClient) -> Response:
    """Return the branch that is checked out; absent without one."""
    return answer_record(VersionControl(branch=await client.project.branch()))


@project_router.get("/vcs/status", response_model=list[ChangedPath])
async def list_changed_paths(client: FolderClient) -> Response:
    """List the same as `/file/status`, with the names of newer clients."""
    changed = await client.files.changed()
    return answer_records(
        [ChangedPath(file=one.path, additions=one.added, deletions=one.removed, status=one.status) for one in changed]
    )


@worktree_router.get("", response_model=list[str])
async def list_worktrees(client: FolderClient) -> Response:
    """List the folders of the project's linked worktrees."""
    return answer_value(list(await client.project.worktrees()))


@worktree_router.post("", response_model=WorktreeInfo)
async def create_worktree(client: FolderClient, request: CreateWorktree | None = None) -> Response:
    """Create a worktree with a new branch; `worktree.ready` or `worktree.failed` follows when its files are there."""
    return answer_record(await client.project.create_worktree(request or CreateWorktree()))


@worktree_router.delete("", response_model=bool)
async def remove_worktree(client: FolderClient, choice: WorktreeChoice) -> Response:
    """Remove a worktree; refused while it has uncommitted work. Its branch stays while it has commits of its own."""
    await client.project.remove_worktree(choice.directory)
    return answer_value(True)


@worktree_router.post("/reset", response_model=bool)
async def reset_worktree(client: FolderClient, choice: WorktreeChoice) -> Response:
    """Move the branch of a worktree to the default branch; refused while it has uncommitted work."""
    await client.project.reset_worktree(choice.directory)
    return answer_value(True)
