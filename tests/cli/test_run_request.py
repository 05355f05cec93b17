"""What `run` makes of its words: `@` references, slash commands, and what comes in by a pipe."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import in_process


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.script(Answer(text="ok"))
        yield server


@pytest.fixture
def line(commands, server) -> CommandLine:
    (commands.folder / "b.txt").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    settings: dict[str, Any] = {"command": {"say": {"template": "Say $1 of $ARGUMENTS"}}}
    line = CommandLine(commands.folder, commands.environ, provider=server.config(), settings=settings)
    return in_process(line, commands.monkeypatch, commands.capsys)


def sent(server: ModelServer) -> str:
    return content_text(server.bodies[0]["messages"][-1]["content"])


def test_a_file_that_the_message_names_is_attached(line, server):
    assert line.turn("see @b.txt#L10-12 please").code == 0
    assert "10: line 10\n11: line 11\n12: line 12" in sent(server)
    assert "line 13" not in sent(server)


def test_what_comes_by_a_pipe_attaches_nothing(line, server):
    assert line.turn("review", stdin="@b.txt").code == 0
    assert sent(server) == "review\n@b.txt"


@pytest.mark.slow
def test_a_command_takes_the_message_as_its_arguments(line, server):
    assert line.run("run", "-m", line.model, "--command", "say", "a", "b").code == 0
    assert sent(server) == "Say a b of a b"
    listed = line.run("session", "list", "--format", "json").stdout
    assert '"/say a b"' in listed


def test_what_is_piped_to_a_command_comes_as_an_attachment(line, server):
    assert line.run("run", "-m", line.model, "--command", "/say", "x", stdin="@b.txt !`touch y`").code == 0
    assert sent(server).startswith("Say x of x")
    assert "@b.txt !`touch y`" in sent(server)
    assert "line 1" not in sent(server)
    assert not (line.folder / "y").exists()


@pytest.mark.slow
def test_a_variant_of_the_command_line_is_sent_and_an_unknown_one_is_a_wrong_argument(line, server):
    assert line.run("run", "-m", line.model, "--variant", "high", "hi").code == 0
    assert line.run("run", "-m", line.model, "--variant", "low", "--command", "say", "a").code == 0
    assert [request.body.get("reasoning_effort") for request in server.requests] == ["high", "low"]
    for arguments in (("hi",), ("-c", "hi"), ("--command", "say", "a")):
        done = line.run("run", "-m", line.model, "--variant", "huge", *arguments)
        assert done.code == 2 and "has no variant 'huge'; choose one of low, medium, high" in done.stderr
    assert len(server.requests) == 2


def test_an_unknown_command_is_a_wrong_argument(line, server):
    done = line.run("run", "-m", line.model, "--command", "nope")
    assert (done.code, server.bodies) == (2, [])
    assert done.stderr == "opencode-tui: unknown command 'nope'; available: init, review, say\n"


@pytest.mark.fast_cases("arguments3---file nope.txt: no such file")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "nope/x"), "no model nope/x"),
        (("-s", "ses_nope"), "no session ses_nope"),
        (("--agent", "nope"), "nope"),
        (("-f", "nope.txt"), "--file nope.txt: no such file"),
        (("-c", "-m", "nope/x"), "no model nope/x"),
        (("-c", "--agent", "nope"), "nope"),
    ],
)
def test_an_unknown_name_is_a_wrong_argument(line, server, arguments, words):
    if "-c" in arguments:
        assert line.turn("first").code == 0
    before = len(server.bodies)
    done = line.run("run", *arguments, "hi")
    assert done.code == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1
    assert len(server.bodies) == before


def test_a_plugin_that_fails_in_a_turn_is_named_once_at_its_end(line, server, paths):
    plugin = paths.config / "plugins" / "bad.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("def plugin(context):\n    return {'chat.params': lambda given, output: 1 / 0}\n")
    done = replace(line, settings={}).turn("hi")
    assert (done.code, done.stderr.count("ZeroDivisionError")) == (0, 1)


def test_a_run_with_a_check_works_until_it_passes_and_says_so_by_its_exit_code(line, server):
    server.script(Answer(calls=(Call("write", {"filePath": "ok", "content": ""}),)), Answer(text="done"))
    done = line.run("run", "-m", line.model, "--format", "json", "--until", "test -e ok", "go")
    checks = [one["check"] for text in done.stdout.splitlines() if (one := json.loads(text))["type"] == "check"]
    assert done.code == 0
    assert [(one["exit"], one.get("end"), one["turn"], one["command"]) for one in checks] == [
        (1, None, 1, "test -e ok"),
        (0, "passed", 1, "test -e ok"),
    ]


@pytest.mark.slow
def test_a_run_whose_check_does_not_pass_has_an_exit_code_of_its_own_and_needs_no_message(line, server):
    done = line.run("run", "-m", line.model, "--until", "echo worse; false", "--max-turns", "1")
    assert done.code == 3
    assert "Check failed: exit 1 after" in done.stderr and "turn 1 of 1 follows" in done.stderr
    assert "no turn left of 1: echo worse; false" in done.stderr
    assert len(server.requests) == 1
    for wrong in (("--max-turns", "1", "hi"), ("--until", " ", "hi"), ("--until", "true", "--max-turns", "0")):
        assert line.run("run", "-m", line.model, *wrong).code == 2
