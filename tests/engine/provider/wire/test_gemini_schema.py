"""JSON Schemas as Gemini's subset, and those that it cannot express."""

from typing import Any

import pytest

from opencode_tui.engine.provider.decode.gemini_schema import UnsupportedSchemaError, to_gemini_schema
from opencode_tui.engine.tool.registry import read_specs
from tests.support.rows import each


def convert(part: dict[str, Any], **root: Any) -> Any:
    found = to_gemini_schema({"type": "object", "properties": {"a": part}, **root})
    assert found is not None
    return found["properties"]["a"]


STRING = {"type": "STRING"}
PARTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "string"}, STRING),
    (
        {"type": "string", "description": "d", "title": "t", "default": "x", "examples": ["x"]},
        {**STRING, "description": "d"},
    ),
    (
        {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "x"},
        {**STRING, "minLength": 1, "maxLength": 2, "pattern": "x"},
    ),
    ({"type": "string", "format": "date-time"}, {**STRING, "format": "date-time"}),
    ({"type": "string", "format": "uri"}, STRING),
    ({"type": "string", "minimum": 1, "minItems": 1}, STRING),
    ({"type": "string", "enum": ["a", "b"]}, {**STRING, "enum": ["a", "b"]}),
    ({"type": "string", "enum": ["", "b"]}, {**STRING, "enum": ["b"]}),
    ({"type": "string", "enum": [""]}, STRING),
    ({"enum": ["a", "b"]}, {**STRING, "enum": ["a", "b"]}),
    ({"const": "a"}, {**STRING, "enum": ["a"]}),
    ({"type": "string", "const": "a"}, {**STRING, "enum": ["a"]}),
    ({"enum": ["a", None]}, {**STRING, "enum": ["a"], "nullable": True}),
    ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER", "format": "enum", "enum": ["1", "2"]}),
    ({"type": "number", "enum": [1, 2.5]}, {"type": "NUMBER", "format": "enum", "enum": ["1", "2.5"]}),
    ({"type": "boolean", "const": True}, {"type": "BOOLEAN"}),
    (
        {"type": "integer", "minimum": 0, "maximum": 9, "exclusiveMinimum": 0},
        {"type": "INTEGER", "minimum": 0, "maximum": 9},
    ),
    ({"type": "integer", "format": "int64"}, {"type": "INTEGER", "format": "int64"}),
    ({"type": "integer", "format": "uint"}, {"type": "INTEGER"}),
    ({"type": ["string", "null"]}, {**STRING, "nullable": True}),
    ({"type": ["null"]}, {"type": "NULL"}),
    ({"type": "null"}, {"type": "NULL"}),
    ({"type": ["string", "number"]}, {"anyOf": [STRING, {"type": "NUMBER"}]}),
    (
        {"type": ["string", "number", "null"], "description": "d", "minLength": 1},
        {"description": "d", "anyOf": [{**STRING, "minLength": 1}, {"type": "NUMBER"}], "nullable": True},
    ),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {**STRING, "nullable": True}),
    (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
        {**STRING, "description": "d", "nullable": True},
    ),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [STRING, {"type": "INTEGER"}]}),
    ({"anyOf": [{"type": "null"}]}, {"type": "NULL"}),
    (
        {"type": "string", "anyOf": [{"const": "a"}, {"const": "b"}]},
        {"anyOf": [{**STRING, "enum": ["a"]}, {**STRING, "enum": ["b"]}]},
    ),
    ({"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "ARRAY", "minItems": 1, "items": STRING}),
    ({"items": {"type": "string"}}, {"type": "ARRAY", "items": STRING}),
    ({"type": "object"}, {"type": "OBJECT"}),
    (
        {"type": "object", "additionalProperties": {"type": "string"}, "description": "d"},
        {"type": "OBJECT", "description": "d"},
    ),
    (
        {"properties": {"x": {"type": "string"}}, "required": ["x", "gone"], "additionalProperties": False},
        {"type": "OBJECT", "properties": {"x": STRING}, "required": ["x"]},
    ),
    ({"allOf": [{"type": "string"}], "description": "d"}, {**STRING, "description": "d"}),
    (
        {
            "allOf": [
                {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
                {"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]},
            ]
        },
        {"type": "OBJECT", "properties": {"x": STRING, "y": {"type": "INTEGER"}}, "required": ["x", "y"]},
    ),
    ({"$ref": "#/$defs/Name"}, STRING),
    ({"$ref": "#/$defs/Name", "description": "d"}, {**STRING, "description": "d"}),
    ({"type": "array", "items": {"$ref": "#/definitions/Old~1one"}}, {"type": "ARRAY", "items": {"type": "BOOLEAN"}}),
    ({"allOf": [{"$ref": "#/$defs/Name"}], "default": None}, STRING),
    ({"anyOf": [{"$ref": "#/$defs/Name"}, {"$ref": "#/$defs/Name"}]}, {"anyOf": [STRING, STRING]}),
]
DEFINITIONS = {"$defs": {"Name": {"type": "string", "title": "Name"}}, "definitions": {"Old/one": {"type": "boolean"}}}


@each(("part", "converted"), PARTS, ids=[str(part)[:60] for part, _ in PARTS])
def test_a_part_is_converted(part: dict[str, Any], converted: dict[str, Any]) -> None:
    assert convert(part, **DEFINITIONS) == converted


@each(
    ("part", "message"),
    [
        ({}, "no type"),
        ({"description": "anything"}, "no type"),
        ({"type": "array"}, "no type"),
        ({"type": "array", "items": [{"type": "string"}]}, "no type"),
        ({"type": "file"}, "'file' is unknown"),
        ({"type": 7}, "no type"),
        ({"enum": [{}]}, "an object or a list"),
        ({"$ref": "#/$defs/Gone"}, "not defined"),
        ({"$ref": "other.json#/x"}, "not defined"),
        ({"$ref": "#"}, "not defined"),
        ({"$ref": "#/$defs/Tree"}, "refers to itself"),
        ({"$ref": "#/$defs/Both"}, "refers to itself"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "differ in type"),
    ],
)
def test_what_cannot_be_expressed_is_said(part: dict[str, Any], message: str) -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    both = {"allOf": [{"$ref": "#/$defs/Both"}]}
    with pytest.raises(UnsupportedSchemaError, match=message):
        convert(part, **{"$defs": {"Tree": tree, "Both": both}})


def test_a_schema_without_an_end_is_refused() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        part = {"type": "array", "items": part}
    with pytest.raises(UnsupportedSchemaError, match="too deeply"):
        convert(part)


def test_every_tool_of_ours_can_be_expressed() -> None:
    specs = read_specs()
    converted = {name: to_gemini_schema(spec.parameters) for name, spec in specs.items()}
    assert len(converted) > 10
    for name, found in converted.items():
        given = specs[name].parameters.get("properties", {})
        assert list((found or {}).get("properties", {})) == list(given), name
