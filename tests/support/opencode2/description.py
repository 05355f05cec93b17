"""OpenCode 2's own description of its API (1.18.18, without its texts): what its answers and events must look like.

`api.json.gz` is `/openapi.json` of the program `lildax` of npm's `@opencode-ai/cli-linux-x64`.
"""

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FILE = Path(__file__).parents[2] / "extras" / "opencode2" / "data" / "api.json.gz"


@cache
def document() -> dict[str, Any]:
    """Return the description."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def operations() -> dict[str, tuple[str, str]]:
    """Return the method and the path of each operation by its name."""
    return {
        one["operationId"]: (method.upper(), path)
        for path, methods in document()["paths"].items()
        for method, one in methods.items()
    }


@cache
def _pattern(path: str) -> re.Pattern[str]:
    forms = {"*": ".*"}
    pieces = ("[^/]+" if piece.startswith("{") else forms.get(piece, re.escape(piece)) for piece in path.split("/"))
    return re.compile("/".join(pieces) + r"\Z")


def operation_at(method: str, path: str) -> dict[str, Any]:
    """Return the operation of a request; a path without parameters has precedence."""
    paths = sorted(document()["paths"].items(), key=lambda item: item[0].count("{"))
    return next(
        one[method.lower()]
        for found, one in paths
        if _pattern(found).match(path.partition("?")[0]) and method.lower() in one
    )


@cache
def _validator(reference: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": reference, "components": document()["components"]})


def problems_of(method: str, path: str, status: int, body: bytes) -> list[str]:
    """Return what is wrong with an answer; nothing of a right one."""
    one = operation_at(method, path)
    name, answer = one["operationId"], one["responses"].get(str(status))
    if answer is None:
        return [f"{name}: status {status} is not described: {body[:200]!r}"]
    kinds = answer.get("content") or {}
    if not kinds:
        return [f"{name}: {status} has a body: {body[:200]!r}"] if body else []
    if "application/json" not in kinds:
        return []
    schema = {**kinds["application/json"]["schema"], "components": document()["components"]}
    found = Draft202012Validator(schema).iter_errors(json.loads(body))
    return [f"{name} {status}: {error.json_path}: {error.message[:300]}" for error in found]


def problems_of_event(event: dict[str, Any], *, is_durable: bool) -> list[str]:
    """Return what is wrong with an event of a session's stream, or of that of all events."""
    name = event["type"]
    known = document()["components"]["schemas"]
    schema = next((one for one in (name, f"{name}1", f"V2Event.{name}") if one in known), None)
    if schema is None:
        return [f"{name}: no such event"]
    problems = [] if not is_durable or "durable" in event else [f"{name}: it has no number"]
    found = _validator(f"#/components/schemas/{schema}").iter_errors(event)
    return problems + [f"{name}: {error.json_path}: {error.message[:300]}" for error in found]
