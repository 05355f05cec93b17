"""Servers of models on this machine: found by their ports, with the models and the contexts that they report.

Only addresses of loopback are asked, and the one that OLLAMA_HOST names, when a list of models is opened or such a model is used.
Sources: https://docs.ollama.com/api (tags, show, ps), https://docs.ollama.com/faq (OLLAMA_HOST), https://docs.ollama.com/context-length;
https://lmstudio.ai/docs/developer/rest/list, and …/rest/endpoints for LM Studio before 0.4; the README of tools/server in
https://github.com/ggml-org/llama.cpp (/props, /v1/models, router mode); https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
and `ModelCard` in the source of vLLM (/v1/models with `max_model_len`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from opencode_tui import __version__
from opencode_tui.engine.provider.connections import connection_failures, new_request, open_pool
from opencode_tui.engine.provider.decode.response import as_index, as_list, as_text
from opencode_tui.engine.provider.known_provider import KNOWN
from opencode_tui.schema.json_text import as_object, load_json
from opencode_tui.schema.model import Limit, Model
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool

_PROGRAMS = {known.id: known.local for known in KNOWN if known.local is not None}
PORTS = {known.id: urlsplit(known.base_url or "").port or 0 for known in KNOWN if known.local is not None}
"""The servers that are looked for, and the ports of their documentation."""

SMALL_CONTEXT = 16_384
"""Tokens of a context below which a request with tools leaves hardly any room for a conversation."""

_CONNECT_S = 0.3
_ANSWER_S = 2.0
_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": f"opencode-tui/{__version__}",
}
_MOST_MODELS = 200
_MOST_BYTES = 4 * 1024 * 1024
_MOST_OUTPUT = 8_192
_OLLAMA_LEAST = (
    "Ollama gives {} a context of 4,096 tokens on a machine with less than 24 GiB of VRAM, which an agent's first requests fill;"
    " {}"
)
"""Said of a model that is not loaded and names no context. Source: docs.ollama.com/context-length."""


class LocalModel(Struct, frozen=True):
    """A model of a local server; `context` are the tokens that it accepts now, 0 if unknown.

    A server that has not loaded a model may decide on its context later: then `is_certain` is false.
    """

    id: str
    context: int = 0
    tool_call: bool = True
    vision: bool = False
    reasoning: bool = False
    is_certain: bool = True

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
        return f"{_PROGRAMS[self.id].name} is running: {count} model{'' if count == 1 else 's'}"


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

    def address(self, provider_id: str) -> str:
        """Return where the server of a provider is looked for, as the URL of its OpenAI format; empty for one that is not."""
        return f"{self._address(provider_id)}/v1" if provider_id in self._ports else ""

    async def refresh(self) -> list[LocalServer]:
        """Look for all servers; return those that answer. Takes 2 s at most."""
        await asyncio.gather(*map(self._look, self._ports))
        return list(self._found.values())

    async def look_for(self, provider_id: str, model_id: str) -> None:
        """Look for the server of a provider, if it was not looked for yet or the context of its model is not certain."""
        server = self._found.get(provider_id)
        model = server.models.get(model_id) if server else None
        is_known = provider_id in self._asked and (model is None or model.is_certain)
        if provider_id in self._ports and not is_known:
            await self._look(provider_id)

    def advice(self, provider_id: str, model_id: str) -> str:
        """Return that the context of a server is small for an agent, and how to raise it; empty if it is not."""
        server = self._found.get(provider_id)
        model = server.models.get(model_id) if server else None
        if provider_id == "ollama" and model is not None and not model.context:
            return _OLLAMA_LEAST.format(model_id, _PROGRAMS[provider_id].advice)
        if model is None or not 0 < model.context < SMALL_CONTEXT:
            return ""
        program = _PROGRAMS[provider_id]
        return (
            f"{program.name} gives {model_id} a context of {model.context} tokens, which an agent's first requests fill; "
            f"{program.advice}"
        )

    def describe_too_large(self, provider_id: str, model_id: str, size: int) -> str:
        """Return that a request of about `size` tokens is too large for a server's context, and how to raise it; else empty."""
        server = self._found.get(provider_id)
        model = server.models.get(model_id) if server else None
        if model is None or model.context <= 0:
            return ""
        program = _PROGRAMS[provider_id]
        return (
            f"{program.name} gives {model_id} a context of {model.context} tokens, too few for this request of about"
            f" {size} and its answer; {program.advice}"
        )

    async def _look(self, provider_id: str) -> None:
        """Ask the server of a provider for its models; keep what it reported last while it is too busy to answer."""
        url = self._address(provider_id)
        self._asked.add(provider_id)
        try:
            models = await self._read(provider_id, url)
        except _NotNow:
            return
        except _NoServer:
            models = []
        before = self._found.pop(provider_id, None)
        if models:
            listed = [_as_loaded_before(one, before) for one in models[:_MOST_MODELS]]
            self._found[provider_id] = LocalServer(provider_id, f"{url}/v1", {one.id: one for one in listed})

    async def _read(self, provider_id: str, url: str) -> list[LocalModel]:
        await _check_listens(url)
        async with await asyncio.to_thread(_connect, url) as client:
            api = _Api(client, url, asyncio.get_running_loop().time() + _ANSWER_S)
            return await _READERS[provider_id](api, self._environ)

    def _address(self, provider_id: str) -> str:
        named = self._environ.get("OLLAMA_HOST", "").strip() if provider_id == "ollama" else ""
        return ollama_address(named, self._ports[provider_id])


def _as_loaded_before(model: LocalModel, server: LocalServer | None) -> LocalModel:
    """Return a model with the context that it had while it was loaded: servers unload models after minutes."""
    known = server.models.get(model.id) if server and not model.is_certain else None
    return replace(model, context=known.context, is_certain=True) if known and known.is_certain else model


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


class _NotNow(_NoServer):
    """Something listens there and does not answer in time, or says that it cannot answer now."""


class _Api:
    """The requests to one server, all of which end at `until` by the loop's clock: what was answered before counts."""

    def __init__(self, client: "AsyncConnectionPool", url: str, until: float) -> None:
        self._client = client
        self._url = url
        self._until = until

    async def get(self, path: str) -> JsonObject:
        return await self._send("GET", path)

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        return await self._send("POST", path, msgspec.json.encode(body))

    async def _send(self, method: str, path: str, body: bytes = b"") -> JsonObject:
        """Return the object that is answered. Raises _NotNow for none in time, _NoServer for anything else."""
        import httpcore  # already imported

        limits = {"connect": _CONNECT_S, "read": _ANSWER_S, "write": _ANSWER_S, "pool": None}
        try:
            request = new_request(method, f"{self._url}{path}", _HEADERS, body, {"timeout": limits})
            async with (
                asyncio.timeout_at(self._until),
                aclosing(await self._client.handle_async_request(request)) as response,
            ):
                if response.status != 200:
                    raise _NotNow if response.status >= 500 else _NoServer
                data = bytearray()
                async for piece in response.aiter_stream():
                    data += piece
                    if len(data) > _MOST_BYTES:
                        raise _NoServer
            return as_object(load_json(bytes(data)))
        except httpcore.ConnectTimeout as error:  # a busy program here, or another machine that is away
            raise _NotNow if _is_here(self._url) else _NoServer from error
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise _NotNow from error
        except (*connection_failures(), ValueError) as error:
            raise _NoServer from error


def _is_here(url: str) -> bool:
    from opencode_tui.network import is_loopback  # only with the first request

    return is_loopback(urlsplit(url).hostname or "")


async def _check_listens(url: str) -> None:
    """Raise _NoServer if no program of this machine listens at an address; other machines are not asked.

    Most users run none of these servers, and what speaks HTTP takes 5 MB.
    """
    if not _is_here(url):
        return
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except TimeoutError as error:
        raise _NotNow from error
    except OSError as error:
        raise _NoServer from error
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _connect(url: str) -> "AsyncConnectionPool":
    from opencode_tui.network import find_route  # only with the first request

    return open_pool(url, find_route(url))


async def _read_ollama(api: _Api, environ: Mapping[str, str]) -> list[LocalModel]:
    """A loaded model has the context of `/api/ps`; another one that of its Modelfile, else what the server decides on later."""
    tags, loaded = await asyncio.gather(api.get("/api/tags"), api.get("/api/ps"))
    running = {as_text(as_object(one).get("name")): as_object(one) for one in as_list(loaded.get("models"))}
    listed = {as_text(as_object(one).get("name")): as_object(one) for one in as_list(tags.get("models"))[:_MOST_MODELS]}
    own = environ.get("OLLAMA_CONTEXT_LENGTH", "")
    default = int(own) if own.isdigit() else 0

    async def read(name: str) -> LocalModel | None:
        try:
            shown = await api.post("/api/show", {"model": name})
        except _NoServer:
            return LocalModel(name, is_certain=False)
        can = as_list(shown.get("capabilities"))
        if can and "completion" not in can:
            return None  # it only embeds texts
        info = as_object(shown.get("model_info"))
        most = as_index(info.get(f"{as_text(info.get('general.architecture'))}.context_length")) or 0
        lines = (line.split() for line in as_text(shown.get("parameters")).splitlines())
        named = next(
            (int(line[1]) for line in lines if len(line) == 2 and line[0] == "num_ctx" and line[1].isdigit()), 0
        )
        is_remote = bool(
            listed[name].get("remote_host")
        )  # in Ollama's cloud, which gives each model all of its context
        loaded_context = as_index(running.get(name, {}).get("context_length")) or 0
        asked = most if is_remote else named or default
        context = loaded_context or (min(asked, most) if most else asked)
        return LocalModel(
            name,
            context,
            tool_call=not can or "tools" in can,
            vision="vision" in can,
            reasoning="thinking" in can,
            is_certain=is_remote or bool(loaded_context or named),
        )

    found = await asyncio.gather(*(read(name) for name in listed if name))
    return [one for one in found if one is not None]


async def _read_lmstudio(api: _Api, _: Mapping[str, str]) -> list[LocalModel]:
    """A model that is not loaded is loaded with a context of its settings, which is not reported: its longest one is assumed."""
    try:
        listed = (await api.get("/api/v1/models")).get("models")
    except _NotNow:
        raise
    except _NoServer:
        return await _read_old_lmstudio(api)
    found: list[LocalModel] = []
    for one in map(as_object, as_list(listed)):
        loaded = [as_object(as_object(copy).get("config")) for copy in as_list(one.get("loaded_instances"))]
        context = min(filter(None, (as_index(config.get("context_length")) for config in loaded)), default=0)
        if (name := as_text(one.get("key"))) and one.get("type") == "llm":
            found.append(
                _of_lmstudio(name, context, one, vision=as_object(one.get("capabilities")).get("vision") is True)
            )
    return found


async def _read_old_lmstudio(api: _Api) -> list[LocalModel]:
    listed = map(as_object, as_list((await api.get("/api/v0/models")).get("data")))
    return [
        _of_lmstudio(name, as_index(one.get("loaded_context_length")) or 0, one, vision=one.get("type") == "vlm")
        for one in listed
        if (name := as_text(one.get("id"))) and one.get("type") in ("llm", "vlm")
    ]


def _of_lmstudio(name: str, context: int, listed: JsonObject, *, vision: bool) -> LocalModel:
    most = as_index(listed.get("max_context_length")) or 0
    return LocalModel(name, context or most, vision=vision, is_certain=context > 0)


async def _read_llamacpp(api: _Api, _: Mapping[str, str]) -> list[LocalModel]:
    """A router has models with a `status`, each with properties of its own; asking for them loads none."""
    props, listed = await asyncio.gather(api.get("/props"), api.get("/v1/models"))
    models = {as_text(as_object(one).get("id")): as_object(one) for one in as_list(listed.get("data"))[:_MOST_MODELS]}
    if not ("default_generation_settings" in props or props.get("role") == "router"):
        raise _NoServer

    async def read(name: str, model: JsonObject) -> LocalModel | None:
        shape, status = as_object(model.get("architecture")), as_object(model.get("status"))
        if as_list(shape.get("output_modalities")) == ["decisions"]:
            return None  # it writes no text
        own = props
        if status:
            own = {}
            if status.get("value") == "loaded":
                with suppress(_NoServer):
                    own = await api.get(f"/props?{urlencode({'model': name, 'autoload': 'false'})}")
        context = as_index(as_object(own.get("default_generation_settings")).get("n_ctx")) or 0
        vision = as_object(own.get("modalities")).get("vision") is True
        is_seeing = vision or "image" in as_list(shape.get("input_modalities"))
        return LocalModel(name, context, vision=is_seeing, is_certain=context > 0)

    found = await asyncio.gather(*(read(name, model) for name, model in models.items() if name))
    return [one for one in found if one is not None]


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
