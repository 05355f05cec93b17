"""Errors of the command: one line on stderr with the cause and the remedy, and an exit code."""

import json
from dataclasses import replace

import pytest

from opencode_tui.engine.sandbox.tier import probe
from opencode_tui.schema.error import DeniedError, MissingFileError
from tests.support.provider.model_script import content_text
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-m", "fake/nonsense"], 2, ["fake/nonsense", "did you mean fake/fake-model"]),
        (["-m", "nonsense/model"], 2, ["nonsense", "models"]),
        (["-m", "nonsense"], 2, ["nonsense", "provider/model"]),
        (["--agent", "nonsense"], 2, ["nonsense", "build"]),
        (["-s", "ses_e08af03fbffe4Kyj8SNmUqrfd7"], 2, ["ses_e08af03fbffe4Kyj8SNmUqrfd7", "session list"]),
        (["-s", "nonsense"], 2, ["nonsense", "session list"]),
        (["-f", "nonsense.txt"], 2, ["nonsense.txt"]),
        (["-c", "-s", "ses_e08af03fbffe4Kyj8SNmUqrfd7"], 2, ["--continue", "--session"]),
    ],
)
def test_what_does_not_exist_is_named_in_one_line(line, server, options, code, words):
    done = line.turn("hello", *options)
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert [word for word in words if word not in done.stderr] == []
    assert server.requests == []


def test_nothing_to_do_is_bad_input(line):
    done = line.run("run")
    assert (done.code, done.stdout) == (2, "") and "message" in done.stderr


EDIT = 'change it <<tool read {"filePath":"a.py"}>> <<tool edit {"filePath":"a.py","oldString":"x = 1","newString":"x = 2"}>>'


def with_rule(line, action: str):
    return replace(line, settings={"permission": {"edit": action}})


def last_result(server) -> str:
    return content_text(server.bodies[-1]["messages"][-1]["content"])


def test_without_a_terminal_what_needs_approval_is_denied_and_published(line, project, server):
    done = with_rule(line, "ask").turn(EDIT)
    state = done.parts("tool_use")[-1]["state"]
    assert state["status"] == "error" and "--auto" in state["error"]
    assert last_result(server).find("--auto") >= 0
    assert "a.py" in done.stderr and "--auto" in done.stderr and len(done.stderr.splitlines()) == 1
    assert done.code == 0 and done.parts("text")[-1]["text"].startswith("Done: change it")
    assert (project.path / "a.py").read_text() == "x = 1\n"


def test_auto_allows_what_would_ask(line, project):
    done = with_rule(line, "ask").turn(EDIT, "--auto")
    assert done.code == 0 and done.stderr == ""
    assert (project.path / "a.py").read_text() == "x = 2\n"


def test_a_denied_tool_is_not_sent_and_a_denied_pattern_is_reported_to_the_model(line, project, server):
    denied = with_rule(line, "deny").turn("hello")
    assert denied.code == 0
    assert "edit" not in {tool["function"]["name"] for tool in server.bodies[0]["tools"]}
    some = replace(line, settings={"permission": {"edit": {"*": "allow", "a.py": "deny"}}})
    done = some.turn(EDIT, "--auto")
    state = done.parts("tool_use")[-1]["state"]
    assert done.code == 0 and state["status"] == "error" and "a.py" in state["error"]
    assert "a.py" in last_result(server) and (project.path / "a.py").read_text() == "x = 1\n"
    assert state["rule"] == {"permission": "edit", "pattern": "a.py", "action": "deny"}


def test_what_is_stored_about_a_failed_call_has_no_key(line, paths):
    key = "fake-key-for-tests"  # of the provider
    prompt = f'read it <<tool read {{"filePath":"{key}.txt"}}>>'
    (line.folder / f"{key}s.txt").write_text("x")
    state = line.turn(prompt).parts("tool_use")[0]["state"]
    assert len(state["nearest"]) == 1 and "[hidden" in state["nearest"][0]
    records = [path.read_text() for path in (paths.storage / "part").rglob("*.json")]
    [stored] = [text for text in records if '"nearest"' in text]
    assert key not in json.loads(stored)["state"]["error"] + "".join(json.loads(stored)["state"]["nearest"])


def test_other_words_for_the_model_change_nothing_that_the_user_reads(line, server, monkeypatch):
    ruled = replace(line, settings={"permission": {"edit": {"*": "allow", "a.py": "deny"}}})
    prompt = f'{EDIT} <<tool read {{"filePath":"aa.py"}}>>'
    first = ruled.run("run", "-m", ruled.model, prompt)
    assert 'Denied by your rule "a.py" (edit).' in first.stderr and "denied by rule" in first.stderr
    assert "No such file. Nearest: a.py" in first.stderr and "did you mean" in last_result(server)
    for error in (DeniedError, MissingFileError):
        monkeypatch.setattr(error, "__str__", lambda _error: "Non; ce n'est pas possible.")
    second = ruled.run("run", "-m", ruled.model, prompt)
    assert "ce n'est pas possible" in last_result(server)
    calls, costs = second.stderr.splitlines()[:-1], second.stderr.splitlines()[-1]
    assert len(calls) > 3 and calls == first.stderr.splitlines()[:-1] and "$" in costs


@pytest.mark.parametrize(("option", "exists"), [("--auto", False), ("--auto=outside", True)])
def test_auto_leaves_the_sandbox_only_with_its_value(line, tmp_path, option, exists):
    if not any(probe(tier, line.environ).works for tier in ("bubblewrap", "landlock")):
        pytest.skip("no sandbox works here")
    outside = tmp_path / "outside"
    call = f'{{"command":"echo x > {outside}","description":"x"}}'
    done = line.run("run", "-m", "fake/fake-model", option, f"do it <<tool bash {call}>>")
    assert (done.code, outside.exists()) == (0, exists), done.stderr
    assert ("--auto=outside" in done.stderr) == (not exists)


def test_auto_has_two_values(line):
    done = line.run("run", "--auto=always", "x")
    assert done.code == 2 and "'inside'" in done.stderr and "'outside'" in done.stderr
