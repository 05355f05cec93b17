"""Parsing of session records, the oldest ones included.

Records that OpenCode migrated from its first layout have neither project nor folder; they get those of their path.

Source: docs/internals/session.md#migrations.
"""

import json
import os
from collections.abc import Callable
from typing import cast

from opencode_tui.schema.error import CorruptRecordError
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.keys import segment_of
from opencode_tui.storage.record_file import checked


def parse_session(data: bytes, *, path: str, project_id: str, worktree: Callable[[], str] = lambda: "") -> SessionInfo:
    """Return the session in the bytes of the file `path`, which is named by its id; raises CorruptRecordError.

    Its project is that of the folder of the file, not the one in the record. `worktree` returns the project's folder (empty when
    unknown) and is called when the record has none.
    """
    try:
        session = SessionInfo.model_validate_json(data)
    except ValidationError:
        fields: object = json.loads(checked(data, path))
        if not isinstance(fields, dict):
            raise CorruptRecordError(path, "it is not a JSON object") from None
        session = _complete(cast(JsonObject, fields), path=path, project_id=project_id)
    if session.id != segment_of(os.path.basename(path)):
        raise CorruptRecordError(path, f"its id is {session.id!r}, it belongs elsewhere")
    if session.project_id != project_id:
        session = session.changed(project_id=project_id)
    return session if session.directory else session.changed(directory=worktree())


def describe_mismatch(error: ValidationError) -> str:
    """Return the first validation error of a record as one line."""
    first = error.errors()[0]
    location = ".".join(str(step) for step in first["loc"]) or "the record"
    return f"{location}: {first['msg']}"


def _complete(fields: JsonObject, *, path: str, project_id: str) -> SessionInfo:
    fields.setdefault("projectID", project_id)
    fields.setdefault("directory", "")
    try:
        return SessionInfo.model_validate(fields)
    except ValidationError as error:
        raise CorruptRecordError(path, describe_mismatch(error)) from error
