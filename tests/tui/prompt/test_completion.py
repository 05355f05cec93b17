"""What is being completed."""

import pytest

from opencode_tui.tui.prompt.completion import Trigger, trigger


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
