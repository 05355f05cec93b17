"""One wrong part of an answer of a server costs that part only: what is left passes the checks of the official SDK."""

import json
import random
from typing import Any, cast

import pytest
from mcp_types import methods

from opencode_tui.engine.mcp.answers import VERSIONS, repair_answer
from opencode_tui.engine.mcp.content import read_result
from opencode_tui.schema.record import JsonObject

OBJECT: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
GOOD: JsonObject = {"name": "good", "description": "Works.", "inputSchema": OBJECT}

LEFT_OUT = "is left out"
UNCHECKED = "arguments are not checked"
REPAIRED = "its schema is used without"

# (the odd tool, whether it can be called, what is said about it)
TOOLS: dict[str, tuple[Any, bool, str]] = {
    "no input schema": ({"name": "odd"}, True, UNCHECKED),
    "an input schema of null": ({"name": "odd", "inputSchema": None}, True, UNCHECKED),
    "an empty input schema": ({"name": "odd", "inputSchema": {}}, True, ""),
    "an input schema that is a list": ({"name": "odd", "inputSchema": [OBJECT]}, True, UNCHECKED),
    "an input schema that is a text": ({"name": "odd", "inputSchema": json.dumps(OBJECT)}, True, UNCHECKED),
    "an input schema of true": ({"name": "odd", "inputSchema": True}, True, UNCHECKED),
    "its schema under another name": ({"name": "odd", "input_schema": OBJECT}, True, ""),
    "a type in a list": ({"name": "odd", "inputSchema": {"type": ["object"]}}, True, ""),
    "a type in capitals": ({"name": "odd", "inputSchema": {"type": "OBJECT"}}, True, ""),
    "another type": ({"name": "odd", "inputSchema": {"type": "string"}}, True, ""),
    "alternatives at the top": ({"name": "odd", "inputSchema": {"anyOf": [OBJECT, {"type": "object"}]}}, True, ""),
    "a reference at the top": (
        {"name": "odd", "inputSchema": {"$ref": "#/definitions/I", "definitions": {"I": OBJECT}}},
        True,
        "",
    ),
    "required as a text": ({"name": "odd", "inputSchema": {**OBJECT, "required": "path"}}, True, ""),
    "required with a number": ({"name": "odd", "inputSchema": {**OBJECT, "required": [1]}}, True, REPAIRED),
    "properties of null": ({"name": "odd", "inputSchema": {"type": "object", "properties": None}}, True, ""),
    "properties in a list": (
        {"name": "odd", "inputSchema": {"type": "object", "properties": [{"name": "path", "type": "string"}]}},
        True,
        "",
    ),
    "a property that is a number": (
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"path": 7}}},
        True,
        REPAIRED,
    ),
    "a reference that leads nowhere": (
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"path": {"$ref": "#/$defs/Nope"}}}},
        True,
        "`$ref: #/$defs/Nope`, which leads nowhere",
    ),
    "an output schema of a list": ({**GOOD, "name": "odd", "outputSchema": {"type": "array"}}, True, ""),
    "an output schema that is a text": ({**GOOD, "name": "odd", "outputSchema": "text"}, True, ""),
    "icons that are a text": ({**GOOD, "name": "odd", "icons": "icon.png"}, True, ""),
    "icons without an address": ({**GOOD, "name": "odd", "icons": [{}]}, True, ""),
    "a _meta that is a text": ({**GOOD, "name": "odd", "_meta": "x"}, True, ""),
    "annotations that are a list": ({**GOOD, "name": "odd", "annotations": ["readOnly"]}, True, ""),
    "a wrong title in annotations": ({**GOOD, "name": "odd", "annotations": {"title": 3}}, True, ""),
    "a hint that is a text": ({**GOOD, "name": "odd", "annotations": {"readOnlyHint": "yes"}}, True, ""),
    "a title that is an object": ({**GOOD, "name": "odd", "title": {"en": "Odd"}}, True, ""),
    "a description of null": ({**GOOD, "name": "odd", "description": None}, True, ""),
    "a description in a list": ({**GOOD, "name": "odd", "description": ["a", "b"]}, True, ""),
    "an execution that is a text": ({**GOOD, "name": "odd", "execution": "task"}, True, ""),
    "an unknown support of tasks": ({**GOOD, "name": "odd", "execution": {"taskSupport": "maybe"}}, True, ""),
    "no name": ({"description": "Nameless.", "inputSchema": OBJECT}, False, LEFT_OUT),
    "a name that is a number": ({**GOOD, "name": 5}, False, LEFT_OUT),
    "a tool that is a text": ("odd", False, LEFT_OUT),
    "a tool of null": (None, False, LEFT_OUT),
    "a tool that is a list": ([GOOD], False, LEFT_OUT),
}


def listed(result: JsonObject) -> list[str]:
    return [tool["name"] for tool in result["tools"]]


def accept(method: str, result: JsonObject) -> None:
    """Raise what the SDK raises for an answer in any version of the protocol."""
    for version in VERSIONS:
        methods.parse_server_result(method, version, result)


@pytest.mark.parametrize("odd", TOOLS)
def test_an_odd_tool_costs_no_other_and_is_named_where_it_changes(odd: str) -> None:
    tool, can_be_called, words = TOOLS[odd]
    answer = repair_answer("tools/list", {"tools": [GOOD, tool, {**GOOD, "name": "last"}]})
    accept("tools/list", answer.result)
    assert listed(answer.result) == (["good", "odd", "last"] if can_be_called else ["good", "last"])
    assert len(answer.faults) == bool(words)
    assert all(words in fault for fault in answer.faults)
    for one in answer.result["tools"]:
        assert one["inputSchema"]["type"] == "object"
        assert isinstance(one["inputSchema"]["properties"], dict)
    assert answer.result["tools"][0] == GOOD


@pytest.mark.parametrize(
    ("result", "names", "faults"),
    [
        ({"tools": None}, [], 0),
        ({}, [], 0),
        ({"tools": "none"}, [], 1),
        ({"tools": {"good": {"inputSchema": OBJECT}}}, ["good"], 0),
        ({"tools": [GOOD], "nextCursor": None}, ["good"], 0),
        ({"tools": [GOOD], "nextCursor": ""}, ["good"], 0),
        ({"tools": [GOOD], "_meta": 3, "ttlMs": "long", "cacheScope": "all"}, ["good"], 0),
        ({"tools": [GOOD], "ttlMs": -1}, ["good"], 0),
    ],
)
def test_a_list_that_is_none_is_empty(result: JsonObject, names: list[str], faults: int) -> None:
    answer = repair_answer("tools/list", result)
    accept("tools/list", answer.result)
    methods.parse_server_result("tools/list", "2026-07-28", answer.result)
    assert (listed(answer.result), len(answer.faults)) == (names, faults)
    assert "nextCursor" not in answer.result


INFO = {"name": "odd", "version": "1"}
ALL = {"tools", "prompts", "resources"}


@pytest.mark.parametrize(
    ("change", "version", "capabilities"),
    [
        ({"serverInfo": None}, "2025-06-18", {"tools"}),
        ({"serverInfo": {"name": "odd"}}, "2025-06-18", {"tools"}),
        ({"serverInfo": {"version": "1"}}, "2025-06-18", {"tools"}),
        ({"serverInfo": "odd 1"}, "2025-06-18", {"tools"}),
        ({"serverInfo": {**INFO, "icons": "x", "websiteUrl": 3}}, "2025-06-18", {"tools"}),
        ({"capabilities": None}, "2025-06-18", ALL),
        ({"capabilities": {}}, "2025-06-18", ALL),
        ({"capabilities": []}, "2025-06-18", ALL),
        ({"capabilities": {"tools": True}}, "2025-06-18", {"tools"}),
        ({"capabilities": {"tools": None, "prompts": {}}}, "2025-06-18", {"prompts"}),
        ({"capabilities": {"tools": {"listChanged": "yes"}}}, "2025-06-18", {"tools"}),
        ({"capabilities": {"tools": {}, "logging": True, "experimental": 1}}, "2025-06-18", {"tools"}),
        ({"instructions": {"text": "x"}}, "2025-06-18", {"tools"}),
        ({"instructions": None}, "2025-06-18", {"tools"}),
        ({"_meta": "x"}, "2025-06-18", {"tools"}),
        ({"protocolVersion": None}, "2025-11-25", {"tools"}),
        ({"protocolVersion": 2}, "2025-11-25", {"tools"}),
        ({"protocolVersion": "latest"}, "2025-11-25", {"tools"}),
        ({"protocolVersion": "2024-10-07"}, "2024-11-05", {"tools"}),
        ({"protocolVersion": "1.0"}, "2024-11-05", {"tools"}),
        ({"protocolVersion": "2025-04-01"}, "2025-03-26", {"tools"}),
        ({"protocolVersion": "2026-07-28"}, "2025-11-25", {"tools"}),
        ({"protocolVersion": "2031-01-01"}, "2025-11-25", {"tools"}),
    ],
)
def test_a_server_that_introduces_itself_oddly_is_connected(
    change: JsonObject, version: str, capabilities: set[str]
) -> None:
    given = {"protocolVersion": "2025-06-18", "serverInfo": INFO, "capabilities": {"tools": {}}, **change}
    for written in (given, {key: value for key, value in given.items() if value is not None}):
        answer = repair_answer("initialize", written)
        accept("initialize", answer.result)
        assert answer.result["protocolVersion"] == version
        assert set(answer.result["capabilities"]) == capabilities
        assert len(answer.faults) == ("protocolVersion" in change)
        assert isinstance(answer.result.get("instructions", ""), str)


# (the content, the text that the model reads)
CONTENTS: dict[str, tuple[Any, str]] = {
    "an unknown kind": (
        [{"type": "text", "text": "A"}, {"type": "video", "url": "x"}],
        "A\n\n(content of the kind video",
    ),
    "no kind": ([{"text": "A"}], "A"),
    "a text": ("A", "A"),
    "texts": (["A", "B"], "A\n\nB"),
    "one block": ({"type": "text", "text": "A"}, "A"),
    "a number as a text": ([{"type": "text", "text": 5}], "5"),
    "an object as a text": ([{"type": "text", "text": {"a": 1}}], '{"a": 1}'),
    "wrong annotations": ([{"type": "text", "text": "A", "annotations": {"priority": "high"}}], "A"),
    "a wrong _meta": ([{"type": "text", "text": "A", "_meta": []}], "A"),
    "null": (None, ""),
    "a block of null": ([None, {"type": "text", "text": "A"}], "null\n\nA"),
    "a picture without data": ([{"type": "image"}, {"type": "text", "text": "A"}], "(content of the kind image"),
    "a link without a name": ([{"type": "resource_link", "uri": "file:///x"}], "Resource file:///x"),
    "a link without an address": ([{"type": "resource_link", "name": "x"}], "(content of the kind resource_link"),
    "a resource without an address": ([{"type": "resource", "resource": {"text": "A"}}], "A"),
    "a resource without content": ([{"type": "resource", "resource": {"uri": "x:y"}}], "(content of the kind resource"),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_an_odd_block_of_a_result_costs_no_other(content: str) -> None:
    given, text = CONTENTS[content]
    answer = repair_answer("tools/call", {"content": given})
    accept("tools/call", answer.result)
    assert text in read_result(answer.result).text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "A"}], "structuredContent": {"m": "B"}}, 'A\n\n{\n "m": "B"\n}'),
        ({"content": [], "structuredContent": {"m": "B"}}, '{\n "m": "B"\n}'),
        ({"content": [{"type": "text", "text": '{"m":"B"}'}], "structuredContent": {"m": "B"}}, '{"m":"B"}'),
        (
            {"content": [{"type": "text", "text": '{ "b": 1, "a": [2] }'}], "structuredContent": {"a": [2], "b": 1}},
            "{ ",
        ),
        ({"content": [{"type": "text", "text": "B"}], "structuredContent": {"result": "B"}}, "B"),
        ({"content": [{"type": "text", "text": "[1, 2]"}], "structuredContent": {"result": [1, 2]}}, "[1, 2]"),
        (
            {
                "content": [{"type": "text", "text": "Found:"}, {"type": "text", "text": '{"m": "B"}'}],
                "structuredContent": {"m": "B"},
            },
            'Found:\n\n{"m": "B"}',
        ),
        ({"content": [{"type": "text", "text": "A"}], "structuredContent": [1, 2]}, "A\n\n[1, 2]"),
        ({"structuredContent": "B"}, "B"),
        ({"content": [{"type": "text", "text": "A"}], "structuredContent": None}, "A"),
        ({"toolResult": {"m": 1}}, '{"m": 1}'),
        ({"content": [{"type": "text", "text": "A"}], "isError": "false"}, "A"),
    ],
)
def test_text_and_data_both_reach_the_model_where_they_differ(result: JsonObject, text: str) -> None:
    answer = repair_answer("tools/call", result)
    accept("tools/call", answer.result)
    read = read_result(answer.result).text
    assert read.startswith(text) and read.count("B") == text.count("B")


def test_prompts_and_resources_are_kept_without_their_wrong_parts() -> None:
    prompts = repair_answer(
        "prompts/list",
        {
            "prompts": [
                {"name": "a", "arguments": [{"name": "x", "required": "yes"}, {"description": "nameless"}, 3]},
                {"title": "nameless"},
                {"name": "b", "arguments": None, "icons": 3},
            ]
        },
    )
    accept("prompts/list", prompts.result)
    assert [(one["name"], len(one["arguments"])) for one in prompts.result["prompts"]] == [("a", 1), ("b", 0)]
    assert len(prompts.faults) == 3
    resources = repair_answer(
        "resources/list", {"resources": [{"uri": "a:b"}, {"name": "x"}, {"uri": "c:d", "size": "1"}]}
    )
    accept("resources/list", resources.result)
    assert [one["name"] for one in resources.result["resources"]] == ["a:b", "c:d"]
    templates = repair_answer("resources/templates/list", {"resourceTemplates": [{"uriTemplate": "a:{b}"}, {}]})
    accept("resources/templates/list", templates.result)
    assert len(templates.result["resourceTemplates"]) == len(templates.faults) == 1
    read = repair_answer("resources/read", {"contents": [{"uri": "a:b", "text": 3}, {"uri": "c:d"}, {"blob": "eA=="}]})
    accept("resources/read", read.result)
    assert len(read.result["contents"]) == 2
    messages = repair_answer("prompts/get", {"messages": [{"role": "system", "content": "A"}, {"content": ["B", "C"]}]})
    accept("prompts/get", messages.result)
    assert [one["content"]["text"] for one in messages.result["messages"]] == ["A", "B", "C"]


def test_answers_of_another_kind_stay_as_they_are() -> None:
    waiting: JsonObject = {"resultType": "input_required", "inputRequests": {}}
    assert repair_answer("tools/call", waiting).result is waiting
    other: JsonObject = {"completion": {}}
    assert repair_answer("completion/complete", other).result is other


ODD_VALUES: list[Any] = [None, True, False, 0, -1, 1.5, "", "x", [], [None], ["x"], {}, {"x": None}, {"type": "x"}]
WHOLE: dict[str, JsonObject] = {
    "tools/list": {
        "tools": [
            {
                **GOOD,
                "title": "T",
                "annotations": {"title": "t", "readOnlyHint": True},
                "outputSchema": OBJECT,
                "icons": [{"src": "x:y"}],
                "execution": {"taskSupport": "optional"},
                "_meta": {"a": 1},
            }
        ],
        "nextCursor": "1",
        "_meta": {},
    },
    "tools/call": {
        "content": [
            {"type": "text", "text": "A", "annotations": {"audience": ["user"]}},
            {"type": "image", "data": "eA==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "B"}},
            {"type": "resource_link", "uri": "a:b", "name": "b", "size": 3},
        ],
        "structuredContent": {"a": 1},
        "isError": False,
    },
    "initialize": {
        "protocolVersion": "2025-06-18",
        "serverInfo": {**INFO, "icons": [{"src": "x:y"}]},
        "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "tasks": {"list": {}}},
        "instructions": "x",
    },
    "prompts/list": {"prompts": [{"name": "a", "arguments": [{"name": "x", "required": True}], "icons": []}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "A"}}], "description": "d"},
    "resources/list": {"resources": [{"uri": "a:b", "name": "b", "size": 3, "annotations": {"priority": 1}}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "b"}]},
    "resources/read": {"contents": [{"uri": "a:b", "text": "x"}, {"uri": "a:c", "blob": "eA=="}]},
}


def mutated(value: Any, chance: random.Random) -> Any:
    """Return a copy of a JSON value in which one part is odd, missing or doubled."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.2:
        return chance.choice(ODD_VALUES)
    if isinstance(value, list):
        members = list(cast("list[Any]", value))
        at = chance.randrange(len(members))
        members[at : at + 1] = [mutated(members[at], chance)] * chance.choice((1, 1, 2))
        return members
    fields = dict(cast("JsonObject", value))
    key = chance.choice(list(fields))
    if chance.random() < 0.2:
        del fields[key]
    else:
        fields[key] = mutated(fields[key], chance)
    return fields


@pytest.mark.parametrize("method", WHOLE)
def test_whatever_is_wrong_in_an_answer_the_sdk_accepts_what_is_left(method: str) -> None:
    chance = random.Random(7)
    for _ in range(400):
        given: Any = WHOLE[method]
        for _ in range(chance.randint(1, 4)):
            given = mutated(given, chance)
        if isinstance(given, dict):
            accept(method, repair_answer(method, json.loads(json.dumps(given))).result)
