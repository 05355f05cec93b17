"""Limits, prices and capabilities of models, read from litellm's table without importing litellm.

The table is a JSON file of about 3 MB for many kinds of services. The entries of chat models are stored in the cache folder and
updated when the installed table changes; without a usable cache only the start takes longer.
"""

import importlib.util
import logging
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypedDict

import msgspec
from msgspec import Struct

from opencode_tui.engine.provider.decode.response import as_count, as_list, as_text
from opencode_tui.engine.provider.nearest import find_nearest
from opencode_tui.schema.json_text import as_object, decode_json
from opencode_tui.schema.model import Adapter, Cost, LargePrices, Limit, Model
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem

_TABLE_FILE = "model_prices_and_context_window_backup.json"
_CACHE_FILE = "models.json"
FETCHED_FILE = "models-fetched.json"
"""The lists that `model_fetch` keeps in the cache folder."""
FETCHED_LAYOUT = 1
"""Increased when the format of the fetched entries changes, so that older files are ignored."""
_LAYOUT = 4
"""Increased when the format of the cached entries changes, so that older files are replaced."""

_MAKERS = ("anthropic", "openai", "gemini", "deepseek", "xai", "mistral", "moonshot", "zai", "minimax", "dashscope")
"""Providers of the table that make their models: what others serve under the same names has the same limits."""

_MODES = frozenset({"chat", "responses"})
_PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
    "output_cost_per_reasoning_token",
)
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_DATE = r"\d{4}-\d\d-\d\d"
_log = logging.getLogger(__name__)


class ListedModel(Struct, frozen=True):
    """A model of the table; prices are USD per million tokens: input, output, cache read, cache write, that for an hour, reasoning.

    The last two are empty where they cost what the others do. `search` is USD for one search, empty when unknown; `is_priced` is
    whether the table has prices.
    `large` are the prices of requests above a number of tokens, the smallest number first.
    `needs_responses` means that the provider has it only in OpenAI's Responses format. `retires` is the day on which the provider
    switches it off, as in 2026-01-31; empty when unknown.
    """

    context: int
    output: int
    prices: tuple[str, ...]
    large: tuple[tuple[int, tuple[str, ...]], ...]
    tool_call: bool
    reasoning: bool
    attachment: bool
    needs_responses: bool
    search: str
    is_priced: bool
    retires: str = ""

    def is_retired(self, today: str) -> bool:
        """Return whether its provider has switched it off by this date, as in 2026-01-31."""
        return bool(self.retires) and self.retires <= today

    def model(self, provider_id: str, model_id: str, *, adapter: Adapter, api_id: str) -> Model:
        """Return it as a model of `provider_id`."""
        return Model(
            provider_id=provider_id,
            model_id=model_id,
            name=model_id,
            adapter=adapter,
            api_id=api_id,
            limit=Limit(context=self.context, output=self.output),
            cost=Cost(
                **_prices(self.prices),
                large=[LargePrices(above=above, **_prices(one)) for above, one in self.large],
                search=Decimal(self.search) if self.search else None,
                is_known=self.is_priced,
            ),
            tool_call=self.tool_call,
            reasoning=self.reasoning,
            attachment=self.attachment,
            retires=self.retires or None,
        )


class ModelTable:
    """litellm's table with the lists that were fetched since; the first access reads it."""

    def __init__(self, *, cache: Path | None = None, source: Path | None = None) -> None:
        self._cache = cache / _CACHE_FILE if cache else None
        self._fetched = cache / FETCHED_FILE if cache else None
        self._source = source
        self._providers: JsonObject | None = None
        self._models: dict[tuple[str, ...], Mapping[str, ListedModel]] = {}
        self._nearest: dict[tuple[str, ...], tuple[str, ListedModel] | None] = {}

    def reload(self) -> None:
        """Read it again at the next access, because lists were fetched."""
        self._providers, self._models, self._nearest = None, {}, {}

    def provider_ids(self) -> list[str]:
        """Return litellm's names of all providers in the table."""
        return sorted(self._load())

    def models(self, names: tuple[str, ...]) -> Mapping[str, ListedModel]:
        """Return the chat models of these providers by ID, in the table's order; computed once for the same names."""
        if (known := self._models.get(names)) is not None:
            return known
        found: dict[str, ListedModel] = {}
        for name in names:
            for model_id, entry in as_object(self._load().get(name)).items():
                context, output, prices, large, *flags = entry
                tiers = tuple((above, tuple(one)) for above, one in large)
                found.setdefault(model_id, ListedModel(context, output, tuple(prices), tiers, *flags))
        self._models[names] = found
        return found

    def nearest(self, names: tuple[str, ...], model_id: str) -> tuple[str, ListedModel] | None:
        """Return the model that is nearest to a name: of these providers, else of the makers; None when none is of its family."""
        key = (model_id, *names)
        if key not in self._nearest:
            own, makers = self.models(names), self.models(_MAKERS)
            if found := find_nearest(model_id, own):
                self._nearest[key] = found, own[found]
            else:
                found = find_nearest(model_id, makers, least=2)
                self._nearest[key] = (found, makers[found]) if found else None
        return self._nearest[key]

    def _load(self) -> JsonObject:
        found = self._providers
        if found is None:
            source = self._source or find_table()
            found = self._providers = self._read(source) if source else {}
        return found

    def _read(self, source: Path) -> JsonObject:
        try:
            status = source.stat()
            mark = f"{_LAYOUT}:{status.st_size}:{status.st_mtime_ns}:{source}{self._fetched_mark()}"
            cached = self._read_cache(mark)
            if cached is None:
                cached = slim(as_object(decode_json(source.read_bytes())))
                self._add_fetched(cached, installed_ms=status.st_mtime_ns // 1_000_000)
                self._write_cache(mark, cached)
        except (OSError, ValueError) as error:
            _log.warning("model table unreadable", extra={"path": str(source), "reason": str(error)})
            return {}
        return cached

    def _fetched_mark(self) -> str:
        try:
            status = self._fetched.stat() if self._fetched else None
        except OSError:
            return ""
        return f":{status.st_size}:{status.st_mtime_ns}" if status else ""

    def _add_fetched(self, providers: JsonObject, *, installed_ms: int) -> None:
        """Add the fetched lists; litellm's own replaces entries only if it is newer than the installed table."""
        try:
            kept = as_object(decode_json(self._fetched.read_bytes())) if self._fetched else {}
        except (OSError, ValueError):
            return
        sources = as_object(kept.get("sources")) if kept.get("layout") == FETCHED_LAYOUT else {}
        ordered = sorted(map(as_object, sources.values()), key=lambda one: one.get("priority") == "own")
        for source in ordered:  # catalogs first: a provider's own list knows it better
            checked, priority = source.get("checked"), source.get("priority")
            is_newer = priority == "newer" and isinstance(checked, int) and checked > installed_ms
            for name, models in as_object(source.get("providers")).items():
                known, new = as_object(providers.get(name)), as_object(models)
                rest = {} if is_newer else known
                providers[name] = new if priority == "own" else {**known, **new, **rest}

    def _read_cache(self, mark: str) -> JsonObject | None:
        if self._cache is None:
            return None
        try:
            kept = as_object(decode_json(self._cache.read_bytes()))
        except (OSError, ValueError):
            return None
        return as_object(kept.get("providers")) if kept.get("source") == mark else None

    def _write_cache(self, mark: str, providers: JsonObject) -> None:
        if self._cache is None:
            return
        data = msgspec.json.encode({"source": mark, "providers": providers})
        try:
            AtomicWriter(FileSystem()).write(str(self._cache), data)
        except OSError as error:
            _log.info("model table not cached", extra={"path": str(self._cache), "reason": str(error)})


def find_table() -> Path | None:
    """Return litellm's table without importing the package; None when it is not installed."""
    package = importlib.util.find_spec("litellm")
    if package is None or not package.submodule_search_locations:
        return None
    return Path(package.submodule_search_locations[0]) / _TABLE_FILE


def slim(table: JsonObject) -> JsonObject:
    """Return {provider: {model: entry}} of the chat models; an entry is a list in the order of `ListedModel`."""
    providers: dict[str, JsonObject] = {}
    for key, value in table.items():
        listed = as_object(value)
        name = as_text(listed.get("litellm_provider"))
        if key == "sample_spec" or not name or listed.get("mode") not in _MODES or key.startswith("ft:"):
            continue
        family = "vertex_ai" if name.startswith("vertex_ai") else name
        providers.setdefault(family, {})[key.removeprefix(f"{family}/")] = _entry(listed)
    return dict(providers)


def _entry(listed: JsonObject) -> list[object]:
    output = as_count(listed.get("max_output_tokens"))
    context = as_count(listed.get("max_input_tokens")) or as_count(listed.get("max_tokens"))
    tiers = _tiers(listed)
    return [
        context,
        output,
        tiers[0][1],
        tiers[1:],
        bool(listed.get("supports_function_calling")),
        bool(listed.get("supports_reasoning")),
        bool(listed.get("supports_vision") or listed.get("supports_pdf_input")),
        listed.get("mode") == "responses",
        _search_price(listed),
        "input_cost_per_token" in listed or bool(listed.get("tiered_pricing")),
        as_date(listed.get("deprecation_date")),
    ]


def as_date(value: object) -> str:
    """Return a date of the form 2026-01-31; empty for anything else."""
    return value if isinstance(value, str) and re.fullmatch(_DATE, value) else ""


def _search_price(listed: JsonObject) -> str:
    """Return USD for one search of the provider's own tool, with a context of medium size; empty when unknown."""
    price = as_object(listed.get("search_context_cost_per_query")).get("search_context_size_medium")
    return "" if isinstance(price, bool) or not isinstance(price, int | float) else format(Decimal(repr(price)), "f")


def _tiers(listed: JsonObject) -> list[tuple[int, list[str]]]:
    """Return the prices from each request size on, the smallest first; the first size is 0."""
    if ranges := [as_object(tier) for tier in as_list(listed.get("tiered_pricing"))]:
        starts = [as_count(next(iter(as_list(tier.get("range"))), 0)) for tier in ranges]
        return sorted((start, _listed_prices(tier)) for start, tier in zip(starts, ranges, strict=True))
    sizes = sorted(int(found[1]) for name in listed if (found := _ABOVE.fullmatch(name)))
    return [
        (0, _listed_prices(listed)),
        *((1000 * size, _listed_prices(listed, f"_above_{size}k_tokens")) for size in sizes),
    ]


def _listed_prices(listed: JsonObject, suffix: str = "") -> list[str]:
    """Return the prices; cache reads and writes without a listed price cost as much as other input, the last two may be empty."""
    found = [listed.get(name + suffix, listed.get(name)) for name in _PRICES]
    sent, received, read, *written = found[:4]
    read = listed.get("input_cost_per_token_cache_hit") if read is None else read
    if found[5] == listed.get(_PRICES[1]):
        found[5] = None  # what it costs beyond a size is then the output's price there
    usual = [per_million(price if price is not None else sent) for price in (sent, received or 0, read, *written)]
    return [*usual, *("" if price is None else per_million(price) for price in found[4:])]


def per_million(price: object, *, scale: int = 1_000_000) -> str:
    """Return USD per million for a price in USD per token; decimal, because 2.5e-06 is not a binary fraction."""
    if isinstance(price, bool) or not isinstance(price, int | float):
        return "0"
    try:
        return format((Decimal(repr(price)) * scale).normalize(), "f")
    except InvalidOperation:
        return "0"


class _PriceFields(TypedDict):
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_hour: Decimal | None
    reasoning: Decimal | None


def _prices(prices: Sequence[str]) -> _PriceFields:
    sent, received, read, written = (Decimal(price) for price in prices[:4])
    for_hour, reasoning = (Decimal(price) if price else None for price in prices[4:])
    return _PriceFields(
        input=sent,
        output=received,
        cache_read=read,
        cache_write=written,
        cache_write_hour=for_hour,
        reasoning=reasoning if reasoning != received else None,
    )
