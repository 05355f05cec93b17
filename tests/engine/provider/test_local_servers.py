"""Servers of models on this machine are found with the models and contexts that they report; nothing else is asked."""

import threading
from typing import Any

import pytest

from opencode_tui.engine.provider.local_servers import LocalServer, LocalServers, ollama_address
from tests.support.faults.proxy import never_accepting
from tests.support.provider.json_server import JsonServer, Route, always, serve_json
from tests.support.provider.local_fakes import LLAMACPP, LMSTUDIO, OLD_LMSTUDIO, OLLAMA, ROUTER, VLLM
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("patience_with_local_servers")


async def contexts(server: JsonServer, name: str) -> dict[str, int]:
    """Return the contexts of the models of a server."""
    found = await LocalServers({}, ports={name: server.port}).refresh()
    return {model.id: model.context for one in found for model in one.models.values()}


@pytest.mark.parametrize(
    ("name", "routes", "expected"),
    [
        ("ollama", OLLAMA, {"qwen3:8b": 32768, "llava:7b": 8192, "gemma3:4b": 0, "glm:cloud": 202752}),
        ("lmstudio", LMSTUDIO, {"qwen": 20000, "see": 32768}),
        ("lmstudio", OLD_LMSTUDIO, {"qwen": 20000, "see": 32768}),
        ("llamacpp", LLAMACPP, {"tiny.gguf": 16384}),
        ("llamacpp", ROUTER, {"org/see:Q4": 24576, "other": 0}),
        ("vllm", VLLM, {"org/m": 65536}),
    ],
)
async def test_models_have_the_context_that_their_server_gives_them(
    name: str, routes: dict[str, Route], expected: dict[str, int]
) -> None:
    with serve_json(routes) as server:
        assert await contexts(server, name) == expected
        assert set(server.asked) == set(routes)


@pytest.mark.parametrize("name", ["ollama", "lmstudio", "llamacpp", "vllm"])
@pytest.mark.parametrize("routes", [{}, {"GET /v1/models": always({"data": [{"id": "x", "owned_by": "me"}]})}])
async def test_another_server_on_the_port_is_none(name: str, routes: dict[str, Route]) -> None:
    with serve_json(routes) as server:
        assert await contexts(server, name) == {}
        assert server.asked != []


async def test_ollamas_default_context_is_that_of_its_variable() -> None:
    with serve_json(OLLAMA) as server:
        servers = LocalServers({"OLLAMA_CONTEXT_LENGTH": "65536"}, ports={"ollama": server.port})
        await servers.look_for("ollama", "qwen3:8b")
    found = servers.find("ollama")
    assert found is not None and found.models["gemma3:4b"].context == 65536


@pytest.mark.fast_cases("qwen3:8b")
@pytest.mark.parametrize("name", ["gemma3:4b", "qwen3:8b", "unknown"])
async def test_a_server_is_asked_again_until_it_has_loaded_the_model(name: str) -> None:
    routes = dict(OLLAMA)
    with serve_json(routes) as server:
        servers = LocalServers({}, ports={"ollama": server.port})
        for _ in range(2):
            await servers.look_for("ollama", name)
        assert server.asked.count("GET /api/tags") == (2 if name == "gemma3:4b" else 1)
        routes["GET /api/ps"] = always({"models": [{"name": "gemma3:4b", "context_length": 4096}]})
        await servers.refresh()
        routes["GET /api/ps"] = always({"models": []})  # after minutes without a request
        [found] = await servers.refresh()
    assert {one.id: (one.context, one.is_certain) for one in found.models.values()} == {
        "qwen3:8b": (32768, True),
        "llava:7b": (8192, True),
        "gemma3:4b": (4096, True),
        "glm:cloud": (202752, True),
    }


async def test_a_context_that_was_reported_holds_while_the_server_fails_to_show_the_model() -> None:
    routes = dict(OLLAMA)
    shown = routes["POST /api/show"]
    with serve_json(routes) as server:
        servers = LocalServers({}, ports={"ollama": server.port})
        await servers.look_for("ollama", "qwen3:8b")
        routes["POST /api/show"] = always({"error": "busy"}, 503)
        [found] = await servers.refresh()
        assert (found.models["qwen3:8b"].context, found.models["gemma3:4b"].context) == (32768, 0)
        assert not found.models["gemma3:4b"].is_certain
        others = LocalServers({}, ports={"ollama": server.port})
        await others.look_for("ollama", "qwen3:8b")
        routes["POST /api/show"] = shown
        await others.look_for("ollama", "qwen3:8b")
    again = others.find("ollama")
    assert again is not None and again.models["qwen3:8b"].context == 32768


@pytest.mark.parametrize(
    ("name", "routes", "stalled", "expected"),
    [
        ("ollama", OLLAMA, "POST /api/show", {"qwen3:8b", "llava:7b", "embed:1", "gemma3:4b", "glm:cloud"}),
        ("llamacpp", ROUTER, next(one for one in ROUTER if "model=" in one), {"org/see:Q4", "other"}),
    ],
)
async def test_models_that_a_busy_server_does_not_describe_in_time_are_listed(
    name: str, routes: dict[str, Route], stalled: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def stall(_body: dict[str, Any], _headers: dict[str, str]) -> tuple[int, Any]:
        released.wait()
        return 503, {"error": "busy"}

    with serve_json({**routes, stalled: stall}) as server:
        servers = LocalServers({}, ports={name: server.port})
        found: list[LocalServer] = []
        limit = 0.25
        while not found and limit < PATIENCE_S:  # a loaded machine needs longer for the names alone
            monkeypatch.setattr("opencode_tui.engine.provider.local_servers._ANSWER_S", limit)
            found, limit = await servers.refresh(), limit * 2
        released.set()
    assert {model.id: (model.context, model.is_certain) for one in found for model in one.models.values()} == {
        model_id: (0, False) for model_id in expected
    }


@pytest.mark.parametrize(
    ("name", "routes", "names"),
    [
        ("ollama", OLLAMA, "GET /api/tags"),
        ("ollama", OLLAMA, "GET /api/ps"),
        ("lmstudio", LMSTUDIO, "GET /api/v1/models"),
        ("lmstudio", OLD_LMSTUDIO, "GET /api/v0/models"),
        ("llamacpp", LLAMACPP, "GET /v1/models"),
        ("llamacpp", ROUTER, "GET /props"),
        ("vllm", VLLM, "GET /v1/models"),
    ],
)
async def test_what_a_server_reported_holds_while_it_is_busy_and_ends_with_it(
    name: str, routes: dict[str, Route], names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def stall(_body: dict[str, Any], _headers: dict[str, str]) -> tuple[int, Any]:
        released.wait()
        return 503, {"error": "busy"}

    changing = dict(routes)
    with serve_json(changing) as server:
        servers = LocalServers({}, ports={name: server.port})
        [known] = await servers.refresh()
        assert known.models
        changing[names] = always({"error": "loading"}, 503)
        assert await servers.refresh() == [known]
        changing[names] = stall
        with monkeypatch.context() as hasty:
            hasty.setattr("opencode_tui.engine.provider.local_servers._ANSWER_S", 0.2)
            assert await servers.refresh() == [known]
        released.set()
        changing[names] = always({"error": "not found"}, 404)
        assert await servers.refresh() == [], "another program has the port"
        changing[names] = routes[names]
        assert await servers.refresh() == [known]
    assert await servers.refresh() == [], "nothing listens"


async def test_what_a_server_reported_holds_while_it_accepts_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    environ: dict[str, str] = {}
    with serve_json(OLLAMA) as server, never_accepting() as address:
        servers = LocalServers(environ, ports={"ollama": server.port})
        [known] = await servers.refresh()
        environ["OLLAMA_HOST"] = address  # stands for the same server, whose queue of connections is full
        monkeypatch.setattr("opencode_tui.engine.provider.local_servers._CONNECT_S", 0.2)
        assert await servers.refresh() == [known]


async def test_a_small_context_is_said_with_how_to_raise_it() -> None:
    with serve_json(OLLAMA) as server:
        servers = LocalServers({}, ports={"ollama": server.port})
        [found] = await servers.refresh()
    assert found.words == "Ollama is running: 4 models"
    assert servers.advice("ollama", "qwen3:8b") == ""
    advice = servers.advice("ollama", "gemma3:4b")
    assert "gemma3:4b a context of 4,096 tokens on a machine with less than 24 GiB" in advice
    assert "OLLAMA_CONTEXT_LENGTH=64000" in advice
    assert "gives llava:7b a context of 8192 tokens" in servers.advice("ollama", "llava:7b")


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("gpu.lan:8000", "http://gpu.lan:8000"),
        (":9000", "http://127.0.0.1:9000"),
        ("https://gpu.lan", "https://gpu.lan:443"),
        ("http://gpu.lan/ollama/", "http://gpu.lan:80/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
        ("gpu.lan:many", "http://127.0.0.1:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(named: str, address: str) -> None:
    assert ollama_address(named) == address
