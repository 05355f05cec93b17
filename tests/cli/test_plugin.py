"""`opencode-tui plugin` shows how to write one."""

from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "opencode_tui" / "engine" / "plugin" / "plugins.md").read_text("utf-8")


@pytest.mark.parametrize("words", [["plugin"], ["plugin", "--help"]])
def test_the_page_is_printed_as_it_is(commands, words):
    done = commands.run(*words)
    assert (done.code, done.stdout.strip()) == (0, PAGE.strip())
