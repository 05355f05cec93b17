"""Pure: a tool's JSON Schema as Gemini's `Schema`, a subset of OpenAPI's.

Source: `Schema` in `google/genai/types.py` (`google-genai` 3.4.0); the rules of the API's error messages from
`convert-json-schema-to-openapi-schema.ts` (`@ai-sdk/google` 3.0.141) and litellm 1.106.2 (`vertex_ai/common_utils.py`).

    JSON Schema                                     Schema
    type "string"                                   "STRING"
    type [A, "null"]; anyOf with {"type": "null"}   A with `nullable`
    type [A, B]                                     `anyOf`
    const                                           `enum` of one value
    enum of numbers                                 texts, `format: "enum"`; empty texts are left out, which the API rejects
    $ref to $defs or definitions                    the definition, with the keywords next to it
    oneOf                                           `anyOf`
    allOf of objects                                one object
    format                                          only those that the API knows
    required                                        only names of properties
    additionalProperties, default, title, $schema, …  left out
"""

from collections.abc import Iterable
from typing import Any, cast

from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_KEPT = ("description", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern")
_FORMATS = {
    "string": frozenset({"date-time", "enum"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
_OF_STRINGS = frozenset({"minLength", "maxLength", "pattern"})
_OF_ARRAYS = frozenset({"minItems", "maxItems"})
_OF_NUMBERS = frozenset({"minimum", "maximum"})
_MOST_DEPTH = 32


class UnsupportedSchemaError(ValueError):
    """A schema that Gemini's subset cannot express; the message says which part."""


def to_gemini_schema(schema: JsonObject) -> JsonObject | None:
    """Return the schema of a tool's parameters, None for a tool without any. Raises UnsupportedSchemaError."""
    found = _Converter(schema).convert(schema)
    return found if found.get("properties") else None


class _Converter:
    """Converts the parts of one schema, whose definitions they may name."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def convert(self, given: object, names: tuple[str, ...] = (), depth: int = 0) -> JsonObject:
        """Return one part; `names` are the references that it is inside of."""
        if depth > _MOST_DEPTH:
            raise UnsupportedSchemaError("it is nested too deeply")
        schema = as_object(given)
        if (name := as_text(schema.get("$ref"))) and name in names:
            raise UnsupportedSchemaError(f"it refers to itself at {name}")
        if name:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.convert({**self._definition(name), **beside}, (*names, name), depth + 1)
        if parts := as_list(schema.get("allOf")):
            return self.convert(self._merged(schema, parts, names), names, depth + 1)
        kinds, is_nullable = _kinds(schema)
        found: JsonObject = {}
        if choices := as_list(schema.get("anyOf")) or as_list(schema.get("oneOf")):
            kept = [choice for choice in choices if as_object(choice).get("type") != "null"]
            is_nullable = is_nullable or len(kept) < len(choices)
            found = self._choice(schema, kept, names, depth)
        elif len(kinds) > 1:
            found = self._choice(schema, [{**_without_choices(schema), "type": kind} for kind in kinds], names, depth)
        elif kinds:
            found = self._plain(schema, kinds[0], names, depth)
        else:
            raise UnsupportedSchemaError("a part has no type")
        return {**found, "nullable": True} if is_nullable and found.get("type") != "NULL" else found

    def _choice(self, schema: JsonObject, choices: list[Any], names: tuple[str, ...], depth: int) -> JsonObject:
        """Return a choice, or the only schema of one; a choice has no other keywords than a description."""
        about = {"description": schema["description"]} if as_text(schema.get("description")) else {}
        if len(choices) == 1:
            beside = {key: value for key, value in _without_choices(schema).items() if key != "type"}
            return self.convert({**beside, **as_object(choices[0]), **about}, names, depth + 1)
        if not choices:
            return {"type": "NULL", **about}
        return {**about, "anyOf": [self.convert(choice, names, depth + 1) for choice in choices]}

    def _plain(self, schema: JsonObject, kind: str, names: tuple[str, ...], depth: int) -> JsonObject:
        found: JsonObject = {"type": kind.upper()}
        found |= {key: schema[key] for key in _KEPT if schema.get(key) is not None and _fits(key, kind)}
        if as_text(schema.get("format")) in _FORMATS.get(kind, ()):
            found["format"] = schema["format"]
        if kind == "object" and (properties := as_object(schema.get("properties"))):
            found["properties"] = {name: self.convert(part, names, depth + 1) for name, part in properties.items()}
            if required := [name for name in as_list(schema.get("required")) if name in properties]:
                found["required"] = required
        if kind == "array":
            found["items"] = self.convert(schema.get("items"), names, depth + 1)
        return _with_values(found, schema, kind)

    def _definition(self, name: str) -> JsonObject:
        """Return what a reference of the form `#/…` names."""
        place: object = self._root
        steps = name.removeprefix("#/").split("/") if name.startswith("#/") else [name]
        for step in steps:
            place = as_object(place).get(step.replace("~1", "/").replace("~0", "~"))
        if not isinstance(place, dict):
            raise UnsupportedSchemaError(f"{name} is not defined in it")
        return cast(JsonObject, place)

    def _merged(self, schema: JsonObject, parts: Iterable[Any], names: tuple[str, ...]) -> JsonObject:
        """Return `allOf` as one schema: the properties of all objects, and otherwise what only one part says."""
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in map(as_object, parts):
            if name := as_text(part.get("$ref")):
                if name in names:
                    raise UnsupportedSchemaError(f"it refers to itself at {name}")
                part = {**self._definition(name), **{key: value for key, value in part.items() if key != "$ref"}}
            for key, value in part.items():
                if key == "properties":
                    merged[key] = {**as_object(merged.get(key)), **as_object(value)}
                elif key == "required":
                    merged[key] = [*as_list(merged.get(key)), *as_list(value)]
                elif merged.setdefault(key, value) != value and key not in ("description", "title", "default"):
                    raise UnsupportedSchemaError(f"the parts of an allOf differ in {key}")
        return merged


def _kinds(schema: JsonObject) -> tuple[list[str], bool]:
    """Return the types of a schema without null, and whether null is one; those of its values when it names none."""
    given = schema.get("type")
    named = [given] if isinstance(given, str) else [as_text(one) for one in as_list(given)]
    if not named and (values := _values(schema)):
        named = list(dict.fromkeys(_kind_of(value) for value in values))
    if not named and "properties" in schema:
        named = ["object"]
    if not named and "items" in schema:
        named = ["array"]
    if unknown := [kind for kind in named if kind not in _TYPES]:
        raise UnsupportedSchemaError(f"the type {unknown[0]!r} is unknown")
    kinds = [kind for kind in named if kind != "null"]
    return kinds or named[:1], "null" in named and bool(kinds)


def _without_choices(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "description")}


def _fits(keyword: str, kind: str) -> bool:
    """Return whether a keyword says something about a type: the API rejects any other."""
    if keyword in _OF_STRINGS:
        return kind == "string"
    if keyword in _OF_ARRAYS:
        return kind == "array"
    return keyword not in _OF_NUMBERS or kind in ("number", "integer")


def _values(schema: JsonObject) -> list[Any]:
    return [schema["const"]] if "const" in schema else as_list(schema.get("enum"))


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            raise UnsupportedSchemaError("an enum has a value that is an object or a list")


def _with_values(found: JsonObject, schema: JsonObject, kind: str) -> JsonObject:
    """Return the schema with the values of `enum` or `const` that are of its type."""
    fitting = {"number": ("number", "integer")}.get(kind, (kind,))
    values = [value for value in _values(schema) if value is not None and _kind_of(value) in fitting]
    if kind == "string" and (texts := [value for value in values if value]):
        return {**found, "enum": texts}
    if kind in ("integer", "number") and values:
        return {**found, "format": "enum", "enum": [str(value) for value in values]}
    return found
