"""Checks that a stored record is JSON of the right shape, with the ids that its path has.

Only for `doctor`: the import builds every model.
"""

import json
from collections.abc import Callable
from typing import cast

from pydantic import ValidationError

from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import CorruptRecordError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.message import MESSAGE
from opencode_tui.schema.session.part import PART
from opencode_tui.storage.keys import Key
from opencode_tui.storage.record_file import checked
from opencode_tui.storage.session_record import describe_mismatch, parse_session

_FOLDER_FIELDS = {"message": "sessionID", "part": "messageID"}
_SHAPES: dict[str, Callable[[bytes], object]] = {
    "message": MESSAGE.validate_json,
    "part": PART.validate_json,
    "project": ProjectInfo.model_validate_json,
}


def check_record(key: Key, data: bytes, path: str) -> None:
    """Raise CorruptRecordError when the bytes are not a valid record for this key; unknown kinds need only be JSON."""
    data = checked(data, path)
    kind = key[0]
    if kind == "session" and len(key) == 3:
        parse_session(data, path=path, project_id=key[1])
    elif kind in _SHAPES:
        try:
            _SHAPES[kind](data)
        except ValidationError as error:
            raise CorruptRecordError(path, describe_mismatch(error)) from error
    else:
        return
    _check_ids(key, cast(JsonObject, json.loads(data)), path)


def _check_ids(key: Key, record: JsonObject, path: str) -> None:
    """Raise CorruptRecordError when the ids of the record differ from those of its path."""
    expected = {"id": key[-1]}
    if key[0] in _FOLDER_FIELDS:
        expected[_FOLDER_FIELDS[key[0]]] = key[-2]
    for field, value in expected.items():
        if record.get(field) != value:
            raise CorruptRecordError(path, f"its {field} is {record.get(field)!r}, it belongs elsewhere")
