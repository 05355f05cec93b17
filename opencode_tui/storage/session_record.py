"""Session records from bytes, the oldest ones included.

Records that OpenCode brought over from its first layout name neither project nor folder; they get those of the place where they
lie. Source: reference, section 3.
"""

import json
import os
from typing import cast

from pydantic import ValidationError

from opencode_tui.schema.error import CorruptRecordError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session import SessionInfo
from opencode_tui.storage.keys import segment_of
from opencode_tui.storage.record_file import checked


def parse_session(data: bytes, *, path: str, project_id: str, worktree: str) -> SessionInfo:
    """Return the session in the bytes of the file `path`, which bears its id; raises CorruptRecordError.

    `project_id` and `worktree` (the project's folder, empty when unknown) stand in where the record names none.
    """
    try:
        session = SessionInfo.model_validate_json(data)
    except ValidationError:
        fields: object = json.loads(checked(data, path))
        if not isinstance(fields, dict):
            raise CorruptRecordError(path, "it is not a JSON object") from None
        session = _complete(cast(JsonObject, fields), path=path, project_id=project_id, worktree=worktree)
    if session.id != segment_of(os.path.basename(path)):
        raise CorruptRecordError(path, f"its id is {session.id!r}, it belongs elsewhere")
    return session


def describe_mismatch(error: ValidationError) -> str:
    """Return the first thing that keeps a record from being what it should be, in words of one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"]) or "the record"
    return f"{place}: {first['msg']}"


def _complete(fields: JsonObject, *, path: str, project_id: str, worktree: str) -> SessionInfo:
    fields.setdefault("projectID", project_id)
    fields.setdefault("directory", worktree)
    try:
        return SessionInfo.model_validate(fields)
    except ValidationError as error:
        raise CorruptRecordError(path, describe_mismatch(error)) from error
