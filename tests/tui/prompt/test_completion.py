"""What is being completed."""

from typing import cast

import pytest

from opencode_tui.client.client import Client
from opencode_tui.tui.prompt.completion import FileNames, Trigger, trigger
from tests.support.terminal.scripted_client import Script, ScriptedClient


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("query", "found"), [("a" * 30 + "b", []), ("a" * 30, ["a" * 200]), ("sp", ["x/SoP.py"])])
async def test_no_name_of_a_repository_takes_long_to_search(query: str, found: list[str]) -> None:
    client = ScriptedClient(Script(files=["a" * 200, "x/SoP.py"]))
    names = FileNames(cast(Client, client))
    assert await names.find(query) == found
