"""Responses with prepared bytes, which are serialized once and not validated again.

Optional fields are absent, never null. An unpaired surrogate, which is not valid Unicode, is escaped, so that the JSON stays valid.
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
    """Return a response with one record."""
    return Response(record_bytes(record), media_type=JSON_TYPE)


def answer_records(records: Sequence[Record]) -> Response:
    """Return a response with a list of records."""
    return Response(records_bytes(records), media_type=JSON_TYPE)


def answer_value(value: Any, *, status: int = 200) -> Response:
    """Return a response with plain JSON data."""
    return Response(value_bytes(value), status_code=status, media_type=JSON_TYPE)


def error_body(name: str, message: str, **data: object) -> JsonObject:
    """Return an error in the form of OpenCode's API."""
    return {"name": name, "data": {"message": message, **data}}
