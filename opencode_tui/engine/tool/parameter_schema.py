"""Conversion of a tool's parameters into the JSON schema for the model, and of the model's input into parameters.

The schema is small: no titles, no null defaults, no references. The input is parsed leniently: other common names of a field, null
for an absent one, and JSON inside a string are accepted.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, TypeVar, cast, get_args

from opencode_tui.engine.tool.tool import Parameters
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import ValidationError

P = TypeVar("P", bound=Parameters)

_ALIASES: dict[str, tuple[str, ...]] = {
    "filePath": ("file_path", "path", "file", "filename", "filepath"),
    "path": ("filePath", "file_path", "directory", "dir", "folder"),
    "oldString": ("old_string", "old_str", "oldText", "old_text"),
    "newString": ("new_string", "new_str", "newText", "new_text"),
    "content": ("contents", "text", "file_text"),
    "patchText": ("patch_text", "patch", "input"),
    "pattern": ("query", "regex", "search"),
    "include": ("glob",),
    "command": ("cmd",),
}


def describe(parameters: type[Parameters]) -> dict[str, Any]:
    """Return the JSON schema of type object, with the field names that the model uses."""
    schema = parameters.model_json_schema()
    definitions = cast("dict[str, Any]", schema.pop("$defs", {}))
    cleaned = _clean(schema, definitions)
    cleaned.pop("description", None)
    return {"type": "object", **cleaned}


def parse(parameters: type[P], written: Mapping[str, Any]) -> P | list[str]:
    """Return the parameters, or a text for each field that does not fit."""
    names = {field.alias or name for name, field in parameters.model_fields.items()}
    present = {key: value for key, value in written.items() if value is not None}
    for name in names - present.keys():
        alias = next((other for other in _ALIASES.get(name, ()) if other in present and other not in names), None)
        if alias is not None:
            present[name] = present.pop(alias)
    try:
        return parameters.model_validate({key: _unquote(parameters, key, value) for key, value in present.items()})
    except ValidationError as error:
        from opencode_tui.engine.tool.wrong_call import describe_fault  # most calls fit

        return [describe_fault(cast("Mapping[str, Any]", fault)) for fault in error.errors()]


def _clean(node: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema node without titles, null branches and references."""
    if isinstance(node, list):
        return [_clean(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if "$ref" in fields:
        name = str(fields["$ref"]).rsplit("/", 1)[-1]
        target = cast("dict[str, Any]", _clean(definitions[name], definitions))
        target.pop("description", None)
        return {**target, **{key: value for key, value in fields.items() if key != "$ref"}}
    if "anyOf" in fields:
        branches = [branch for branch in cast("list[dict[str, Any]]", fields["anyOf"]) if branch.get("type") != "null"]
        rest = {key: value for key, value in fields.items() if key != "anyOf"}
        if len(branches) == 1:
            return _clean({**branches[0], **rest}, definitions)
    return {key: _clean_entry(key, value, definitions) for key, value in fields.items() if not _is_noise(key, value)}


def _clean_entry(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":
        return {name: _clean(field, definitions) for name, field in cast("dict[str, Any]", value).items()}
    return _clean(value, definitions)


def _is_noise(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in (None, "", False))


def _unquote(parameters: type[Parameters], key: str, value: Any) -> Any:
    """Return the list or object that a model wrote as a JSON string for a field that accepts no string."""
    field = next((item for name, item in parameters.model_fields.items() if key in (item.alias, name)), None)
    if (
        field is None
        or not isinstance(value, str)
        or not value.lstrip().startswith(("[", "{"))
        or _accepts_text(field.annotation)
    ):
        return value
    try:
        return load_json(value)
    except ValueError:
        return value


def _accepts_text(annotation: Any) -> bool:
    return annotation is str or (isinstance(annotation, UnionType) and str in get_args(annotation))
