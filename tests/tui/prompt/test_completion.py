"""What is being completed."""

from pathlib import Path
from typing import cast

import pytest

from opencode_tui.client.client import Client
from opencode_tui.schema.api.language import Symbol
from opencode_tui.tui.prompt.completion import Completer, Completion, Trigger, trigger, with_symbols
from opencode_tui.tui.prompt.file_names import FileNames
from tests.support.rows import each
from tests.support.terminal.scripted_client import Script, ScriptedClient


@each(
    ("before", "is_first", "found"),
    [
        ("/co", True, Trigger("command", "co", 3)),
        ("/", True, Trigger("command", "", 1)),
        ("/co", False, None),
        ("/compact now", True, None),
        ("/usr/b", True, None),
        ("look at @src/pa", True, Trigger("reference", "src/pa", 7)),
        ("@", True, Trigger("reference", "", 1)),
        ("me@example.org", True, None),
        ("done @a b", True, None),
        ("", True, None),
    ],
)
def test_a_slash_begins_a_command_and_an_at_a_name(before: str, is_first: bool, found: Trigger | None) -> None:
    assert trigger(before, is_first_line=is_first) == found


@pytest.mark.parametrize(("query", "found"), [("a" * 30 + "b" * 30, []), ("a" * 30, ["a" * 200]), ("sp", ["x/SoP.py"])])
async def test_no_name_of_a_repository_takes_long_to_search(query: str, found: list[str]) -> None:
    client = ScriptedClient(Script(files=["a" * 200, "x/SoP.py"]))
    names = FileNames(cast(Client, client))
    assert await names.find(query) == found


ROOT = Path("/home/you/src/csvkit")


def symbol(name: str, file: str, first: int = 1, last: int = 0) -> Symbol:
    given = {"start": {"line": first - 1, "character": 0}, "end": {"line": max(first, last) - 1, "character": 9}}
    found = Symbol.of({"name": name, "kind": 12, "location": {"uri": (ROOT / file).as_uri(), "range": given}})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ([symbol("parse", "a.py", 3, 9)], ["@a.py#parse "]),
        ([symbol("parse", "a.py", 3)], ["@a.py#parse "]),
        ([symbol("parse()", "a.ts", 3)], ["@a.ts#parse "]),
        ([symbol("parse(int, int)", "a.cpp", 3)], ["@a.cpp#parse "]),
        ([symbol("parse", "my file.py")], ['@"my file.py"#parse ']),
        ([symbol("parse", "src/日本.py")], ["@src/日本.py#parse "]),
        ([symbol("analysé", "a.py")], ["@a.py#analysé "]),
        ([symbol("parse", "a.py", 3, 9), symbol("parse", "a.py", 20, 30)], ["@a.py#L3-9 ", "@a.py#L20-30 "]),
        ([symbol("parse", "a.py", 3), symbol("parse", "a.py", 20)], ["@a.py#parse ", "@a.py#parse "]),
        ([symbol("parse", "a.py"), symbol("parse", "b.py")], ["@a.py#parse ", "@b.py#parse "]),
        ([symbol("reparse", "a.py"), symbol("parser", "a.py"), symbol("parse", "a.py")],
         ["@a.py#parse ", "@a.py#parser ", "@a.py#reparse "]),
        ([symbol("operator+", "a.cpp"), symbol("a b", "a.py"), symbol("", "a.py")], []),
        ([symbol("parse", "../other/a.py")], []),
        ([symbol("parse", 'a"b.py')], []),
        ([symbol("\x1b[31mparse", "a.py")], []),
        ([symbol(f"parse{number}", "a.py") for number in range(9)], [f"@a.py#parse{number} " for number in range(5)]),
        ([], []),
    ],
)  # fmt: skip
async def test_symbols_are_completed_to_their_file_and_name(symbols: list[Symbol], expected: list[str]) -> None:
    client = ScriptedClient(Script(directory=ROOT))
    client.languages.answer(symbols=lambda _query: symbols)
    found = await Completer(cast(Client, client)).find_symbols(Trigger("reference", "parse", 6))
    assert [one.insert for one in found] == [*dict.fromkeys(expected)]


@pytest.mark.parametrize("wanted", ["", "p", "src/pa", "a.py", "par se", "files:x", "12"])
async def test_no_server_is_asked_for_what_is_no_name(wanted: str) -> None:
    client = ScriptedClient(Script())
    client.languages.answer(symbols=lambda _query: [symbol("parse", "a.py")])
    completer = Completer(cast(Client, client))
    assert list(await completer.find_symbols(Trigger("reference", wanted, 1))) == []
    assert list(await completer.find_symbols(Trigger("command", "parse", 1))) == []


def test_symbols_come_after_the_first_rows() -> None:
    files = [Completion(str(number), "") for number in range(9)]
    symbols = [Completion("s", ""), Completion("t", "")]
    assert [one.insert for one in with_symbols(files, symbols)] == [*"012", "s", "t", *"345678"]
    assert [one.insert for one in with_symbols(files[:1], symbols)] == ["0", "s", "t"]
    assert with_symbols([], symbols) == symbols
