"""Newer lists of models than the installed one: the catalog of `models.url`, and the lists of providers that have none here.

A list is asked for once a day at most, with the ETag of the one before, in the background of a screen; no one waits for it. What is
not a list changes nothing. The requests carry the name and version of this program, and the provider's key where the list is its
own. The result is one file of the cache folder, which `ModelTable` reads with the installed table.
"""

import asyncio
import importlib
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal

import msgspec
from msgspec import Struct, field

from opencode_tui import __version__, network
from opencode_tui.engine.provider.decode.response import as_count, as_list, as_text
from opencode_tui.engine.provider.known_provider import KNOWN
from opencode_tui.engine.provider.model_table import FETCHED_FILE, FETCHED_LAYOUT, as_date, per_million, slim
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.json_text import as_object, decode_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem

CATALOG_URL = "https://models.dev/api.json"
"""The catalog without a setting. Source: https://models.dev, which describes the file and asks for no key."""

RENEW_EVERY_MS = 24 * 3600 * 1000
"""A list that was asked for later than this is not asked for again, also if it did not answer."""

MAX_BYTES = 32 * 1024 * 1024
LIMIT_S = 30.0
"""Seconds for one list in all."""

_NO_CHAT = re.compile(r"embed|rerank|retriev|whisper|[-_]tts|reward|guard|[-_/]clip|ocr|[-_]parse")
"""Parts of names of models that are no chat models; most lists do not say it."""
_log = logging.getLogger(__name__)


class ListSource(Struct, frozen=True):
    """A list: its address, and the provider's name in the table; without a name it is a catalog of many providers."""

    url: str
    table: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        return f"ListSource({self.url!r})"  # without the key


class ModelLists:
    """Asks for the lists and keeps them; one request per list at a time."""

    def __init__(self, *, cache: Path, clock: Clock) -> None:
        self._path = cache / FETCHED_FILE
        self._clock = clock
        self._asking = asyncio.Lock()

    async def refresh(self, sources: Sequence[ListSource], *, is_forced: bool = False) -> list[str]:
        """Ask for the lists that are due, or for all; return a line for each that changed, with `is_forced` for each.

        Does not raise: a failure leaves what is there, and is logged.
        """
        async with self._asking:
            kept = as_object((await asyncio.to_thread(self._read)).get("sources"))
            due = [one for one in sources if is_forced or self._is_due(as_object(kept.get(one.url)))]
            if not due:
                return []
            httpx = await asyncio.to_thread(importlib.import_module, "httpx")  # takes as long as many frames
            answers = [await self._ask(httpx, source, as_object(kept.get(source.url))) for source in due]
            fresh = {one.url: answer for one, (answer, _, _) in zip(due, answers, strict=True)}
            await asyncio.to_thread(self._write, {**kept, **fresh})
        return [line for _, line, is_new in answers if is_new or is_forced]

    def _is_due(self, known: JsonObject) -> bool:
        checked = known.get("checked")
        return not isinstance(checked, int) or not 0 <= self._clock() - checked < RENEW_EVERY_MS

    async def _ask(self, httpx: ModuleType, source: ListSource, known: JsonObject) -> tuple[JsonObject, str, bool]:
        """Return what to keep of a list, a line about it, and whether it is new."""
        asked = {**known, "checked": self._clock()}
        headers = {"user-agent": f"opencode-tui/{__version__}", "accept": "application/json", **source.headers}
        if (etag := as_text(known.get("etag"))) and known.get("providers"):
            headers["if-none-match"] = etag
        data = bytearray()
        try:
            options = await asyncio.to_thread(network.client_options, source.url)
            async with (
                asyncio.timeout(LIMIT_S),
                httpx.AsyncClient(timeout=LIMIT_S, follow_redirects=False, **options) as http,
                http.stream("GET", source.url, headers=headers) as answer,
            ):
                if answer.status_code == 304:
                    return asked, f"{source.url}: not changed", False
                if answer.status_code != 200:
                    return self._failed(asked, source, f"it answered {answer.status_code}")
                async for piece in answer.aiter_bytes():
                    data += piece
                    if len(data) > MAX_BYTES:
                        return self._failed(asked, source, f"it is larger than {MAX_BYTES >> 20} MB")
                etag = answer.headers.get("etag", "")
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ConfigError) as error:
            return self._failed(asked, source, network.explain(str(error) or type(error).__name__, source.url))
        try:
            providers, priority = await asyncio.to_thread(read_list, bytes(data), source.table)
        except ValueError as error:
            return self._failed(asked, source, str(error))
        count = sum(len(as_object(models)) for models in providers.values())
        new: JsonObject = {"etag": etag, "checked": self._clock(), "providers": providers, "priority": priority}
        return new, f"{source.url}: {count} models", True

    @staticmethod
    def _failed(asked: JsonObject, source: ListSource, reason: str) -> tuple[JsonObject, str, bool]:
        _log.info("list of models not renewed", extra={"url": source.url, "reason": reason})
        return asked, f"{source.url} cannot be used ({reason}); the list from before stays", False

    def _read(self) -> JsonObject:
        try:
            kept = as_object(decode_json(self._path.read_bytes()))
        except (OSError, ValueError):
            return {}
        return kept if kept.get("layout") == FETCHED_LAYOUT else {}

    def _write(self, sources: JsonObject) -> None:
        try:
            AtomicWriter(FileSystem()).write(
                str(self._path), msgspec.json.encode({"layout": FETCHED_LAYOUT, "sources": sources})
            )
        except OSError as error:
            _log.warning("lists of models not kept", extra={"path": str(self._path), "reason": str(error)})


Priority = Literal["own", "newer", "missing"]
"""Which entries of a list count: all, as it is the provider's own; the newer ones; or those that no other list has."""


def read_list(data: bytes, table: str) -> tuple[JsonObject, Priority]:
    """Return {provider: {model: entry}} of a list, and which of its entries count. Raises ValueError.

    A catalog is models.dev's or litellm's file; a provider's list has `data` as OpenAI's and OpenRouter's.
    """
    try:
        value = as_object(decode_json(data))
    except ValueError:
        raise ValueError("it is not JSON") from None
    priority: Priority
    if table:
        found: JsonObject = {table: _listed(value)}
        priority = "own"
    elif any("litellm_provider" in as_object(entry) for entry in value.values()):
        found, priority = slim(value), "newer"
    else:
        found, priority = _models_dev(value), "missing"
    if not any(found.values()):
        raise ValueError("it lists no models")
    return found, priority


def _models_dev(value: JsonObject) -> JsonObject:
    """Return the entries of models.dev's `api.json` for the providers that are known here.

    Its context is that of a whole conversation where it names no limit of the input. Source: https://models.dev and its schema.
    """
    found: dict[str, JsonObject] = {}
    for known in KNOWN:
        if not known.tables:
            continue
        models = as_object(as_object(value.get(known.id)).get("models"))
        entries = {
            name: _models_dev_entry(entry)
            for name, entry in ((name, as_object(one)) for name, one in models.items())
            if entry.get("status") != "deprecated" and _writes_text(as_object(entry.get("modalities")), "output")
        }
        if entries:
            found[known.tables[0]] = dict(entries)
    return dict(found)


def _models_dev_entry(entry: JsonObject) -> list[object]:
    limit, cost = as_object(entry.get("limit")), as_object(entry.get("cost"))
    large = as_object(cost.get("context_over_200k"))
    return [
        as_count(limit.get("input")) or as_count(limit.get("context")),
        as_count(limit.get("output")),
        _dollars(cost, cost),
        [[200_000, _dollars(large, cost)]] if large else [],
        entry.get("tool_call") is not False,
        entry.get("reasoning") is True,
        entry.get("attachment") is True or "image" in as_list(as_object(entry.get("modalities")).get("input")),
        False,
        "",
        isinstance(cost.get("input"), int | float),
        "",
    ]


def _dollars(prices: JsonObject, others: JsonObject) -> list[str]:
    """Return USD per million of prices that are written so; what is missing costs what `others` say, or the input."""
    sent, received, read, written = (
        prices.get(name, others.get(name)) for name in ("input", "output", "cache_read", "cache_write")
    )
    usual = (sent, received or 0, sent if read is None else read, sent if written is None else written)
    return [*(per_million(price, scale=1) for price in usual), "", ""]


def _listed(value: JsonObject) -> JsonObject:
    """Return the entries of a provider's own list; one without chat models is empty."""
    found: JsonObject = {}
    for one in map(as_object, as_list(value.get("data"))):
        name, shape = as_text(one.get("id")), as_object(one.get("architecture"))
        if name and not _NO_CHAT.search(name.lower()) and _writes_text(shape, "output_modalities"):
            found[name] = _listed_entry(one, shape)
    return found


def _writes_text(shape: JsonObject, name: str) -> bool:
    return name not in shape or "text" in as_list(shape.get(name))


def _listed_entry(one: JsonObject, shape: JsonObject) -> list[object]:
    """Return the entry of a model of a provider's own list; what the list does not say is unknown, and images are not refused.

    Sources: https://openrouter.ai/docs/api-reference/list-available-models; https://huggingface.co/docs/inference-providers (hosts
    per model: the smallest context, a price where all ask the same); `max_model_len` is vLLM's, `context_window` Groq's,
    `max_context_length` Mistral's.
    """
    top, hosts = as_object(one.get("top_provider")), [as_object(host) for host in as_list(one.get("providers"))]
    contexts = [
        as_count(one.get(name)) for name in ("context_length", "context_window", "max_model_len", "max_context_length")
    ]
    contexts += [as_count(top.get("context_length"))]
    contexts += [min(filter(None, (as_count(host.get("context_length")) for host in hosts)), default=0)]
    prices = _token_prices(as_object(one.get("pricing"))) or _same_prices(hosts)
    parameters, inputs = as_list(one.get("supported_parameters")), as_list(shape.get("input_modalities"))
    tools = [host["supports_tools"] for host in hosts if isinstance(host.get("supports_tools"), bool)]
    return [
        next(filter(None, contexts), 0),
        as_count(top.get("max_completion_tokens")) or as_count(one.get("max_completion_tokens")),
        prices or ["0", "0", "0", "0", "", ""],
        [],
        "tools" in parameters if parameters else any(tools) if tools else True,
        "reasoning" in parameters,
        bool({"image", "file"} & set(map(str, inputs))) if inputs else True,
        False,
        _search(as_object(one.get("pricing"))),
        bool(prices),
        as_date(one.get("expiration_date")),
    ]


def _token_prices(pricing: JsonObject) -> list[str]:
    """Return USD per million for prices in USD per token, which are texts; empty for unknown ones (a router's are below 0)."""
    sent, received = _number(pricing.get("prompt")), _number(pricing.get("completion"))
    if sent is None or received is None:
        return []
    read, written = _number(pricing.get("input_cache_read")), _number(pricing.get("input_cache_write"))
    usual = (sent, received, sent if read is None else read, sent if written is None else written)
    return [*(per_million(price) for price in usual), "", ""]


def _same_prices(hosts: Sequence[JsonObject]) -> list[str]:
    found = {
        (_number(as_object(host.get("pricing")).get("input")), _number(as_object(host.get("pricing")).get("output")))
        for host in hosts
    }
    if len(found) != 1:
        return []
    sent, received = found.pop()
    return [] if sent is None or received is None else _dollars({"input": sent, "output": received}, {})


def _search(pricing: JsonObject) -> str:
    price = _number(pricing.get("web_search"))
    return "" if not price else per_million(price, scale=1)


def _number(value: object) -> float | None:
    """Return a price that is not below 0, also from a text; None for anything else."""
    try:
        price = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except ValueError:
        return None
    return price if 0 <= price < 1e6 else None
