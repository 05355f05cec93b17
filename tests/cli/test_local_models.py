"""Models of a server on this machine are listed without a setting, unless one switches that off."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.faults.proxy import closed_port
from tests.support.provider.json_server import serve_json
from tests.support.provider.local_fakes import OLLAMA
from tests.support.world.in_process import Commands

pytestmark = pytest.mark.usefixtures("patience_with_local_servers")


@pytest.fixture
def with_local(commands: Commands) -> Callable[..., Commands]:
    """The command line that looks for Ollama at a server, by its variable, and for no other server."""

    def configured(port: int, **settings: Any) -> Commands:
        others = {"disabled_providers": ["lmstudio", "llamacpp", "vllm"]}
        (commands.folder / "opencode.json").write_text(json.dumps({**others, **settings}))
        assert commands.run("trust", "--yes").code == 0
        kept = {name: value for name, value in commands.environ.items() if name != "OPENCODE_DISABLE_LOCAL_MODELS"}
        return replace(commands, environ={**kept, "OLLAMA_HOST": f"127.0.0.1:{port}"})

    return configured


def test_models_lists_them_with_their_context(with_local: Callable[..., Commands]) -> None:
    with serve_json(OLLAMA) as server:
        done = with_local(server.port).run("models", "--format", "json")
    listed = {f"{one['providerID']}/{one['modelID']}": one for one in json.loads(done.stdout)}
    assert listed["ollama/qwen3:8b"]["limit"] == {"context": 32768, "output": 8192}
    assert listed["ollama/llava:7b"]["attachment"] is True and listed["ollama/llava:7b"]["toolCall"] is False
    assert "Ollama is running: 4 models" in done.stderr and "OLLAMA_CONTEXT_LENGTH" in done.stderr


def test_a_server_that_does_not_run_ends_a_run_with_its_address_and_what_starts_it(
    with_local: Callable[..., Commands], quick_retries: None
) -> None:
    with closed_port() as port:
        done = with_local(port).run("run", "-m", "ollama/x", "hello")
    *_, last = done.stderr.splitlines()
    assert done.code == 1 and last.startswith(
        f"opencode-tui: ollama: cannot reach 127.0.0.1:{port} (connection refused); "
    )
    assert "; fix: start Ollama (`ollama serve`), or check provider.ollama.options.baseURL" in last


def test_a_setting_switches_it_off(with_local: Callable[..., Commands]) -> None:
    with serve_json(OLLAMA) as server:
        done = with_local(server.port, local_models=False).run("models")
    assert done.code == 0 and "ollama" not in done.stdout and server.asked == []


@pytest.mark.slow
def test_a_request_that_the_server_has_no_room_for_says_how_to_raise_its_context(
    with_local: Callable[..., Commands],
) -> None:
    with serve_json(OLLAMA) as server:
        line = with_local(server.port)
        text = "word " * 40_000
        done = line.run("run", "-m", "ollama/qwen3:8b", text)
        as_json = line.run("run", "--format", "json", "-m", "ollama/qwen3:8b", text)
        small = line.run("run", "-m", "ollama/llava:7b", text)
    said = "Ollama gives qwen3:8b a context of 32768 tokens, too few for this request of about "
    for one in (done, as_json):
        assert one.code == 1 and one.stderr.count(said) == 1 and "OLLAMA_CONTEXT_LENGTH=64000" in one.stderr
    assert (
        small.stderr.count("Ollama gives llava:7b a context of 8192 tokens, which an agent's first requests fill") == 1
    )
    assert small.stderr.count("OLLAMA_CONTEXT_LENGTH") == 1
