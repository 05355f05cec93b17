"""Files of the work tree: find, browse, read."""

from typing import Annotated, Literal

from fastapi import Query, Response

from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, LineMatch
from opencode_tui.schema.api.language import Symbol
from opencode_tui.schema.error import NotFoundError
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("file")

SearchText = Annotated[str, Query(max_length=4_096, pattern=r"^[^\x00]*$")]
"""A search text without NUL, which file names and arguments of programs cannot contain."""


@router.get("/find", response_model=list[LineMatch])
async def find_lines(client: FolderClient, pattern: SearchText) -> Response:
    """Find lines by a regular expression."""
    return answer_records(await client.files.search(pattern))


@router.get("/find/file", response_model=list[str])
async def find_files(
    client: FolderClient,
    query: SearchText,
    dirs: Literal["true", "false"] | None = None,
    kind: Annotated[Literal["file", "directory"] | None, Query(alias="type")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """Find files and folders by parts of their names, best matches first; folders end with a slash."""
    wanted = kind or ("file" if dirs == "false" else "all")
    return answer_value(await client.files.find(query, kind=wanted, limit=limit))


@router.get("/find/symbol", response_model=list[Symbol])
async def find_symbols(client: FolderClient, query: SearchText) -> Response:
    """Find symbols by parts of their names, with the language servers that run."""
    return answer_records(await client.languages.symbols(query))


@router.get("/file", response_model=list[FileEntry] | FileContent)
async def list_folder(client: FolderClient, path: SearchText) -> Response:
    """List a folder, folders first; return the content of a file, as the oldest clients expect here."""
    try:
        return answer_records(await client.files.list(path))
    except NotFoundError:
        return answer_record(await client.files.read(path))


@router.get("/file/content", response_model=FileContent)
async def read_file(client: FolderClient, path: SearchText) -> Response:
    """Return the content of a file."""
    return answer_record(await client.files.read(path))


@router.get("/file/status", response_model=list[ChangedFile])
async def list_changed_files(client: FolderClient) -> Response:
    """List the files that differ from the last commit, with the lines that were added and removed."""
    return answer_records(await client.files.changed())
