"""Servers of models on this machine: found by their ports, with the models and the contexts that they report.

Only addresses of loopback are asked, and the one that OLLAMA_HOST names, when a list of models is opened or such a model is used.
Sources: https://docs.ollama.com/api (tags, show, ps), https://docs.ollama.com/faq (OLLAMA_HOST, OLLAMA_CONTEXT_LENGTH),
https://lmstudio.ai/docs/developer/rest/endpoints, the README of tools/server in https://github.com/ggml-org/llama.cpp (/props),
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (/v1/models with `max_model_len`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from opencode_tui.engine.provider.decode.response import as_index, as_list, as_object, as_text
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.model import Limit, Model
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    import httpx

PORTS = {"ollama": 11434, "lmstudio": 1234, "llamacpp": 8080, "vllm": 8000}
"""The servers that are looked for, and the ports of their documentation."""

NAMES = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM"}
_REMEDIES = {
    "ollama": "raise it with OLLAMA_CONTEXT_LENGTH=32768 for `ollama serve`, or `PARAMETER num_ctx 32768` in a Modelfile",
    "lmstudio": "load the model in LM Studio with a longer context",
    "llamacpp": "start llama-server with `-c 32768`",
    "vllm": "start vLLM with a larger `--max-model-len`",
}

SMALL_CONTEXT = 16_384
"""Tokens of a context below which a request with tools leaves hardly any room for a conversation."""

_CONNECT_S = 0.3
_ANSWER_S = 2.0
_MOST_MODELS = 200
_MOST_BYTES = 4 * 1024 * 1024
_MOST_OUTPUT = 8_192
_OLLAMA_DEFAULT_CONTEXT = 4_096
"""Ollama's context for a model that names none and is not loaded. Source: docs.ollama.com/faq."""


class LocalModel(Struct, frozen=True):
    """A model of a local server; `context` are the tokens that it accepts now, 0 if unknown."""

    id: str
    context: int = 0
    tool_call: bool = True
    vision: bool = False
    reasoning: bool = False

    def apply(self, model: Model) -> Model:
        """Return a model with what the server reports of it; a quarter of the context is for the answer."""
        limit = Limit(context=self.context, output=min(self.context // 4, _MOST_OUTPUT))
        return model.changed(
            limit=limit, tool_call=self.tool_call, attachment=self.vision, reasoning=self.reasoning or model.reasoning
        )


class LocalServer(Struct, frozen=True):
    """A server that answered; `base_url` is that of its OpenAI format."""

    id: str
    base_url: str
    models: Mapping[str, LocalModel]

    @property
    def words(self) -> str:
        """One line about it."""
        count = len(self.models)
        return f"{NAMES[self.id]} is running: {count} model{'' if count == 1 else 's'}"


class LocalServers:
    """The servers that answered last; empty before they are looked for. With `is_off` none is ever asked."""

    def __init__(self, environ: Mapping[str, str], *, is_off: bool = False, ports: Mapping[str, int] = PORTS) -> None:
        self._environ = environ
        self._ports: Mapping[str, int] = {} if is_off else ports
        self._found: dict[str, LocalServer] = {}
        self._asked: set[str] = set()

    def find(self, provider_id: str) -> LocalServer | None:
        """Return the server of a provider, None for one that did not answer."""
        return self._found.get(provider_id)

    async def refresh(self) -> list[LocalServer]:
        """Look for all servers; return those that answer. Takes 2 s at most."""
        await asyncio.gather(*map(self._look, self._ports))
        return list(self._found.values())

    async def look_once(self, provider_id: str) -> None:
        """Look for the server of a provider if it was not looked for yet."""
        if provider_id in self._ports and provider_id not in self._asked:
            await self._look(provider_id)

    def advice(self, provider_id: str, model_id: str) -> str:
        """Return that the context of a server is small for an agent, and how to raise it; empty if it is not."""
        server = self._found.get(provider_id)
        model = server.models.get(model_id) if server else None
        if model is None or not 0 < model.context < SMALL_CONTEXT:
            return ""
        return (
            f"{NAMES[provider_id]} gives {model_id} a context of {model.context} tokens, which an agent's first requests fill; "
            f"{_REMEDIES[provider_id]}"
        )

    async def _look(self, provider_id: str) -> None:
        url = self._address(provider_id)
        self._asked.add(provider_id)
        self._found.pop(provider_id, None)
        async with await asyncio.to_thread(_make_client, url) as client:
            try:
                async with asyncio.timeout(_ANSWER_S):
                    models = await _READERS[provider_id](_Api(client, url), self._environ)
            except (TimeoutError, _NoServer):
                return
        if models:
            base = f"{url}/v1"
            self._found[provider_id] = LocalServer(provider_id, base, {one.id: one for one in models[:_MOST_MODELS]})

    def _address(self, provider_id: str) -> str:
        named = self._environ.get("OLLAMA_HOST", "").strip() if provider_id == "ollama" else ""
        return ollama_address(named, self._ports[provider_id])


def ollama_address(named: str, port: int = PORTS["ollama"]) -> str:
    """Return the address that OLLAMA_HOST names, as Ollama's own client reads it; one for all interfaces is this machine."""
    scheme, mark, rest = named.rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        host, own = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return f"http://127.0.0.1:{port}"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    default = {"http": 80, "https": 443}.get(scheme, port) if mark else port
    return f"{scheme or 'http'}://{f'[{host}]' if ':' in host else host}:{own or default}{parts.path.rstrip('/')}"


class _NoServer(Exception):
    """Nothing answers there, or something else."""


class _Api:
    """The requests to one server."""

    def __init__(self, client: "httpx.AsyncClient", url: str) -> None:
        self._client = client
        self._url = url

    async def get(self, path: str) -> JsonObject:
        return await self._send("GET", path, None)

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        return await self._send("POST", path, body)

    async def _send(self, method: str, path: str, body: JsonObject | None) -> JsonObject:
        """Return the object that is answered. Raises _NoServer for anything else."""
        import httpx  # already imported with the client

        try:
            async with self._client.stream(method, f"{self._url}{path}", json=body) as response:
                data = bytearray()
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > _MOST_BYTES:
                        raise _NoServer
                if response.status_code != 200:
                    raise _NoServer
            return as_object(load_json(bytes(data)))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _NoServer from error


def _make_client(url: str) -> "httpx.AsyncClient":
    import httpx

    from opencode_tui.network import client_options

    timeout = httpx.Timeout(_ANSWER_S, connect=_CONNECT_S)
    return httpx.AsyncClient(follow_redirects=False, timeout=timeout, **client_options(url))


async def _read_ollama(api: _Api, environ: Mapping[str, str]) -> list[LocalModel]:
    """A loaded model has the context of `/api/ps`; another one that of its Modelfile, else the server's default."""
    tags, loaded = await asyncio.gather(api.get("/api/tags"), api.get("/api/ps"))
    running = {as_text(as_object(one).get("name")): as_object(one) for one in as_list(loaded.get("models"))}
    names = [as_text(as_object(one).get("name")) for one in as_list(tags.get("models"))][:_MOST_MODELS]
    own = environ.get("OLLAMA_CONTEXT_LENGTH", "")
    default = int(own) if own.isdigit() else _OLLAMA_DEFAULT_CONTEXT

    async def read(name: str) -> LocalModel | None:
        try:
            shown = await api.post("/api/show", {"model": name})
        except _NoServer:
            return LocalModel(name)
        can = as_list(shown.get("capabilities"))
        if can and "completion" not in can:
            return None  # it only embeds texts
        info = as_object(shown.get("model_info"))
        most = as_index(info.get(f"{as_text(info.get('general.architecture'))}.context_length")) or 0
        lines = (line.split() for line in as_text(shown.get("parameters")).splitlines())
        named = next(
            (int(line[1]) for line in lines if len(line) == 2 and line[0] == "num_ctx" and line[1].isdigit()), 0
        )
        asked = named or default
        context = as_index(running.get(name, {}).get("context_length")) or (min(asked, most) if most else asked)
        return LocalModel(name, context, not can or "tools" in can, "vision" in can, "thinking" in can)

    found = await asyncio.gather(*(read(name) for name in names if name))
    return [one for one in found if one is not None]


async def _read_lmstudio(api: _Api, _: Mapping[str, str]) -> list[LocalModel]:
    found: list[LocalModel] = []
    for one in map(as_object, as_list((await api.get("/api/v0/models")).get("data"))):
        kind, name = as_text(one.get("type")), as_text(one.get("id"))
        if name and kind in ("llm", "vlm"):
            context = as_index(one.get("loaded_context_length")) or as_index(one.get("max_context_length")) or 0
            found.append(LocalModel(name, context, vision=kind == "vlm"))
    return found


async def _read_llamacpp(api: _Api, _: Mapping[str, str]) -> list[LocalModel]:
    props, listed = await asyncio.gather(api.get("/props"), api.get("/v1/models"))
    settings = as_object(props.get("default_generation_settings"))
    if not settings:
        raise _NoServer
    context = as_index(settings.get("n_ctx")) or 0
    vision = as_object(props.get("modalities")).get("vision") is True
    names = [as_text(as_object(one).get("id")) for one in as_list(listed.get("data"))]
    return [LocalModel(name, context, vision=vision) for name in names if name]


async def _read_vllm(api: _Api, _: Mapping[str, str]) -> list[LocalModel]:
    listed = map(as_object, as_list((await api.get("/v1/models")).get("data")))
    own = [one for one in listed if one.get("owned_by") == "vllm" and as_text(one.get("id"))]
    return [LocalModel(as_text(one.get("id")), as_index(one.get("max_model_len")) or 0) for one in own]


_READERS: Mapping[str, Callable[[_Api, Mapping[str, str]], Awaitable[list[LocalModel]]]] = {
    "ollama": _read_ollama,
    "lmstudio": _read_lmstudio,
    "llamacpp": _read_llamacpp,
    "vllm": _read_vllm,
}
