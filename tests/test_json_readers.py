"""JSON of strangers is read by `schema/json_text.py` only: nothing that is nested deeply ends a reader, or a writer after it."""

import ast
import json
from pathlib import Path

import msgspec
import pytest

from opencode_tui.engine.provider.call_assembly import parse_arguments
from opencode_tui.engine.provider.decode.response import read_json
from opencode_tui.schema.json_text import (
    MAX_DEPTH,
    JsonError,
    TooDeepError,
    decode_json,
    decode_structs,
    is_deep,
    load_json,
)
from opencode_tui.schema.session.part import PART, ToolPart
from tests.support.rows import each

PACKAGE = Path(__file__).parents[1] / "opencode_tui"

READERS_OF_STRANGERS = (
    "acp",
    "batch",
    "client",
    "server",
    "extras/importing",
    "engine/lsp",
    "engine/mcp",
    "engine/plugin",
    "engine/provider",
    "engine/share",
    "extras",
    "tui/theme",
)

OWN_DATA = {
    "batch/swebench.py": "bounded there, since its message has the line of the error",
    "extras/importing/importer.py": "a record of our store",
    "engine/provider/call_assembly.py": "bounded there, since its message has the place of the error",
    "engine/provider/litellm_child.py": "orders of the program to its child",
    "engine/provider/recent.py": "a file of our state",
    "engine/provider/request_preview.py": "a request of ours",
    "extras/share_server/store.py": "files that the share server wrote",
    "extras/opencode2/journal.py": "a file of our store",
}

DECODERS = {
    "json.loads",
    "json.load",
    "msgspec.json.decode",
    "from_json",
    "json.decode",
    "msgspec.json.Decoder",
    "json.JSONDecoder",
}


def calls_of_decoders(source: str) -> list[str]:
    """Return the names of decoders that a module mentions, also without a call."""
    if "json" not in source:  # each decoder has it in its name; most modules need not be parsed
        return []
    found = [ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute | ast.Name)]
    return [name for name in found if name in DECODERS]


@pytest.mark.slow
def test_no_reader_of_strangers_decodes_json_itself() -> None:
    modules = [path for folder in READERS_OF_STRANGERS for path in (PACKAGE / folder).rglob("*.py")]
    assert len(modules) > 150
    found = {str(path.relative_to(PACKAGE)) for path in modules if calls_of_decoders(path.read_text("utf-8"))}
    assert found == set(OWN_DATA)


def test_the_search_for_decoders_finds_them() -> None:
    assert calls_of_decoders("x = json.loads(y)") == ["json.loads"]
    assert calls_of_decoders("read = msgspec.json.decode") == ["msgspec.json.decode"]


def nested(depth: int, opener: str = "[") -> str:
    return "[" * depth + "]" * depth if opener == "[" else '{"a":' * depth + "1" + "}" * depth


@each("opener", ["[", "{"])
@each("depth", [MAX_DEPTH + 1, 150, 250, 900, 5_000, 300_000])
def test_deep_json_is_an_error_that_every_reader_knows(opener: str, depth: int) -> None:
    for read in (load_json, decode_json):
        with pytest.raises(TooDeepError, match="nested deeper than 100 levels") as caught:
            read(nested(depth, opener))
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, msgspec.DecodeError)
    with pytest.raises(ValueError, match="nested deeper"):
        read_json(nested(depth, opener).encode())
    assert parse_arguments(f'{{"a": {nested(depth, opener)}}}') == ({}, "The arguments are nested too deeply.")


class Flat(msgspec.Struct, frozen=True):
    a: int


def test_structs_are_read_alone_and_anything_else_is_the_same_error() -> None:
    assert decode_structs(b'[{"a": 1, "of a newer program": [[2]]}, {"a": 2}]', Flat) == [Flat(1), Flat(2)]
    deep = b'[{"a": 1, "b": ' + nested(300_000).encode() + b"}]"
    for text in (b"", b"{", b'{"a": 1}', b'[{"a": "x"}]', b"[{}]", b"\xff", deep):
        with pytest.raises(JsonError):
            decode_structs(text, Flat)


@pytest.mark.parametrize("opener", ["[", "{"])
def test_json_of_the_greatest_depth_is_read_written_and_read_again(opener: str) -> None:
    text = nested(MAX_DEPTH - 1, opener)
    value = load_json(text)
    assert value == decode_json(text) == json.loads(text) and not is_deep(value)
    state = {"status": "completed", "input": {"a": value}, "output": "", "time": {"start": 1}}
    names = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "tool", "callID": "c", "tool": "t"}
    part = PART.validate_python({**names, "state": state})
    again = PART.validate_json(part.to_json())
    assert isinstance(again, ToolPart) and again.state.input == {"a": value}


def test_text_with_many_brackets_in_strings_is_not_deep() -> None:
    text = json.dumps(["[{" * 10_000, [1] * 500, [[]] * 500])
    assert load_json(text) == decode_json(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", "[1,", "nul", '{"a":}', b"\xff\xfe"])
def test_what_is_not_json_is_one_kind_of_error(text: str | bytes) -> None:
    for read in (load_json, decode_json):
        with pytest.raises(JsonError):
            read(text)
