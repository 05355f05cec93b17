"""Routes of the oldest clients, implemented by their replacements."""

import socket

from fastapi import Response

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("compat-v0")


class AppFolders(Record):
    """Absolute folders: the program's, and those that are worked in."""

    config: str
    data: str
    state: str
    root: str
    cwd: str


class AppTime(Record):
    """When the project was first used, in milliseconds since 1970; absent when unknown."""

    initialized: int | None = absent()


class AppInfo(Record):
    """The machine and the folder; newer clients read `/path` and `/project/current`."""

    hostname: str
    git: bool
    path: AppFolders
    time: AppTime


class Mode(Record):
    """A primary agent; `tools` is always empty."""

    name: str
    model: ModelRef | None = absent()
    tools: dict[str, bool] = Field(default_factory=dict[str, bool])


@router.get("/app", response_model=AppInfo, deprecated=True)
async def get_app(client: FolderClient) -> Response:
    """Return the machine and the folder."""
    places, project = await client.project.places(), await client.project.current()
    folders = AppFolders(
        config=places.config,
        data=places.data or places.state,
        state=places.state,
        root=places.worktree,
        cwd=places.directory,
    )
    time = AppTime(initialized=project.time.initialized)
    return answer_record(AppInfo(hostname=socket.gethostname(), git=project.vcs == "git", path=folders, time=time))


@router.post("/app/init", response_model=bool, deprecated=True)
async def open_app(_client: FolderClient) -> Response:
    """Open the folder, as every request does."""
    return answer_value(True)


@router.get("/mode", response_model=list[Mode], deprecated=True)
async def list_modes(client: FolderClient) -> Response:
    """List the agents that one can talk to, the default one first; newer clients read `/agent`."""
    agents = await client.catalog.agents()
    shown = [agent for agent in agents if agent.mode != "subagent" and not agent.hidden]
    return answer_records([Mode(name=agent.name, model=agent.model) for agent in shown])
