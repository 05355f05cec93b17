"""Comforts in a real terminal: copied code, the editor, messages that wait, vim keys, facts, find, rules, login."""

import base64
import json
import threading
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open

pytestmark = pytest.mark.slow


TEXT = "The fault is in a.py:2. Change it:\n\n```python\ny = 3\n```\n"
EDITOR = """#!/bin/sh
printf 'EDITING %s %s\\n' "$1" "$2"
read line
"""


def test_code_is_copied_and_a_file_opened_and_the_screen_comes_back(
    start: Open, folder: Path, server: ModelServer, tmp_path: Path
) -> None:
    (folder / "a.py").write_text("x = 1\ny = 2\n")
    editor = tmp_path / "vim"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    server.script(Answer(text=TEXT))
    with start(environ={"EDITOR": str(editor), "VISUAL": ""}) as terminal:
        terminal.sees("Ask anything")
        terminal.type("where?")
        terminal.press("enter")
        terminal.sees("✓ Done")
        terminal.press("ctrl+x", "p")
        terminal.sees("Copy a response or a code block")
        terminal.press("down", "enter")
        terminal.sees("Copied  python, 1 line")
        assert base64.b64encode(b"y = 3") in bytes(terminal.raw)
        terminal.press("ctrl+x", "o")
        text = terminal.sees("EDITING +2")
        assert "Ask anything" not in text
        terminal.press("enter")
        terminal.sees("The fault is in")
        terminal.type("still here")
        terminal.sees("▎ still here")
        terminal.press("ctrl+c")
        terminal.sees("Ask anything")


def test_messages_wait_for_the_turn_and_vim_keys_and_facts_work(start: Open, server: ModelServer) -> None:
    it_waits = threading.Event()
    server.script(Answer(text="begun the-end", holds=(("the-end", it_waits),)))
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.sees("f1 help")
        terminal.press("ctrl+x", "j")
        terminal.sees("Messages are queued")
        terminal.type("first")
        terminal.press("enter")
        terminal.sees("begun")
        terminal.type("and then this")
        terminal.press("enter")
        terminal.sees("next turn  and then this")
        it_waits.set()
        terminal.sees("Echo: and then this")
        terminal.sees_no_more("next turn")

        terminal.type("/cost")
        terminal.press("enter")
        terminal.sees("Cost")
        terminal.press("escape")
        terminal.sees("Echo: and then this")
        terminal.press("ctrl+r")
        terminal.sees("Search earlier prompts")
        terminal.type("and th")
        terminal.press("enter")
        terminal.read_until(lambda: terminal.shown().count("▎ and then this") == 2)  # in the chat and in the prompt
        terminal.press("ctrl+c")

        terminal.type("/vim")
        terminal.press("enter")
        terminal.sees("vim insert")
        terminal.press("escape")
        terminal.sees("vim normal")
        terminal.press("escape", "escape")
        terminal.sees("Timeline")
        terminal.press("escape")
        terminal.sees("vim normal")


def test_a_text_is_found_a_rule_kept_and_a_key_stored(
    start: Open, folder: Path, paths: Paths, server: ModelServer
) -> None:
    server.script(Answer(text="The needle is here.\n\n" + "\n\n".join(f"Paragraph {n}." for n in range(40))))
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("where?")
        terminal.press("enter")
        terminal.sees("Paragraph 39")
        terminal.sees("✓ Done")
        terminal.press("ctrl+x", "/")
        terminal.sees("Find")
        terminal.type("needle")
        terminal.press("enter")
        terminal.sees("1 of 1")
        assert "The needle is here." in terminal.shown()
        terminal.press("escape")
        terminal.sees("Ask anything")

        terminal.type("# Never edit generated files")
        terminal.press("enter")
        terminal.sees("Keep this rule?")
        terminal.sees("+ - Never edit generated files")
        terminal.answer("y")
        terminal.sees("Rule added")
        assert (folder / "AGENTS.md").read_text() == "- Never edit generated files\n"

        terminal.type("/login")
        terminal.press("enter")
        terminal.sees("Connect a provider")
        terminal.type("openrouter")
        terminal.press("enter")
        terminal.sees("API key for openrouter")
        terminal.type("sk-secret")
        terminal.sees("•••••••••")
        terminal.press("enter")
        terminal.sees("Saved the API key for openrouter")
        assert json.loads(paths.auth.read_text())["openrouter"]["key"] == "sk-secret"
        assert b"sk-secret" not in bytes(terminal.raw)
