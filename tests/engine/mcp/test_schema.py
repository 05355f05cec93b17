"""The schema of each tool of a server is one that providers accept, whatever the server wrote."""

import json
import random
from typing import Any

import jsonschema
import pytest

from opencode_tui.engine.mcp.schema import repair_schema, resolve
from opencode_tui.schema.record import JsonObject
from tests.engine.mcp.test_answers import ODD_VALUES, mutated

TEXT = {"type": "string"}


def root(**properties: Any) -> JsonObject:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("given", "repaired"),
    [
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": False}, {"type": "number", "minimum": 0}),
        ({"type": "number", "maximum": 9, "exclusiveMaximum": True}, {"type": "number", "exclusiveMaximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"type": "integer", "minimum": "3"}, {"type": "integer", "minimum": 3}),
        ({"id": "x", "$schema": "http://json-schema.org/draft-04/schema#", **TEXT}, TEXT),
        (
            {"type": "array", "items": [TEXT], "additionalItems": False},
            {"type": "array", "prefixItems": [TEXT], "items": False},
        ),
        ({"type": "array", "items": []}, {"type": "array"}),
        (
            {"dependencies": {"a": ["b"], "c": TEXT}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": TEXT}},
        ),
        ("string", TEXT),
        ({"type": "String"}, TEXT),
        ({"type": "str"}, TEXT),
        ({"type": "any"}, {}),
        ({"type": ["string", "null", "string"]}, {"type": ["string", "null"]}),
        ({"type": ["string"]}, TEXT),
        ({"type": "string", "enum": []}, TEXT),
        ({"type": "string", "enum": ["a", "a", 1, True]}, {"type": "string", "enum": ["a", 1, True]}),
        ({"anyOf": []}, {}),
        ({"anyOf": [TEXT, None, 3]}, {"anyOf": [TEXT]}),
        ({"type": "string", "description": ["a", "b"]}, {"type": "string", "description": "a\nb"}),
        ({"type": "string", "description": None, "default": None}, {"type": "string", "default": None}),
        ({"type": "string", "maxLength": -1}, TEXT),
        ({"type": "string", "required": True}, TEXT),
        ({"type": "object", "additionalProperties": "false"}, {"type": "object", "additionalProperties": False}),
        ({"$ref": "https://example.com/schema.json"}, {}),
        ({"$ref": "#/$defs/Nope", "description": "d"}, {"description": "d"}),
        ({"$ref": "other.json#/x"}, {}),
        ({"$ref": 3}, {}),
        ({"type": "string", "x-secret": {"a": [1]}}, {"type": "string", "x-secret": {"a": [1]}}),
    ],
)
def test_a_keyword_of_another_draft_is_converted_and_a_wrong_one_left_out(given: Any, repaired: Any) -> None:
    found = repair_schema(root(value=given)).schema
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["properties"]["value"] == repaired


def test_a_right_schema_stays_as_it_is() -> None:
    given: JsonObject = {
        **root(
            path={"$ref": "#/$defs/Path"},
            tags={"type": "array", "items": TEXT, "minItems": 1},
            more={"anyOf": [TEXT, {"type": "null"}], "default": None},
        ),
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"Path": {"type": "string", "pattern": "^/"}},
    }
    assert repair_schema(given).schema == given
    assert repair_schema(given).faults == ()


def test_the_top_is_an_object_with_the_properties_of_all_that_it_combines() -> None:
    a, b = (
        {**root(a=TEXT, both=TEXT), "required": ["a", "both"]},
        {**root(b=TEXT, both={"type": "integer"}), "required": ["both"]},
    )
    for keyword, required in (("anyOf", ["both"]), ("oneOf", ["both"]), ("allOf", ["a", "both"])):
        found = repair_schema({keyword: [a, {"$ref": "#/$defs/B"}], "$defs": {"B": b}, "description": "d"}).schema
        assert set(found) == {"type", "properties", "required", "$defs", "description"}
        assert (set(found["properties"]), found["required"]) == ({"a", "b", "both"}, required)
    assert repair_schema({"anyOf": [a, b]}).schema["properties"]["both"] == {"anyOf": [TEXT, {"type": "integer"}]}
    nested = repair_schema({"allOf": [{"anyOf": [root(a=TEXT), root(b=TEXT)]}, root(c=TEXT)]}).schema
    assert set(nested["properties"]) == {"a", "b", "c"}


def test_a_schema_that_contains_itself_is_kept_and_one_without_an_end_ends() -> None:
    tree = root(name=TEXT, children={"type": "array", "items": {"$ref": "#"}})
    assert repair_schema(tree).schema == tree
    for endless in (
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {
            "allOf": [{"$ref": "#/$defs/A"}],
            "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A", "title": "t"}]}},
        },
    ):
        found = repair_schema(endless).schema
        jsonschema.Draft202012Validator.check_schema(found)
        assert found["type"] == "object"
    deep: Any = TEXT
    for _ in range(2_000):
        deep = {"type": "object", "properties": {"x": deep}}
    json.dumps(repair_schema(deep).schema)


def test_references_to_the_address_of_the_schema_lead_into_it() -> None:
    given = {"$id": "https://example.com/a", **root(x={"$ref": "https://example.com/a#/$defs/X"}), "$defs": {"X": TEXT}}
    assert repair_schema(given).schema["properties"]["x"] == {"$ref": "#/$defs/X"}


def test_pointers_are_read_as_the_standard_says() -> None:
    whole: JsonObject = {"a/b": {"c~d": [{"e f": {}}]}}
    assert resolve(whole, "/a~1b/c~0d/0/e%20f") == {}
    assert resolve(whole, "") is whole
    assert [resolve(whole, one) for one in ("/a/b", "/a~1b/c~0d/1", "/a~1b/c~0d/-", "a")] == [None] * 4


WHOLE: JsonObject = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "minLength": 1, "enum": ["x"], "pattern": "x", "description": "d"},
        "b": {"type": "array", "items": {"anyOf": [TEXT, {"$ref": "#/$defs/D"}]}, "minItems": 0, "uniqueItems": True},
        "c": {"type": "number", "minimum": 0, "exclusiveMaximum": 9, "multipleOf": 2},
        "d": {
            "type": "object",
            "additionalProperties": TEXT,
            "patternProperties": {"^x": {}},
            "dependencies": {"a": ["b"]},
        },
    },
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"D": {"type": "object", "properties": {"e": {"$ref": "#"}}}},
    "oneOf": [{"required": ["a"]}, {"properties": {"f": {"not": {}}}}],
}


def test_whatever_is_wrong_in_a_schema_what_is_left_is_right() -> None:
    chance = random.Random(11)
    for _ in range(600):
        given: Any = WHOLE
        for _ in range(chance.randint(1, 6)):
            given = mutated(given, chance)
        found = repair_schema(json.loads(json.dumps(given)))
        jsonschema.Draft202012Validator.check_schema(found.schema)
        assert found.schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref", "enum", "not"} & set(found.schema)
        assert repair_schema(found.schema).schema == found.schema
        assert repair_schema(found.schema).faults == ()


@pytest.mark.parametrize("value", ODD_VALUES)
def test_any_value_in_place_of_a_schema_allows_any_arguments(value: Any) -> None:
    assert repair_schema(value).schema["type"] == "object"
