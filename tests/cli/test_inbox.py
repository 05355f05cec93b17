"""`ps`, `answer` and `stop`: what they print, and that an answer meets the question that it names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.cli.commands.answering import read_reply
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.permission import PermissionRequest
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine, Finished
from tests.support.world.waiting import wait_until

REQUEST = {"id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["rm a"], "always": ["rm *"]}
PROTECTED = {"sandbox": {"kind": "protected", "files": [".envrc"]}}


@pytest.mark.parametrize(
    ("text", "metadata", "reply"),
    [
        ("yes", {}, ("once", None)),
        ("Y", {}, ("once", None)),
        ("no", {}, ("reject", None)),
        ("use make test", {}, ("reject", "use make test")),
        ("yes please", {}, ("reject", "yes please")),
        ("keep", PROTECTED, ("once", None)),
        ("remove", PROTECTED, ("reject", None)),
    ],
)
def test_only_a_plain_yes_allows(text: str, metadata: dict[str, Any], reply: tuple[str, str | None]):
    assert read_reply(PermissionRequest.model_validate({**REQUEST, "metadata": metadata}), text) == reply


@pytest.mark.parametrize("text", ["always", "a", "edit", "host", " "])
def test_what_changes_rules_is_chosen_where_the_rule_is_shown(text: str):
    with pytest.raises(ConfigError, match="no answer here"):
        read_reply(PermissionRequest.model_validate(REQUEST), text)


@pytest.fixture
def line(tmp_path: Path, environ: dict[str, str]) -> Iterator[CommandLine]:
    (tmp_path / "project").mkdir()
    with ModelServer() as server:
        settings = {"permission": {"bash": "ask"}, "enabled_providers": ["fake"], "model": "fake/fake-model"}
        yield CommandLine(tmp_path / "project", environ, provider=server.config(), settings=settings)


def rows_of(done: Finished) -> list[dict[str, Any]]:
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_question_of_a_terminal_is_listed_answered_and_its_session_stopped(line: CommandLine, tmp_path: Path):
    variables = {**line.variables(), "TERM": "xterm-256color"}
    elsewhere = CommandLine(tmp_path, line.environ)
    assert rows_of(elsewhere.run("ps", "--format", "json")) == []
    with ScreenTerminal(["-m", "opencode_tui"], folder=line.folder, environ=variables) as terminal:
        terminal.sees("Ask")
        terminal.type('one <<tool bash {"command": "echo first"}>><<tool bash {"command": "sleep 9999"}>>')
        terminal.press("enter")
        terminal.sees("run once")
        # It may not respond within the limit when the machine is busy: what serves is imported for the first look.
        wait_until(lambda: rows_of(elsewhere.run("ps", "--format", "json"))[0]["reachable"])
        [row] = rows_of(elsewhere.run("ps", "--format", "json"))
        assert (row["state"], row["directory"], row["reachable"]) == ("asks", str(line.folder), True)
        [asked] = row["asks"]
        assert asked["kind"] == "permission" and asked["question"].endswith("echo first")
        listed = elsewhere.run("ps").stdout
        assert "asks you" in listed and f"opencode-tui answer {asked['id']} yes|no|TEXT" in listed
        refused = elsewhere.run("answer", row["sessionID"], "yes")
        assert refused.code == 2 and "names the question" in refused.stderr
        assert elsewhere.run("answer", asked["id"]).code == 2  # not a terminal
        allowed = elsewhere.run("answer", asked["id"], "yes")
        assert allowed.code == 0 and "allowed once" in allowed.stderr
        again = elsewhere.run("answer", asked["id"], "yes")
        assert again.code == 1 and "was answered" in again.stderr  # the next question is not allowed by it
        terminal.sees("sleep 9999")
        [row] = rows_of(elsewhere.run("ps", "--format", "json"))
        assert row["state"] == "asks" and row["asks"][0]["question"].endswith("sleep 9999")
        assert elsewhere.run("answer", row["asks"][0]["id"], "y").code == 0
        wait_until(lambda: rows_of(elsewhere.run("ps", "--format", "json"))[0]["state"] == "works")
        tried = elsewhere.run("stop", "--all", "--dry-run")
        assert tried.code == 0 and f"would stop {row['sessionID']}" in tried.stderr
        unsure = elsewhere.run("stop", "--all")
        assert unsure.code == 2 and "--yes" in unsure.stderr
        stopped = elsewhere.run("stop", row["sessionID"])
        assert stopped.code == 0 and "stopped" in stopped.stderr
        terminal.sees("Interrupted")
        wait_until(lambda: rows_of(elsewhere.run("ps", "--format", "json")) == [])
        assert elsewhere.run("stop", row["sessionID"]).code == 1
        unknown = elsewhere.run("stop", row["sessionID"], "ses_nosuch")
        assert unknown.code == 2 and "no session ses_nosuch" in unknown.stderr


@pytest.mark.slow
def test_a_session_of_a_run_is_listed_and_answered_at_its_own_terminal_only(line: CommandLine):
    process = line.start_turn('<<tool bash {"command": "sleep 9999"}>>', "--auto")
    wait_until(lambda: rows_of(line.run("ps", "--format", "json")))
    [row] = rows_of(line.run("ps", "--format", "json"))
    assert (row["state"], row["process"], row["reachable"]) == ("works", process.pid, False)
    refused = line.run("stop", row["sessionID"])
    assert refused.code == 1 and f"process {process.pid}, which takes no requests" in refused.stderr
    unanswered = line.run("answer", "per_nosuch", "yes")  # it cannot be seen that this process asks something else
    assert unanswered.code == 1 and f"or process {process.pid} asks it" in unanswered.stderr
    process.kill()
    process.communicate()
    ended = line.run("answer", "per_nosuch", "yes")
    assert ended.code == 1 and "or its run ended; see" in ended.stderr
    [row] = rows_of(line.run("ps", "--format", "json"))
    assert (row["state"], row["asks"]) == ("stopped", [])
    assert f"continue: opencode-tui -s {row['sessionID']}" in line.run("ps").stdout
    line.kill_survivors()


@pytest.mark.slow
def test_what_ended_is_listed_until_a_terminal_showed_the_list(line: CommandLine):
    assert line.turn("first").code == 0
    for _ in range(2):  # what a program reads is not seen by the user
        [row] = rows_of(line.run("ps", "--format", "json"))
        assert (row["state"], row["line"], row["asks"], row["reachable"]) == ("done", "Echo: first", [], False)
        assert "Echo: first" in line.run("ps").stdout
    with ScreenTerminal(["-m", "opencode_tui", "ps"], folder=line.folder, environ=line.variables()) as terminal:
        terminal.sees("Echo: first")
        terminal.ends()
    assert rows_of(line.run("ps", "--format", "json")) == []
    assert "nothing runs" in line.run("ps").stdout
