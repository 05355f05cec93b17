"""Keys that did something else than the user meant, in a real terminal: an answer, a mark, a redo that became a prompt."""

import json

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open

pytestmark = pytest.mark.slow


QUESTION = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "PostgreSQL", "description": "The team knows it"},
                {"label": "SQLite", "description": "Nothing to run"},
            ],
        }
    ]
}


def test_down_and_enter_answer_with_the_second_option(start: Open, server: ModelServer) -> None:
    server.script(Answer(calls=(Call("question", QUESTION),)), Answer(text="As you wish."))
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("ask me")
        terminal.press("enter")
        terminal.sees("Which database?")
        terminal.answer("down", "enter")
        terminal.sees("As you wish.")
        sent = json.dumps(server.requests[-1].body)
        assert '=\\"SQLite\\"' in sent and '=\\"PostgreSQL\\"' not in sent


def test_a_blank_in_the_filter_of_the_sessions_marks_nothing(start: Open, server: ModelServer) -> None:
    server.script(Answer(text="First."), Answer(text="Second."))
    with start() as terminal:
        for words, reply in (("csv import", "First."), ("csv export", "Second.")):
            terminal.sees("Ask anything")
            terminal.type(words)
            terminal.press("enter")
            terminal.sees(reply)
            terminal.sees("✓ Done")
            terminal.press("ctrl+x", "n")
        terminal.sees("Ask anything")
        terminal.press("ctrl+x", "l")
        terminal.sees("csv import")
        terminal.type("csv export")
        shown = terminal.sees("▎ csv export")
        assert "marked" not in shown
        assert "csvexport" not in shown


def test_redo_typed_behind_what_an_undo_put_back_redoes(start: Open, server: ModelServer) -> None:
    server.script(Answer(text="All is written."))
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("make trap")
        terminal.press("enter")
        terminal.sees("✓ Done")
        terminal.type("/undo")
        terminal.press("enter")
        terminal.sees("Undo from here?")
        terminal.answer("y")
        terminal.sees("undone")
        before = len(server.requests)
        terminal.type("/redo")
        terminal.press("enter")
        terminal.sees("All is written.")
        assert len(server.requests) == before
