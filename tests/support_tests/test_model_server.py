"""The scripted model server itself: directives, scripts, what it remembers, and that it ends."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.provider.model_script import Answer, failure
from tests.support.provider.model_server import ModelServer
from tests.support.world.waiting import PATIENCE_S


def post(server: ModelServer, *messages: dict[str, Any], tools: bool = True, api: str = "openai") -> httpx.Response:
    path = "/chat/completions" if api == "openai" else "/messages"
    body = {"model": "fake-model", "messages": list(messages), **({"tools": [{}]} if tools else {})}
    return httpx.post(f"{server.base_url}/{api}/v1{path}", json=body, trust_env=False, timeout=PATIENCE_S)


def said(answer: httpx.Response) -> dict[str, Any]:
    return answer.json()["choices"][0]["message"]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_directives_are_obeyed_step_by_step() -> None:
    prompt = user('do it <<tool read {"path": "a"}>> <<tool list {}>>')
    with ModelServer() as server:
        first = said(post(server, prompt))
        called = {"role": "assistant", "tool_calls": first["tool_calls"]}
        answered = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "inside a"}
        second = said(post(server, prompt, called, answered))
        third = said(post(server, prompt, called, answered, called, answered))
    assert first["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "a"}'}
    assert second["tool_calls"][0]["function"]["name"] == "list"
    assert third["content"] == "Done: do it | tool: inside a"


def test_several_calls_can_be_one_step() -> None:
    with ModelServer() as server:
        answer = said(post(server, user("<<tool read {}>> <<tool list {}>> <<par>>")))
    assert [call["function"]["name"] for call in answer["tool_calls"]] == ["read", "list"]


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        (
            [{"role": "system", "content": "You are a title generator."}, user("fix the tests please now")],
            "Title: fix the tests please",
        ),
        (
            [user("a"), user("Please summarize the conversation.")],
            "SUMMARY of 1 messages: the scripted model was tried.",
        ),
        ([user("hi <system-reminder>odd</system-reminder>")], "Echo: hi"),
        ([user("<<words 3>>")], "word1 word2 word3"),
    ],
)
def test_it_answers_what_was_asked(messages: list[dict[str, Any]], answer: str) -> None:
    with ModelServer() as server:
        assert said(post(server, *messages, tools=False))["content"] == answer


def test_scripted_answers_come_first_and_in_order() -> None:
    with ModelServer() as server:
        server.script(failure(429, "slow", retry_after="3"), Answer(text="scripted"))
        refused, second, third = (post(server, user("hi"), api=api) for api in ("openai", "anthropic", "openai"))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
    assert (second.json()["content"], said(third)["content"]) == ([{"type": "text", "text": "scripted"}], "Echo: hi")


def test_what_stands_before_the_word_anew_is_not_obeyed():
    with ModelServer() as server:
        assert said(post(server, user("<<words 3>> <<tool list {}>>\n\n<<anew>> hello")))["content"] == "Echo: hello"


def test_a_flaky_prompt_fails_once() -> None:
    with ModelServer() as server:
        answers = [post(server, user("<<flaky 503 1>> hi")) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [503, 200]


def test_it_remembers_what_it_was_sent(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with ModelServer(log=log) as server:
        post(server, user("hi"))
        assert server.bodies[0]["messages"] == [user("hi")]
        assert json.loads(log.read_text())["body"] == server.bodies[0]


def test_it_ends_while_an_answer_is_being_written() -> None:
    before = threading.active_count()
    with ModelServer() as server:
        server.script(Answer(text="word " * 1000, delay_ms=50))
        with httpx.stream(
            "POST", server.url("openai") + "/chat/completions", json={"messages": [], "stream": True}, trust_env=False
        ) as answer:
            next(answer.iter_raw())
    assert threading.active_count() == before


@pytest.mark.slow
def test_by_hand_it_prints_settings_to_paste() -> None:
    command = [sys.executable, "-m", "tests.support.provider.model_server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = ""
        while not printed.endswith("\n}\n"):
            printed += process.stdout.readline()
        process.terminate()
    named = {"fake", "fake-anthropic", "fake-litellm", "fake-responses", "fake-gemini", "fake-gemini-litellm"}
    assert set(json.loads(printed)["provider"]) == named
