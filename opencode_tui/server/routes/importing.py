"""Routes of the import of sessions of other programs, from stores on the machine of the server."""

from fastapi import Response

from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
from opencode_tui.schema.http_headers import OWN
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("opencode-tui", prefix=f"{OWN}/import")


@router.get("/available", response_model=bool)
async def find_import(client: FolderClient) -> Response:
    """Return whether the store of another program was found; reads no session."""
    return answer_value(await client.imports.available())


@router.post("/stores", response_model=list[ImportStore])
async def list_import_stores(client: FolderClient, request: ImportRequest) -> Response:
    """List the stores that were found, or those that the request names, with the sessions that are not here yet."""
    return answer_records(await client.imports.stores(request))


@router.post("", response_model=ImportReport)
async def import_sessions(client: FolderClient, request: ImportRequest) -> Response:
    """Import sessions, and answer when that is done."""
    return answer_record(await client.imports.run(request))


@router.get("/progress", response_model=ImportProgress | None)
async def get_import_progress(client: FolderClient) -> Response:
    """Return how far the running import is; null when none runs."""
    progress = await client.imports.progress()
    return answer_value(None) if progress is None else answer_record(progress)


@router.post("/cancel", response_model=bool)
async def cancel_import(client: FolderClient) -> Response:
    """End the running import after the session that it works on; returns whether there was one."""
    return answer_value(await client.imports.cancel())
