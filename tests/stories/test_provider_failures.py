"""Failures of a provider: the call is retried, or one line says why not."""

from dataclasses import replace

import pytest

from tests.support.provider.model_script import Answer, failure
from tests.support.sessions.stored import read_store
from tests.support.world.cli import kill_session
from tests.support.world.in_process import in_process
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


def test_a_failing_provider_is_asked_again_and_the_answer_comes(line, server, paths):
    server.script(failure(500, "out of order", retry_after="0.1"))
    done = line.turn("hello")
    assert (done.code, [part["text"] for part in done.parts("text")]) == (0, ["Echo: hello"])
    retries = read_store(paths.storage).parts("retry")
    assert [(part["attempt"], part["error"]["name"]) for part in retries] == [(1, "APIError")]
    assert len(server.requests) == 2


def test_the_text_of_a_broken_answer_is_dropped_and_its_call_never_runs(line, server, project, paths, quick_retries):
    text = "this is only half of an answer " * 3
    server.script(Answer(text=text, fault="reset", fault_after=6))
    done = line.turn("hello")
    stored = read_store(paths.storage)
    assert done.code == 0
    assert [part["text"] for part in stored.parts("text")] == ["hello", "Echo: hello"]
    assert len(server.requests) == 2 and len(stored.parts("retry")) == 1


def test_a_rejected_key_is_reported_with_the_remedy(line, server, paths):
    server.script(failure(401, "invalid key"))
    done = line.turn("hello")
    errors = [event["error"]["name"] for event in done.events if event["type"] == "error"]
    assert (done.code, errors) == (1, ["ProviderAuthError"])
    assert "provider.fake.options.apiKey" in done.stderr and len(done.stderr.splitlines()) == 1
    assert len(server.requests) == 1
    assert read_store(paths.storage).of_kind("message")[-1]["error"]["name"] == "ProviderAuthError"


def test_a_provider_that_cannot_be_reached_is_named_while_it_is_tried_again(line):
    unreachable = {"fake": {**line.provider["fake"], "options": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "k"}}}
    process = replace(line, provider=unreachable).start("run", "-m", line.model, "hello")
    assert process.stderr is not None
    output = process.stderr.readline() + process.stderr.readline()
    process.terminate()
    code = process.wait(PATIENCE_S)
    kill_session(process)
    assert code == 130 and b"127.0.0.1:9" in output and b"attempt 2 of 3" in output
