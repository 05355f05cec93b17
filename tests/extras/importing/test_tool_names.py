"""Arguments of calls in other programs under the names of our tools."""

import pytest

from opencode_tui.extras.importing.tool_names import map_arguments


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["bash", "-lc", "ls | wc"], "ls | wc"),
        (["sh", "-c", "ls"], "ls"),
        (["cat", "a b"], "cat 'a b'"),
        ("ls", "ls"),
    ],
)
def test_a_command_in_words_becomes_its_text(command: object, text: str) -> None:
    assert map_arguments("bash", {"command": command}) == {"command": text}
