"""litellm's child process for real: the same contract as the direct adapters, and what happens when the child dies.

One child serves the tests of this module, and one that starts when it is killed; each takes some 2 s to start.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from opencode_tui.client.local import open_client
from opencode_tui.engine.provider import litellm_worker
from opencode_tui.engine.provider.error.plain import PROCESS
from opencode_tui.engine.provider.litellm_worker import LitellmLlm, LitellmWorker
from opencode_tui.engine.provider.llm import FinishStep, LlmRequest, Usage
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import AuthError, ContextOverflowError, ProviderError, split_remedy
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from tests.engine.provider.asking import KEY, ask, request
from tests.support.provider.model_script import Answer, Api, Call, equal_deltas, failure, html_page
from tests.support.provider.model_server import ModelServer
from tests.support.world.processes import is_running
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
both = pytest.mark.parametrize("api", ["openai", "anthropic"])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what would run, or send the key elsewhere, if the child looked around where it is started."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "litellm.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    (folder / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9\nANTHROPIC_BASE_URL=http://127.0.0.1:9\n")
    return folder


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def worker(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> AsyncIterator[LitellmWorker]:
    owned = LitellmWorker(log=tmp_path_factory.mktemp("litellm") / "child.log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opencode_tui.engine.provider.litellm_worker._START_LIMIT_S", PATIENCE_S)
        with contextlib.chdir(repository):
            await owned.start()
        yield owned
    await owned.close()


def reach(server: ModelServer, worker: LitellmWorker, api: Api, **fields: Any) -> LitellmLlm:
    return LitellmLlm(Endpoint("fake", server.url(api), KEY, **fields), worker)


def asked(api: Api, text: str = "hi") -> LlmRequest:
    model = Model(provider_id="fake", model_id="fake-model", adapter="litellm", api_id=f"{api}/fake-model")
    return replace(request(text), model=model)


@both
async def test_an_answer_is_heard_as_it_was_said(server: ModelServer, worker: LitellmWorker, api: Api) -> None:
    calls = (Call("read", {"path": "a"}, id="call_1"), Call("write", {"path": "b"}, id="call_2"))
    server.script(Answer(text="I will look.", reasoning="where is it", calls=calls, usage=(100, 20, 30)))
    heard = await ask(reach(server, worker, api), asked(api))
    assert heard.blocks == [("reasoning", "where is it"), ("text", "I will look."), ("tool", "read"), ("tool", "write")]
    assert [(call.id, call.input) for call in heard.calls] == [("call_1", {"path": "a"}), ("call_2", {"path": "b"})]
    assert heard.finish is not None
    used = replace(heard.finish.usage, reasoning=0)  # litellm estimates what was not reported
    assert FinishStep(heard.finish.reason, used) == FinishStep("tool-calls", Usage(70, 20, cache_read=30, total=120))
    assert server.bodies[0]["model"] == "fake-model"


WORK = (
    'double x <<tool read {"filePath":"a.py"}>>'
    ' <<tool edit {"filePath":"a.py","oldString":"x = 1","newString":"x = 2"}>>'
    ' <<tool bash {"command":"grep -c \'x = 2\' a.py","description":"Count"}>>'
)


async def test_a_turn_reads_edits_runs_and_answers(
    server: ModelServer,
    worker: LitellmWorker,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shared(LitellmWorker):
        """The child of this module for an engine, which ends its own at its end."""

        def ask(self, call: JsonObject) -> AsyncGenerator[JsonObject]:
            asked_of.append(call)
            return worker.ask(call)

    asked_of: list[JsonObject] = []
    monkeypatch.setattr(litellm_worker, "LitellmWorker", Shared)
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    settings = {"provider": server.config(), "permission": "allow"}
    request = PromptInput(
        model=ModelRef(provider_id="fake-litellm", model_id="fake-model"), parts=[TextInput(text=WORK)]
    )
    async with open_client({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}, repo.path) as client:
        session = await client.sessions.create(CreateSession(title="t"))
        await client.prompts.prompt(session.id, request)
        parts = [part for message in await client.messages.list(session.id) for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolPart)]
    assert [(call.tool, type(call.state)) for call in calls] == [
        (tool, ToolStateCompleted) for tool in ("read", "edit", "bash")
    ]
    assert [part.text for part in parts if isinstance(part, TextPart)][-1] == "Done: double x | tool: 1"
    assert (repo.path / "a.py").read_text() == "x = 2\n"
    results = [[one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"] for body in server.bodies]
    assert results == [[call.call_id for call in calls[:step]] for step in range(4)]
    assert len(asked_of) == 4


@both
async def test_failures_are_sorted_as_those_of_the_direct_adapters(
    server: ModelServer, worker: LitellmWorker, api: Api
) -> None:
    llm = reach(server, worker, api)
    answers = (
        failure(401, f"Incorrect API key provided: {KEY}"),
        failure(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        failure(429, "slow down", retry_after="2"),
        failure(429, "You exceeded your current quota", kind="insufficient_quota"),
        failure(500, "boom"),
        Answer(text="one two three", fault="drop", fault_after=4),
        html_page(),
    )
    errors: list[ProviderError | None] = []
    for answer in answers:
        server.script(answer)
        errors.append((await ask(llm, asked(api))).error)
    found = [(error.failure.kind, error.failure.retryable) for error in errors if error is not None]
    assert found == [
        ("auth", False),
        ("overflow", False),
        ("rate_limit", True),
        ("quota", False),
        ("api", True),
        ("stream_truncated", True),
        ("stream_truncated", True),
    ]
    assert (type(errors[0]), type(errors[1])) == (AuthError, ContextOverflowError)
    assert errors[2] is not None
    assert (errors[2].failure.retry_after_ms, split_remedy(str(errors[2]))[0]) == (2000, "fake: slow down (HTTP 429)")
    assert KEY not in f"{errors[0]} {errors[0] and errors[0].failure}"


async def test_a_provider_that_nothing_knows_has_no_address(worker: LitellmWorker) -> None:
    asked = request("hi")
    asked = replace(asked, model=asked.model.changed(adapter="litellm", api_id="mine/model"))
    error = (await ask(LitellmLlm(Endpoint("mine", "", KEY), worker), asked)).error
    assert str(error) == "mine: no address is known; fix: set provider.mine.options.baseURL"


@both
async def test_a_hundred_equal_deltas_are_no_fault(server: ModelServer, worker: LitellmWorker, api: Api) -> None:
    server.script(equal_deltas(150))
    assert (await ask(reach(server, worker, api), asked(api))).joined("text") == "ha " * 150


async def test_many_answers_at_the_same_time_do_not_mix(server: ModelServer, worker: LitellmWorker) -> None:
    llm = reach(server, worker, "openai")
    heard = await asyncio.gather(*(ask(llm, asked("openai", f"<<slow 2>> number {n}")) for n in range(6)))
    assert [answer.joined("text") for answer in heard] == [f"Echo: number {n}" for n in range(6)]


@both
async def test_cancelling_is_at_once_and_closes_the_connection(
    server: ModelServer, worker: LitellmWorker, api: Api
) -> None:
    server.script(Answer(text="word " * 1000, delay_ms=10))
    stream = reach(server, worker, api).stream(asked(api))
    await anext(stream)
    await stream.aclose()
    assert await asyncio.to_thread(server.disconnects.acquire, timeout=PATIENCE_S), "the server sent the whole answer"


async def test_a_silent_provider_is_given_up(server: ModelServer, worker: LitellmWorker) -> None:
    await worker.start()
    server.script(Answer(text="one two three", fault="stall", fault_after=4))
    heard = await ask(reach(server, worker, "openai", chunk_timeout_ms=300), asked("openai"))
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("timeout", True)
    assert "sent nothing in time" in str(heard.error)


async def test_a_dead_child_can_be_tried_again_and_another_starts(server: ModelServer, worker: LitellmWorker) -> None:
    llm = reach(server, worker, "openai")
    server.script(Answer(text="word " * 1000, delay_ms=10))
    stream = llm.stream(asked("openai"))
    await anext(stream)
    first = worker.process_id
    assert first is not None
    os.kill(first, signal.SIGKILL)
    with pytest.raises(ProviderError, match="exited in the middle") as caught:
        async for _ in stream:
            pass
    assert caught.value.failure.retryable
    assert (await ask(llm, asked("openai", "again"))).joined("text") == "Echo: again"
    assert worker.process_id not in (None, first)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("import time; time.sleep(3600)", "it did not start within 0.5 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "it did not start within 0.5 s"),
        ("raise SystemExit(3)", "it exited during start-up; see "),
        (
            "print('loading')\nimport no_such_module",
            "it exited during start-up: ModuleNotFoundError: No module named 'no_such_module'; see ",
        ),
        (
            "import os, sys, time; os.write(int(sys.argv[3]), b'[]\\n'); time.sleep(3600)",
            "it exited during start-up; see ",
        ),
    ],
    ids=["silent", "stopped", "exits", "incomplete", "nonsense"],
)
async def test_a_child_that_does_not_start_is_given_up_and_the_next_one_serves(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, entry: str, reason: str
) -> None:
    log = tmp_path / "litellm.log"
    log.write_text("a line of another child\n")
    owned = LitellmWorker(log=log)
    llm = reach(server, owned, "openai")
    with monkeypatch.context() as patched:
        patched.setattr(litellm_worker, "_ENTRY", entry)
        patched.setattr(litellm_worker, "_START_LIMIT_S", 0.5 if "start within" in reason else PATIENCE_S)
        heard = await ask(llm, asked("openai"))
    assert heard.error is not None and heard.error.failure.retryable
    assert f"cannot start litellm's process ({reason}" in str(heard.error)
    assert heard.error.failure.kind == PROCESS and "reinstall opencode-tui" in str(heard.error)
    monkeypatch.setattr(litellm_worker, "_START_LIMIT_S", PATIENCE_S)
    try:
        heard = await ask(llm, asked("openai"))
        assert (heard.error, heard.joined("text")) == (None, "Echo: hi")
    finally:
        await owned.close()


async def test_a_child_that_is_stopped_is_replaced(
    server: ModelServer, worker: LitellmWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.start()
    monkeypatch.setattr(litellm_worker, "_PING_S", 0.3)
    stopped = worker.process_id
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    heard = await ask(reach(server, worker, "openai", chunk_timeout_ms=300), asked("openai"))
    assert heard.error is not None and heard.error.failure.retryable
    assert "litellm's process did not respond and was ended" in str(heard.error)
    assert not is_running(stopped)
    assert (await ask(reach(server, worker, "openai"), asked("openai", "again"))).joined("text") == "Echo: again"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_what_the_child_prints_is_in_the_log_only_before_it_can_know_a_key(
    server: ModelServer, worker: LitellmWorker
) -> None:
    assert worker._log is not None and worker.process_id is not None
    assert (await ask(reach(server, worker, "openai"), asked("openai", "again"))).joined("text") == "Echo: again"
    assert {os.readlink(f"/proc/{worker.process_id}/fd/{stream}") for stream in (1, 2)} == {os.devnull}
    assert KEY not in worker._log.read_text()


async def test_closing_ends_the_child_even_while_it_is_importing(tmp_path: Path) -> None:
    owned = LitellmWorker(log=tmp_path / "logs" / "child.log")
    starting = asyncio.create_task(owned.start())
    assert await eventually(lambda: owned.process_id is not None)
    child = owned.process_id
    assert child is not None
    await owned.close()
    await asyncio.wait({starting})
    assert not is_running(child)


ORPHAN = """
import asyncio, os, sys
from opencode_tui.client.local import open_client
from opencode_tui.engine.provider import litellm_worker
from opencode_tui.engine.provider.litellm_worker import LitellmWorker
async def main():
    worker = LitellmWorker()
    starting = asyncio.create_task(worker.start())
    while worker.process_id is None:
        await asyncio.sleep(0.01)
    print(worker.process_id, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def test_the_child_ends_with_its_parent() -> None:
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", ORPHAN], capture_output=True, text=True)
    child = int(done.stdout)
    assert await eventually(lambda: not is_running(child))


async def test_a_repository_cannot_bring_its_own_litellm(worker: LitellmWorker, repository: Path) -> None:
    assert worker.process_id is not None
    assert not (repository / "ran").exists()


async def eventually(is_so: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return is_so()


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_credentials_do_not_follow_a_redirect(
    server: ModelServer, worker: LitellmWorker, api: Api, status: int
) -> None:
    llm = reach(server, worker, api, headers={"x-own": "own-secret"})
    with ModelServer() as elsewhere:
        server.script(Answer(status=status, headers=(("location", elsewhere.url(api) + "/any?k=1"),), body=b""))
        heard = await ask(llm, asked(api))
        error = heard.error
        assert error is not None
        assert (elsewhere.requests, len(server.requests)) == ([], 1)
        assert (error.failure.kind, error.failure.retryable) == ("protocol", False)
        assert f"redirects to {elsewhere.url(api).split('/')[2]}; the key is not sent there" in str(error)
        assert KEY not in str(error)
