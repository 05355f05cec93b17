"""The routes under `/api` that OpenCode's newer screens require: the completion of `@` references."""

from typing import Annotated, Literal

from fastapi import Depends, Query, Response

from opencode_tui.client.client import Client
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_record
from opencode_tui.server.request import FolderClient, ServerServices
from opencode_tui.server.router import new_router

router = new_router("compat-v2", prefix="/api")

Word = Annotated[str, Query(max_length=4_096, pattern=r"^[^\x00]*$")]


async def located_client(
    services: ServerServices,
    client: FolderClient,
    directory: Annotated[str | None, Query(alias="location[directory]", description="The folder, absolute.")] = None,
) -> Client:
    """Return the client of the folder of a request, which newer clients name as `location[directory]`."""
    return await services.clients.at(directory) if directory else client


class LocatedProject(Record):
    """A project and its worktree, absolute."""

    id: str
    directory: str


class Location(Record):
    """The folder that an answer is about, absolute."""

    directory: str
    project: LocatedProject


class FoundEntry(Record):
    """A file or a folder by its path in the location; that of a folder ends with a slash."""

    path: str
    type: Literal["file", "directory"]


class FoundEntries(Record):
    """Return the matches, best first."""

    location: Location
    data: list[FoundEntry]


@router.get("/fs/find", response_model=FoundEntries)
async def find_entries(
    client: Annotated[Client, Depends(located_client)],
    query: Word,
    kind: Annotated[Literal["file", "directory"] | None, Query(alias="type")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """Find files and folders by parts of their names, as `/find/file` does."""
    found = await client.files.find(query, kind=kind or "all", limit=limit)
    project = await client.project.current()
    home = LocatedProject(id=project.id, directory=project.worktree)
    entries = [FoundEntry(path=path, type="directory" if path.endswith("/") else "file") for path in found]
    return answer_record(FoundEntries(location=Location(directory=str(client.directory), project=home), data=entries))
