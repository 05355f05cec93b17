"""`run` with a full context: stdout has only the answer, stderr reports the summary."""

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


ANSWERS = (
    Answer(text="looking. ", calls=(Call("read", {"filePath": "a.py"}),), usage=(199_000, 500, 0)),
    Answer(text="SECRET SUMMARY"),
    Answer(text="all done"),
)


def test_the_summary_is_no_answer(line: CommandLine, server: ModelServer) -> None:
    server.script(*ANSWERS)
    done = line.run("run", "-m", "fake/fake-model", "work")
    assert done.code == 0 and "all done" in done.stdout
    assert "SECRET SUMMARY" not in done.stdout and "compacted" in done.stderr


def test_in_json_the_summary_is_no_text_of_the_answer(line: CommandLine, server: ModelServer) -> None:
    server.script(*ANSWERS)
    done = line.turn("work")
    assert [part["text"] for part in done.parts("text")] == ["looking.", "all done"]
