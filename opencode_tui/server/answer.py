"""Answers with prepared bytes: what we send is written once and never validated again.

Optional fields are absent, never null. Text that is no Unicode (a lone surrogate) is escaped, so that the JSON stays valid.
"""

import json
from collections.abc import Sequence
from typing import Any

from fastapi import Response
from pydantic_core import PydanticSerializationError

from opencode_tui.schema.record import JsonObject, Record

JSON_TYPE = "application/json"


def record_bytes(record: Record) -> bytes:
    """Return a record as one line of JSON."""
    try:
        return record.model_dump_json(by_alias=True).encode()
    except PydanticSerializationError:
        return value_bytes(record.to_dict())


def records_bytes(records: Sequence[Record]) -> bytes:
    """Return records as one JSON list."""
    return b"[" + b",".join(map(record_bytes, records)) + b"]"


def value_bytes(value: Any) -> bytes:
    """Return plain JSON data as one line of pure ASCII JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def answer_record(record: Record) -> Response:
    """Answer with one record."""
    return Response(record_bytes(record), media_type=JSON_TYPE)


def answer_records(records: Sequence[Record]) -> Response:
    """Answer with a list of records."""
    return Response(records_bytes(records), media_type=JSON_TYPE)


def answer_value(value: Any, *, status: int = 200) -> Response:
    """Answer with plain JSON data."""
    return Response(value_bytes(value), status_code=status, media_type=JSON_TYPE)


def error_body(name: str, message: str, **data: object) -> JsonObject:
    """Return an error as OpenCode's clients read it."""
    return {"name": name, "data": {"message": message, **data}}
