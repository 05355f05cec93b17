"""Files of a folder: list, find, read."""

import base64
from typing import Annotated, Literal

from fastapi import Query, Response

from opencode_tui.extras.opencode2.schema.catalog import Entry
from opencode_tui.extras.opencode2.scope import LocatedClient, Word, answer_located
from opencode_tui.server.router import new_router

router = new_router("opencode2-file", prefix="/api/fs")


@router.get("/list")
async def list_folder(client: LocatedClient, path: Word | None = None) -> Response:
    """List a folder, folders first."""
    found = await client.files.list(path or ".")
    return await answer_located(client, [_entry(one.path + ("/" if one.type == "directory" else "")) for one in found])


@router.get("/find")
async def find_entries(
    client: LocatedClient,
    query: Word,
    kind: Annotated[Literal["file", "directory"] | None, Query(alias="type")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """Find files and folders by parts of their names, as `/find/file` does."""
    found = await client.files.find(query, kind=kind or "all", limit=limit)
    return await answer_located(client, [_entry(path) for path in found])


def _entry(path: str) -> Entry:
    return Entry(path=path, type="directory" if path.endswith("/") else "file")


@router.get("/read/{path:path}")
async def read_file(client: LocatedClient, path: str) -> Response:
    """Return the bytes of a file."""
    content = await client.files.read_bytes(path)
    headers = {"x-content-type-options": "nosniff"}
    return Response(base64.b64decode(content.content), media_type="application/octet-stream", headers=headers)
