"""`run` on a terminal of 100 columns, with a pipe that closes, on a full disk."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.hostile.strings import HOSTILE, steering
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.terminal.command import Terminal
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import LineInProcess, in_process
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def line(commands, server) -> CommandLine:
    return CommandLine(commands.folder, {**commands.environ, "LANG": "C.UTF-8"}, provider=server.config())


@pytest.fixture
def here(line, monkeypatch, capsys) -> LineInProcess:
    """The same commands without a process for each."""
    return in_process(line, monkeypatch, capsys)


def bash(*commands: str) -> Answer:
    return Answer(calls=tuple(Call("bash", {"command": command}, id=f"c{n}") for n, command in enumerate(commands)))


def open_terminal(line: CommandLine, *, term: str = "xterm-256color", **settings) -> Terminal:
    asking = replace(line, settings=settings)
    arguments = ["-m", "opencode_tui", "run", "-m", line.model, "go"]
    return Terminal(arguments, folder=line.folder, environ={**asking.variables(), "TERM": term})


@pytest.mark.slow
def test_a_rejection_resolves_the_other_questions_of_its_step(line, server):
    server.script(bash("touch one", "touch two"))
    with open_terminal(line, permission={"bash": "ask"}) as terminal:
        terminal.expect("\n> ")
        assert terminal.stays_silent(1.0, "touch two")  # it asks as well meanwhile, and is put after this one
        terminal.send("n\n")
        terminal.expect("(enter to stop the turn): ")
        terminal.send("\n")
        assert terminal.wait() == 0
        assert terminal.text.count("Run this command?") == 1 and "Rejected" in terminal.text
    assert not list(line.folder.glob("one")) and not list(line.folder.glob("two"))


@pytest.mark.slow
def test_what_was_typed_before_the_question_does_not_answer_it(line, server):
    server.script(replace(bash("touch one"), text="I touch it. " * 5, delay_ms=60))
    with open_terminal(line, permission={"bash": "ask"}) as terminal:
        terminal.expect("I touch")
        terminal.send("y\n")
        terminal.expect("\n> ")
        assert terminal.stays_silent(0.3, "Allowed")
        terminal.send("y\n")
        terminal.expect("Allowed once")
        assert terminal.wait() == 0


@pytest.mark.slow
def test_the_end_of_input_rejects(line, server):
    server.script(bash("touch one"))
    with open_terminal(line, permission={"bash": "ask"}) as terminal:
        terminal.expect("\n> ")
        terminal.send("\x04")
        terminal.expect("Rejected")
        assert terminal.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_nothing_of_a_hostile_turn_steers_the_terminal(line, server, term):
    text = "".join(HOSTILE)
    line.folder.joinpath("out.txt").write_text(text)
    server.script(Answer(text=text, reasoning=text, calls=bash("cat out.txt; exit 3").calls), Answer(text=text))
    with open_terminal(line, term=term) as terminal:
        assert terminal.wait() == 0
        shown = terminal.text.replace("\r\n", "\n").replace("\r\x1b[2K", "")
        if term == "dumb":
            assert "\x1b" not in terminal.text and "\r" not in terminal.text.replace("\r\n", "\n")
    assert "exit 3" in shown and steering(shown) == []


@pytest.mark.slow
def test_a_program_that_shows_the_answer_on_the_same_terminal_is_not_drawn_over(line, server):
    server.script(bash("sleep 0.3"), Answer(text="Done."))
    environ = {**line.variables(), "TERM": "xterm-256color"}
    with Terminal(
        ["-c", f"import os; os.system({f'{sys.executable} -m opencode_tui run -m {line.model} go | cat'!r})"],
        folder=line.folder,
        environ=environ,
    ) as terminal:
        assert terminal.wait() == 0
        assert "Done." in terminal.text and "\x1b[2K" not in terminal.text


@pytest.mark.slow
def test_when_the_reader_goes_away_the_turn_ends_in_order(line, server, paths):
    server.script(replace(bash("sleep 60"), text="first"), Answer(text="never"))
    process = line.start("run", "-m", line.model, "go <<tool bash {}>>")
    try:
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) == 1
        said = process.stderr.read().decode()
    finally:
        kill_session(process)
    assert read_store(paths.storage).unfinished == []
    assert said.splitlines()[-1].startswith(
        "opencode-tui: the reader closed standard output, so the turn was interrupted"
    )


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("style", ["default", "json"])
def test_the_exit_code_is_that_of_the_turn_when_its_output_has_no_reader(line, server, style, is_whole):
    """One that was interrupted fails; by default both outputs go to one pipe."""
    server.script(Answer(text="all") if is_whole else replace(bash("sleep 60"), text="part"), Answer(text="never"))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "opencode_tui", "run", "--format", style, "-m", line.model, "go"],
        cwd=line.folder,
        env=line.variables(),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=write if style == "default" else subprocess.DEVNULL,
        check=False,
    )
    os.close(write)
    assert done.returncode == (0 if is_whole else 1)


def test_a_list_whose_reader_goes_away_is_done(line, server):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "opencode_tui", "models"],
        cwd=line.folder,
        env=line.variables(),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_a_full_disk_is_a_one_line_error(line, server):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "opencode_tui", "run", "-m", line.model, "hello"],
            cwd=line.folder,
            env=line.variables(),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("opencode-tui: cannot write standard output (No space left")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_the_answer_in_a_folder_whose_name_is_not_utf_8_is_printed_and_the_session_found(here, server):
    folder = here.folder / os.fsdecode(b"b\xe9d")
    folder.mkdir()
    server.script(Answer(text="SEEN"))
    inside = replace(here, folder=folder)
    done = inside.run("run", "-m", here.model, "go")
    assert (done.code, done.stdout) == (0, "SEEN\n")
    (listed,) = json.loads(inside.run("session", "list", "--format", "json").stdout)
    server.script(Answer(text="AGAIN"))
    assert inside.run("run", "-s", listed["id"], "-m", here.model, "go on").stdout == "AGAIN\n"


def test_the_same_text_goes_to_a_pipe_however_it_comes(here, server):
    server.script(Answer(text="\n\none two\r\nthree \n\n", delta_size=1))
    assert here.run("run", "-m", here.model, "go").stdout == "one two\nthree\n"


@pytest.mark.parametrize("way", ["-c", "-s"])
@pytest.mark.parametrize("style", ["default", "json"])
def test_a_session_that_is_continued_in_another_folder_prints_its_answer(here, server, way, style):
    server.script(Answer(text="first"), Answer(text="second"))
    assert here.run("run", "-m", here.model, "go").stdout == "first\n"
    session_id = json.loads(here.run("session", "list", "--format", "json").stdout)[0]["id"]
    below = here.folder / "below"
    below.mkdir()
    given = [way] if way == "-c" else [way, session_id]
    done = replace(here, folder=below).run("run", "--format", style, *given, "-m", here.model, "go on")
    assert done.code == 0 and "second" in done.stdout


def test_the_models_answer_to_a_piped_text_is_all_of_stdout(here, server):
    server.script(Answer(text="Looks fine."))
    done = here.run("run", "-m", here.model, "review this", stdin="a diff\n")
    assert (done.code, done.stdout) == (0, "Looks fine.\n")
    assert "review this\na diff" in content_text(server.bodies[0]["messages"][-1]["content"])


@pytest.mark.fast_cases("refused")
@pytest.mark.parametrize(
    ("answer", "shown", "said"),
    [
        (Answer(finish="content_filter"), "", "the model refused to answer"),
        (Answer(text="half of", finish="content_filter"), "half of\n", "the model refused to answer"),
        (Answer(text=""), "", "the model ended without an answer"),
    ],
    ids=["refused", "refused in the middle", "empty"],
)
def test_an_answer_that_is_none_is_said_and_fails(here, server, answer, shown, said):
    server.script(answer, answer)
    done = here.run("run", "-m", here.model, "go")
    assert (done.code, done.stdout) == (1, shown)
    assert said in done.stderr and "fix: " in done.stderr and "Done" not in done.stderr
    as_json = here.run("run", "-m", here.model, "--format", "json", "go")
    lines = [json.loads(one) for one in as_json.stdout.splitlines()]
    (error,) = [one["error"] for one in lines if one["type"] == "error"]
    assert as_json.code == 1 and said in error["data"]["message"]
    shown_later = here.run("session", "show", lines[-1]["sessionID"])
    assert said in shown_later.stdout


@pytest.mark.slow
def test_a_call_that_is_announced_and_does_not_come_is_asked_for_once_more(here, server):
    announced = Answer(text="Let me look.", finish="tool_calls")
    server.script(announced, Answer(text="Found it."))
    done = here.run("run", "-m", here.model, "go")
    assert (done.code, done.stdout) == (0, "Let me look.\nFound it.\n")
    server.script(announced, announced)
    done = here.run("run", "-m", here.model, "go")
    assert done.code == 1 and "the model announced a tool call and sent none; fix: send `continue`" in done.stderr


@pytest.mark.slow
def test_a_line_about_the_model_is_on_stderr(here, server):
    (here.folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    settings = {"fake": {**server.config()["fake"], "models": {"text-only": {"attachment": False}}}}
    done = replace(here, provider=settings).run("run", "-m", "fake/text-only", "-f", "a.png", "look")
    assert done.code == 0 and done.stdout.endswith(" look\n")
    assert "! a.png left out: fake/text-only is not known to accept images and documents" in done.stderr
    as_json = replace(here, provider=settings).run(
        "run", "--format", "json", "-m", "fake/text-only", "-f", "a.png", "look"
    )
    kinds = {json.loads(one)["type"] for one in as_json.stdout.splitlines()}
    assert as_json.code == 0 and kinds == {"step_start", "text", "step_finish"}
    assert "a.png left out: fake/text-only is not known to accept images and documents" in as_json.stderr
