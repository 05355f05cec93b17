"""Pure: the schemas of tools of MCP servers in the form that providers accept (draft 2020-12, an object at the top).

Providers refuse a whole request for one schema that is wrong, so what a schema has of older drafts is converted, and a keyword
that no draft allows is left out: the server itself still checks the arguments. Nothing that a schema refers to is fetched.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import unquote

from msgspec import Struct

from opencode_tui.schema.record import JsonObject

_DEEPEST = 60
"""Levels of a schema below which anything is allowed; Python's own limit must never be reached."""

_MOST_BRANCHES = 100
"""Most schemas that a keyword at the top combines."""

_TYPES = {
    **{name: name for name in ("string", "number", "integer", "boolean", "object", "array", "null")},
    **dict.fromkeys(("str", "text", "char", "date", "datetime", "uuid", "file", "enum"), "string"),
    **dict.fromkeys(("int", "long", "int32", "int64"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "numeric"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("dict", "map", "record", "struct"), "object"),
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    **dict.fromkeys(("none", "nil", "undefined", "nonetype"), "null"),
}
"""Names of types that servers write, in lower case, as those of the standard."""

_SCHEMA = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "not", "if", "then", "else",
           "propertyNames", "contentSchema")  # fmt: skip
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_TEXTS = ("title", "description", "$comment", "format", "pattern", "contentEncoding", "contentMediaType", "$anchor",
          "$dynamicAnchor", "$ref", "$dynamicRef")  # fmt: skip
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)
_BOOLEANS = ("readOnly", "writeOnly", "deprecated", "uniqueItems")
_LEFT_OUT = (
    "$schema",
    "$id",
    "id",
    "$vocabulary",
    "$recursiveRef",
    "$recursiveAnchor",
    "additionalItems",
    "dependencies",
)
"""Keywords that name the schema itself, or that are converted."""

_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_NOT_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "$dynamicRef")
"""What Anthropic and OpenAI refuse at the top of a tool's schema."""

_ANYTHING: JsonObject = {"type": "object", "properties": {}}


class RepairedSchema(Struct, frozen=True):
    """A schema that providers accept, and what was left out of the given one, each in some words."""

    schema: JsonObject
    faults: tuple[str, ...]


def repair_schema(given: Any) -> RepairedSchema:
    """Return the schema of a tool's arguments; one of any arguments where it is none."""
    if not isinstance(given, dict):
        reason = "is missing" if given is None else "is no object"
        return RepairedSchema(dict(_ANYTHING), (f"its inputSchema {reason}, so its arguments are not checked",))
    repair = _Repair(_name_of(cast("JsonObject", given)))
    root = repair.keywords(cast("JsonObject", given), 0)
    repair.drop_dangling(root)
    _flatten(root)
    repair.drop_dangling(root)
    root["type"] = "object"
    root.setdefault("properties", {})
    return RepairedSchema(root, tuple(dict.fromkeys(repair.faults)))


def _name_of(schema: JsonObject) -> str:
    """Return the address that the schema gives itself, by which its references may name it."""
    found = schema.get("$id", schema.get("id"))
    return found.partition("#")[0] if isinstance(found, str) else ""


class _Repair:
    def __init__(self, name: str) -> None:
        self.faults: list[str] = []
        self._name = name

    def schema(self, given: Any, depth: int) -> JsonObject | bool | None:
        """Return a schema at any place, None for what is none."""
        if isinstance(given, bool):
            return given
        if isinstance(given, str) and given.lower() in _TYPES:  # {"properties": {"path": "string"}}
            return {"type": _TYPES[given.lower()]}
        if not isinstance(given, dict):
            return None
        return {} if depth > _DEEPEST else self.keywords(cast("JsonObject", given), depth)

    def keywords(self, given: JsonObject, depth: int) -> JsonObject:
        """Return an object of keywords with only those that the standard allows, and all that it does not know."""
        kept: JsonObject = {}
        for name, value in given.items():
            if name in _LEFT_OUT or (value is None and name not in ("const", "default")):
                continue
            right = self._value(name, value, depth)
            if right is None and value is not None:
                self.faults.append(f"`{name}: {_short(value)}`")
            elif right is not None or name in ("const", "default"):
                kept[name] = right
        self._convert(given, kept, depth)
        return kept

    def _value(self, name: str, value: Any, depth: int) -> Any:
        """Return the value of a keyword, None for one that the keyword cannot have."""
        rule = _RULES.get(name)
        if rule is not None:
            return rule(self, value, depth)
        return value

    def named(self, value: Any, depth: int) -> JsonObject | None:
        """Return the schemas of a keyword that has them by name; a list of objects with names counts too."""
        if isinstance(value, list):
            members = cast("list[Any]", value)
            if members and not all(isinstance(one, dict) and "name" in one for one in members):
                return None
            value = {str(one["name"]): one for one in members}  # PHP writes an empty object as an empty list
        if not isinstance(value, dict):
            return None
        found: JsonObject = {}
        for name, inner in cast("JsonObject", value).items():
            one = self.schema(inner, depth + 1)
            if one is None:
                self.faults.append(f"`{name}: {_short(inner)}`")
            found[name] = {} if one is None or one is True else {"not": {}} if one is False else one
        return found

    def listed(self, value: Any, depth: int) -> list[Any] | None:
        """Return the schemas of a keyword that has a list of them, without those that are none."""
        if not isinstance(value, list):
            return None
        found = [self.schema(one, depth + 1) for one in cast("list[Any]", value)]
        return [one for one in found if one is not None] or None

    def items(self, value: Any, depth: int) -> Any:
        """Return the schema of items; a list of them is converted elsewhere."""
        return cast("list[Any]", value) if isinstance(value, list) else self.schema(value, depth + 1)

    def type(self, value: Any, depth: int) -> Any:
        """Return the type, or types, under their names of the standard; one that may be anything is none."""
        if isinstance(value, str):
            return _TYPES.get(value.lower(), {"any": "", "mixed": "", "unknown": ""}.get(value.lower()))
        if not isinstance(value, list):
            return None
        names = [_TYPES.get(str(one).lower()) for one in cast("list[Any]", value)]
        known = list(dict.fromkeys(name for name in names if name is not None))
        return None if not known else known[0] if len(known) == 1 else known

    def _convert(self, given: JsonObject, kept: JsonObject, depth: int) -> None:
        """Write what older drafts say in the words of 2020-12."""
        if kept.get("type") == "":
            del kept["type"]
        if isinstance(given.get("required"), bool):
            kept.pop("required", None)
        for name, bound in _BOUNDS.items():
            if isinstance(kept.get(name), bool):
                is_exclusive = kept.pop(name)
                if is_exclusive and bound in kept:
                    kept[name] = kept.pop(bound)
        if isinstance(items := kept.get("items"), list):
            del kept["items"]
            if (first := self.listed(items, depth)) is not None:
                kept["prefixItems"] = first
            if (rest := self.schema(given.get("additionalItems"), depth + 1)) is not None:
                kept["items"] = rest
        for name, inner in (
            cast("JsonObject", given.get("properties")).items() if _is_object(given, "properties") else ()
        ):
            if isinstance(inner, dict) and cast("JsonObject", inner).get("required") is True:  # draft 3
                kept["required"] = list(dict.fromkeys([*kept.get("required", []), name]))
        for name, inner in (
            cast("JsonObject", given.get("dependencies")).items() if _is_object(given, "dependencies") else ()
        ):
            if (needed := _names(self, inner, depth)) is not None:
                kept.setdefault("dependentRequired", {})[name] = needed
            elif (one := self.schema(inner, depth + 1)) is not None:
                kept.setdefault("dependentSchemas", {})[name] = one

    def drop_dangling(self, root: JsonObject) -> None:
        """Leave out each reference that leads to no part of the schema."""
        anchors = {one[key] for one in _all_schemas(root) for key in ("$anchor", "$dynamicAnchor") if key in one}
        for one in list(_all_schemas(root)):
            for key in ("$ref", "$dynamicRef"):
                if key not in one:
                    continue
                address, _, fragment = str(one[key]).partition("#")
                is_own = not address or address == self._name
                if is_own and (fragment in anchors or resolve(root, fragment) is not None):
                    one[key] = f"#{fragment}"
                else:
                    self.faults.append(f"`{key}: {_short(one[key])}`, which leads nowhere")
                    del one[key]


def _is_object(given: JsonObject, name: str) -> bool:
    return isinstance(given.get(name), dict)


def _text(_repair: _Repair, value: Any, _depth: int) -> Any:
    if isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value)):
        return "\n".join(cast("list[str]", value))
    return value if isinstance(value, str) else None


def _number(_repair: _Repair, value: Any, _depth: int) -> Any:
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    return value if isinstance(value, int | float) else None  # a boolean is converted elsewhere


def _size(_repair: _Repair, value: Any, _depth: int) -> Any:
    number = _number(_repair, value, _depth)
    return int(number) if number is not None and not isinstance(number, bool) and number >= 0 else None


def _plain_number(_repair: _Repair, value: Any, _depth: int) -> Any:
    return None if isinstance(value, bool) else _number(_repair, value, _depth)


def _multiple(_repair: _Repair, value: Any, _depth: int) -> Any:
    number = _plain_number(_repair, value, _depth)
    return number if number is not None and number > 0 else None


def _boolean(_repair: _Repair, value: Any, _depth: int) -> Any:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _maybe_schema(repair: _Repair, value: Any, depth: int) -> Any:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return repair.schema(value, depth + 1)


def _choices(_repair: _Repair, value: Any, _depth: int) -> Any:
    if not isinstance(value, list) or not value:
        return None
    found: list[Any] = []
    for one in cast("list[Any]", value):
        if not any(type(one) is type(other) and one == other for other in found):
            found.append(one)
    return found


def _examples(_repair: _Repair, value: Any, _depth: int) -> Any:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _names(_repair: _Repair, value: Any, _depth: int) -> Any:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        return None
    return list(dict.fromkeys(cast("list[str]", value)))


def _required(repair: _Repair, value: Any, depth: int) -> Any:
    if isinstance(value, bool):
        return []  # draft 3: said by the object that has this property
    if isinstance(value, dict):
        return [name for name, inner in cast("JsonObject", value).items() if inner is True]
    return _names(repair, value, depth)


def _needed_by_name(repair: _Repair, value: Any, depth: int) -> Any:
    if not isinstance(value, dict):
        return None
    found = {name: _names(repair, inner, depth) for name, inner in cast("JsonObject", value).items()}
    return {name: names for name, names in found.items() if names is not None}


_RULES: Mapping[str, Callable[[_Repair, Any, int], Any]] = {
    **dict.fromkeys(_SCHEMA, _maybe_schema),
    **dict.fromkeys(_NAMED, _Repair.named),
    **dict.fromkeys(_LISTED, _Repair.listed),
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_NUMBERS, _plain_number),
    **dict.fromkeys(_BOUNDS, _number),
    **dict.fromkeys(_COUNTS, _size),
    **dict.fromkeys(_BOOLEANS, _boolean),
    "multipleOf": _multiple,
    "items": _Repair.items,
    "type": _Repair.type,
    "enum": _choices,
    "examples": _examples,
    "required": _required,
    "dependentRequired": _needed_by_name,
}


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _all_schemas(schema: Any) -> "list[JsonObject]":
    """Return a repaired schema and all schemas in it."""
    found: list[JsonObject] = []
    pending: list[Any] = [schema]
    while pending:
        one = pending.pop()
        if not isinstance(one, dict):
            continue
        members = cast("JsonObject", one)
        found.append(members)
        pending += [members[name] for name in (*_SCHEMA, "items") if name in members]
        for name in _NAMED:
            pending += cast("JsonObject", members.get(name) or {}).values()
        for name in _LISTED:
            pending += cast("list[Any]", members.get(name) or [])
    return found


def resolve(root: JsonObject, pointer: str) -> JsonObject | None:
    """Return the object that a JSON pointer leads to, `root` for an empty one; None where there is none."""
    if pointer and not pointer.startswith("/"):
        return None
    here: Any = root
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = cast("JsonObject", here).get(name)
        elif isinstance(here, list) and name.isascii() and name.isdigit() and int(name) < len(cast("list[Any]", here)):
            here = cast("list[Any]", here)[int(name)]
        else:
            return None
    return cast("JsonObject", here) if isinstance(here, dict) else None


def _flatten(root: JsonObject) -> None:
    """Write what the top of a schema says by combining others as its own properties, as far as that is possible.

    Of alternatives only what all of them require is required.
    """
    for _ in range(_DEEPEST):
        if not any(name in root for name in _NOT_AT_TOP):
            return
        reference = root.pop("$ref", None)
        target = _follow(root, {"$ref": reference}) if isinstance(reference, str) else {}
        for name, value in target.items():
            if name in ("properties", "required"):
                continue
            root.setdefault(name, value)
        branches: list[tuple[str, list[JsonObject]]] = [("allOf", [target])] if target else []
        for name in ("allOf", "anyOf", "oneOf"):
            given = cast("list[Any]", root.pop(name, None) or [])
            members = [_follow(root, cast("JsonObject", one)) for one in given if isinstance(one, dict)]
            branches.append((name, [one for one in members if one.get("type", "object") == "object"]))
        for name in ("not", "enum", "const", "$dynamicRef"):
            root.pop(name, None)
        for name, members in branches:
            _merge(root, name, members)
    for name in _NOT_AT_TOP:
        root.pop(name, None)


def _follow(root: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the schema that a reference leads to, with the keywords next to it; `{}` if it leads nowhere or in a circle."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        found = resolve(root, reference.partition("#")[2]) if "#" in reference else None
        if found is None or found is root:
            return {}
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    return {}


def _merge(root: JsonObject, name: str, members: list[JsonObject]) -> None:
    """Add the properties of schemas that the keyword `name` combines to those of the top."""
    properties = cast("JsonObject", root.setdefault("properties", {}))
    for member in members:
        for key, value in cast("JsonObject", member.get("properties") or {}).items():
            before = properties.get(key)
            if before is None or before == value:
                properties[key] = value
            elif name != "allOf":
                choices = before["anyOf"] if set(before) == {"anyOf"} else [before]
                properties[key] = {"anyOf": choices if value in choices else [*choices, value]}
    needed = [cast("list[str]", member.get("required") or []) for member in members]
    if name == "allOf":
        more = [one for names in needed for one in names]
    else:
        more = [one for one in needed[0] if all(one in names for names in needed)] if needed else []
    if more:
        root["required"] = list(dict.fromkeys([*cast("list[str]", root.get("required") or []), *more]))
    if name == "allOf":  # nested combinations come up for the next round
        for member in members:
            for key in ("anyOf", "oneOf", "allOf"):
                more = [one for one in member.get(key, []) if one not in root.get(key, [])]
                if more:
                    root[key] = [*root.get(key, []), *more][:_MOST_BRANCHES]
