from collections.abc import Iterator

import pytest

from opencode_tui.cli.run.question_prompt import read_answer, render_question
from opencode_tui.schema.api.question import Question, QuestionOption
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import in_process

COLOUR = Question(
    question="Which color?",
    options=[QuestionOption(label="Red", description="warm"), QuestionOption(label="Blue")],
)
CALL = Answer(calls=(Call("question", {"questions": [COLOUR.to_dict(), {"question": "Why?"}]}),))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def line(commands, server) -> CommandLine:
    return CommandLine(commands.folder, {**commands.environ, "LANG": "C.UTF-8"}, provider=server.config())


def start(line: CommandLine) -> Terminal:
    arguments = ["-m", "opencode_tui", "run", "-m", line.model, "go"]
    return Terminal(arguments, folder=line.folder, environ=line.variables())


def result(server: ModelServer) -> str:
    return content_text(server.bodies[-1]["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("text", "multiple", "labels"),
    [
        ("1", None, ["Red"]),
        ("blue", None, ["Blue"]),
        ("3", None, ["3"]),
        ("rather green", None, ["rather green"]),
        ("1, 2", None, ["1, 2"]),
        ("1, blue", True, ["Red", "Blue"]),
        ("1, and green", True, ["1, and green"]),
        ("²", None, ["²"]),
    ],
)
def test_a_line_is_a_number_a_label_or_text(text, multiple, labels):
    assert read_answer(text, COLOUR.changed(multiple=multiple)) == labels


def test_a_question_is_shown_with_numbered_answers(terminal):
    assert render_question(COLOUR, terminal(100)).splitlines() == [
        "? Which color?",
        "  1 Red  warm",
        "  2 Blue",
        "  a number, or type an answer; - to cancel (stops the turn)",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_question_steers_the_terminal(terminal, text):
    question = Question(question=text, options=[QuestionOption(label=text, description=text)])
    assert steering(render_question(question, terminal(80))) == []


@pytest.mark.slow
def test_the_model_reads_what_was_chosen_and_said(line, server):
    server.script(CALL, Answer(text="thanks"))
    with start(line) as terminal:
        terminal.expect("to cancel")
        terminal.send("\n")
        terminal.expect("to cancel")
        terminal.send("2\n")
        terminal.expect("? Why?")
        terminal.expect("type an answer")
        terminal.send("it is calm\n")
        terminal.expect("thanks")
        assert terminal.wait() == 0
    assert '"Which color?"="Blue", "Why?"="it is calm"' in result(server)


@pytest.mark.slow
def test_a_dash_cancels_the_question_and_stops_the_turn(line, server):
    server.script(CALL)
    with start(line) as terminal:
        terminal.expect("to cancel")
        terminal.send("-\n")
        terminal.wait()
    assert len(server.bodies) == 1


@pytest.mark.fast_cases("--format=json")
@pytest.mark.parametrize("option", ["--auto", "--format=json"])
def test_without_a_terminal_the_model_gets_an_error(line, server, option, monkeypatch, capsys):
    server.script(CALL, Answer(text="I take red"))
    done = in_process(line, monkeypatch, capsys).run("run", "-m", line.model, option, "go")
    assert (done.code, "I take red" in done.stdout) == (0, True)
    assert "no user is present" in result(server)
    assert "permission" not in done.stderr
