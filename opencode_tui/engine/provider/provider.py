"""A provider: its built-in data merged with the settings."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct, field

from opencode_tui.engine.provider.cloud import cloud_arguments, find_cloud
from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.engine.provider.error.plain import (
    find_unsendable,
    missing_address,
    missing_key,
    sendable,
    unsendable_key,
)
from opencode_tui.engine.provider.known_provider import KnownProvider, find_package
from opencode_tui.engine.provider.model_facts import (
    LOCAL_HOST,
    default_models,
    is_of_group,
    sets_reasoning,
    with_facts,
)
from opencode_tui.engine.provider.model_pattern import short_name
from opencode_tui.engine.provider.model_table import ListedModel, ModelTable
from opencode_tui.engine.provider.nearest import version_of
from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Adapter, Cost, LargePrices, Limit, Model
from opencode_tui.schema.provider_formats import COMPATIBLE, row_of
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.setting_defaults import CHUNK_TIMEOUT_MS

if TYPE_CHECKING:
    from opencode_tui.engine.provider.local_servers import LocalServer

FRUITLESS = 6
"""Times `chunkTimeout` after which a response fails that sends bytes and no event, such as comments that keep it open."""

_NEVER_MS = 2**31 - 1


class Endpoint(Struct, frozen=True):
    """A provider's address and credentials; times are milliseconds, `timeout_ms` None means no limit for the whole request.

    `base_url` includes the version (`https://host/v1`); requests go to `base_url` and the path of the format.
    """

    provider_id: str
    base_url: str
    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    timeout_ms: int | None = None
    chunk_timeout_ms: int = CHUNK_TIMEOUT_MS
    proxy: str | None = None
    """A proxy's URL, an empty text to use none; None means the variables of the environment (`network.py`)."""
    key_setting: str = ""
    """The setting that the key is from, which overrides a stored key; empty for a key from elsewhere."""
    cloud: dict[str, str] = field(default_factory=dict[str, str])
    """The arguments of litellm that name a region, a project or a resource of a cloud (`cloud.py`)."""
    may_lack_responses: bool = False
    """Whether it is an address of the settings that was not said to have OpenAI's Responses."""

    @property
    def silence_s(self) -> float | None:
        """Seconds without a byte after which a response fails, None for never."""
        return None if self.chunk_timeout_ms >= _NEVER_MS else self.chunk_timeout_ms / 1000

    @property
    def fruitless_s(self) -> float | None:
        """Seconds without an event after which a response fails that sends other bytes, None for never."""
        return None if self.silence_s is None else self.silence_s * FRUITLESS

    def __repr__(self) -> str:
        return f"Endpoint({self.provider_id!r}, {self.base_url!r})"  # without secrets


_FOREIGN_PACKAGES = ("google", "bedrock", "azure", "vertex", "cohere")
"""Substrings of package names whose format only litellm supports."""

_OF_SETTINGS = "settings:"
"""Before the names in the table of providers that only the settings know."""
_OPENAI = ("openai", "azure")
_CLOUDS = ("amazon-bedrock", "azure")
"""Providers with several formats, by the address."""

_BETA = "anthropic-beta"
_LARGE = 200_000
"""Tokens of a request above which the prices of the setting `context_over_200k` apply."""


class Provider:
    """A provider with its models, its key and its URL."""

    def __init__(
        self,
        provider_id: str,
        known: KnownProvider | None,
        given: JsonObject,
        *,
        table: ModelTable,
        stored_key: Callable[[], str | None],
        environment: Mapping[str, str],
        today: str,
        is_untrusted: bool = False,
    ) -> None:
        """`is_untrusted`: settings of the folder say more of it, which is ignored until the folder is trusted."""
        self.id = provider_id
        self._known = known
        self._given = given
        self._options = as_object(given.get("options"))
        self._own_models = {name: as_object(model) for name, model in as_object(given.get("models")).items()}
        self._table = table
        self._stored_key = stored_key
        self._environment = environment
        self._today = today
        self._is_untrusted = is_untrusted
        self._server: LocalServer | None = None
        self._looked_at = ""

    def use_server(self, server: "LocalServer | None", address: str) -> None:
        """Use the models of the server that was found on this machine for it, if it is the one at its address.

        `address` is where it is looked for, empty where it is not.
        """
        self._server = server if server is not None and self._is_at(server) else None
        self._looked_at = address

    @property
    def is_ready(self) -> bool:
        """Whether it is usable: it can be reached, and has a key or is in the settings and not known to need one."""
        has_access = (
            self._server or self._key() or self._has_own_credentials() or (self._given and not self._needs_key())
        )
        return bool(has_access) and self.has_address

    def summary(self) -> "ProviderSummary":
        """Return a summary without the key."""
        return ProviderSummary(
            id=self.id,
            name=as_text(self._given.get("name")) or (self._known.name if self._known else self.id),
            source=self._source(),
            env=self._variables(),
            is_ready=self.is_ready,
            default_model=self.preferred_model(),
            package=as_text(self._given.get("npm")),
            base_url=self.base_url or "",
        )

    def _source(self) -> Literal["env", "config", "custom", "api"]:
        if self._given:
            return "config"
        if self._stored_key():
            return "api"
        return "env" if any(map(self._environment.get, self._variables())) else "custom"

    def model_ids(self) -> list[str]:
        """Return the IDs of its models: those of the settings first, then those of its server and the table's, not retired."""
        found = self._server.models if self._server else ()
        alive = (name for name, listed in self._listed().items() if not listed.is_retired(self._today))
        return [name for name in dict.fromkeys([*self._own_models, *found, *alive]) if self._is_allowed(name)]

    def models(self) -> list[Model]:
        """Return its models in the same order."""
        return [model for name in self.model_ids() if (model := self.model(name))]

    def model(self, model_id: str) -> Model | None:
        """Return one model, also one that no list has; None when it is disabled, or nothing is known of its provider."""
        if not model_id or not self._is_allowed(model_id):
            return None
        own = self._own_models.get(model_id)
        api_id = as_text((own or {}).get("id")) or model_id
        listed = None if self._is_described(own) else self._listed().get(api_id)
        if own is None and listed is None and not self._accepts_any():
            return None
        return self._with_settings(self._base(model_id, api_id, listed, own or {}), own or {})

    def preferred_model(self) -> str | None:
        """Return the default model, None where the user has to choose.

        It is the first available one of `preferred`, else the newest of the best family that calls tools, else the first that does;
        without a list of models the last one of `preferred`.
        """
        preferred = self._known.preferred if self._known else ()
        known_ids = self.model_ids()
        if found := next((name for name in preferred if name in known_ids), None):
            return found
        if self._known is not None and self._known.is_named_by_customer:
            return next(iter(self._own_models), None)
        listed = self._listed()
        callers = [
            name
            for name in known_ids
            if name in self._own_models or (listed[name].tool_call if name in listed else self._calls_tools(name))
        ]
        if own := next((name for name in callers if name in self._own_models and self._calls_tools(name)), None):
            return own
        if callers and (best := _best(callers)):
            return best
        if not listed and preferred and self._is_allowed(preferred[-1]):
            return preferred[-1]
        return next((name for name in callers if self._calls_tools(name)), None)

    def _calls_tools(self, model_id: str) -> bool:
        return (model := self.model(model_id)) is not None and model.tool_call

    def retirement(self, model_id: str) -> str:
        """Return the day on which a listed model was retired; empty for any other, and for one of the settings."""
        listed = None if model_id in self._own_models else self._listed().get(model_id)
        return listed.retires if listed is not None and listed.is_retired(self._today) else ""

    def endpoint(self) -> Endpoint:
        """Return its URL and credentials. Raises AuthError when a required key is missing.

        Raises ProviderError too where there is no address, or a key or a header that no request can have.
        """
        if not self.has_address:
            raise missing_address(self.id, is_untrusted=self._is_untrusted)
        key = self._key()
        if key is None and self._needs_key() and not self._has_own_credentials():
            raise missing_key(self.id, next(iter(self._variables()), None))
        key_setting = f"provider.{self.id}.options.apiKey" if as_text(self._options.get("apiKey")).strip() else ""
        if key is not None and find_unsendable({"key": key}) is not None:
            raise unsendable_key(self.id, key_setting)
        headers = {name: str(value) for name, value in as_object(self._options.get("headers")).items()}
        total, chunk = self._options.get("timeout"), self._options.get("chunkTimeout")
        return Endpoint(
            provider_id=self.id,
            base_url=self.base_url or "",
            api_key=key,
            headers=sendable(self.id, headers, f"provider.{self.id}.options.headers"),
            timeout_ms=total if isinstance(total, int) and total else None,
            chunk_timeout_ms=_NEVER_MS if chunk is False else chunk or CHUNK_TIMEOUT_MS,
            proxy=self._proxy(),
            cloud=cloud_arguments(self._cloud(), self._options, self._environment, has_key=key is not None),
            key_setting=key_setting,
            may_lack_responses=self._may_lack_responses(),
        )

    @property
    def base_url(self) -> str | None:
        """The URL of the settings, else the built-in one of the provider or of its package."""
        known = self._known or _only_provider(as_text(self._given.get("npm")))
        return self._own_address() or self._looked_at or (known.base_url if known else None)

    @property
    def has_address(self) -> bool:
        """Whether requests can reach it. Without a package in the settings litellm may know it, by variables of its own."""
        package = as_text(self._given.get("npm"))
        if self._known is not None or self.base_url is not None or self._options.get("adapter") == "litellm":
            return True
        if self._is_untrusted and self.id not in self._table.provider_ids():
            return False
        is_foreign = any(part in package for part in _FOREIGN_PACKAGES)
        return not package or is_foreign or self.id in self._table.provider_ids()

    def _is_at(self, server: "LocalServer") -> bool:
        """Return whether a server that was found is the one of the settings, if they name one."""
        own = self._own_address()
        return not own or urlsplit(own).netloc == urlsplit(server.base_url).netloc

    def _cloud(self) -> str:
        """Return litellm's name of the cloud that it is; that of any other provider that is known, empty for all else."""
        return self._known.litellm if self._known else find_cloud(_without_version(as_text(self._given.get("npm"))))

    def _own_address(self) -> str:
        return as_text(self._options.get("baseURL")) or as_text(self._given.get("api"))

    def _proxy(self) -> str | None:
        asked = self._options.get("proxy")
        return "" if asked is False else as_text(asked) or None

    def _key(self) -> str | None:
        """Return the key without the blanks and line breaks around it, with which files and clipboards give it."""
        own = as_text(self._options.get("apiKey")).strip() or (self._stored_key() or "").strip()
        return own or next(filter(None, (self._environment.get(name, "").strip() for name in self._variables())), None)

    def _variables(self) -> list[str]:
        own = [as_text(name) for name in as_list(self._given.get("env"))]
        return own or list(self._known.variables if self._known else ())

    def _needs_key(self) -> bool:
        return self._known is not None and self._known.needs_key and not self._own_address()

    def _has_own_credentials(self) -> bool:
        names = {name.lower() for name in as_object(self._options.get("headers"))}
        return bool(names & {"authorization", "x-api-key", "api-key", "x-goog-api-key"})

    def _listed(self) -> Mapping[str, ListedModel]:
        names = self._tables()
        return self._table.models(names) if names else {}

    def _tables(self) -> tuple[str, ...]:
        """Return its names in the table: one of its own where only the settings know it, and it may have a list."""
        if self._known is not None:
            return self._known.tables
        return (f"{_OF_SETTINGS}{self.id}",) if self._has_own_list() else ()

    def _has_own_list(self) -> bool:
        """Return whether it is a server of the settings, beyond this machine, whose models they do not name."""
        host = (urlsplit(self.base_url or "").hostname or "").strip("[]")
        is_local = host in ("", "localhost", "::1") or host.startswith("127.")
        return self._known is None and not self._own_models and not is_local and not as_text(self._given.get("npm"))

    def list_address(self) -> tuple[str, str] | None:
        """Return its name in the table and the address of its own list of models; None where the table is enough."""
        has_list = self._known.has_list if self._known is not None else self._has_own_list()
        return (
            (self._tables()[0], f"{(self.base_url or '').rstrip('/')}/models") if has_list and self.is_ready else None
        )

    def left_out_by(self, model_id: str) -> str:
        """Return the setting that leaves a model out; empty when none does."""
        if self._is_allowed(model_id):
            return ""
        return f"provider.{self.id}.{'blacklist' if model_id in as_list(self._given.get('blacklist')) else 'whitelist'}"

    def _is_allowed(self, model_id: str) -> bool:
        white, black = self._given.get("whitelist"), as_list(self._given.get("blacklist"))
        return model_id not in black and (white is None or model_id in as_list(white))

    def _accepts_any(self) -> bool:
        """Return whether names count that no list has: those of the settings are complete for a provider that only they know."""
        return self._known is not None or (not self._own_models and self.base_url is not None)

    def _is_described(self, own: JsonObject | None) -> bool:
        """Return whether the settings define a model completely, so that the table need not be read."""
        limit, cost = as_object((own or {}).get("limit")), as_object((own or {}).get("cost"))
        return {"context", "output"} <= limit.keys() and {"input", "output"} <= cost.keys()

    def _base(self, model_id: str, api_id: str, listed: ListedModel | None, own: JsonObject) -> Model:
        adapter = self._adapter(api_id, listed, as_object(own.get("provider")))
        sent = f"{self._litellm_prefix(adapter)}{api_id}"
        local = self._server.models.get(api_id) if self._server else None
        if local is not None:
            model = local.apply(
                Model.trusted(provider_id=self.id, model_id=model_id, name=model_id, adapter=adapter, api_id=sent)
            )
        elif listed is not None:
            model = listed.model(self.id, model_id, adapter=adapter, api_id=sent)
        else:
            model = self._unlisted(model_id, api_id, adapter, sent, own)
        facts = with_facts(model, is_declared=own.get("reasoning") is True, host=self._host())
        model = self._with_own_betas(facts)
        has_key = self._options.get("setCacheKey")
        if has_key is True or (has_key is False and model.parameters.cache == "key"):
            return model.changed(parameters=model.parameters.changed(cache="key" if has_key else None))
        return model

    def _host(self) -> str:
        """Return the host of its address for the rules of models."""
        host = (urlsplit(self.base_url or "").hostname or "").strip("[]")
        return LOCAL_HOST if self._known is None and _is_near(host) else host

    def _unlisted(self, model_id: str, api_id: str, adapter: Adapter, sent: str, own: JsonObject) -> Model:
        """Return a model that no list has; images are sent to it until its provider rejects them.

        That of a provider with a list has the limits of the nearest listed model.
        """
        model = Model.trusted(
            provider_id=self.id, model_id=model_id, name=model_id, adapter=adapter, api_id=sent, attachment=True
        )
        names = self._tables()
        if not names or self._is_described(own) or (self._known is None and not self._listed()):
            return model
        near = self._table.nearest(names, api_id)
        found = {} if near is None else {"limit": near[1].model("", "", adapter=adapter, api_id="").limit}
        name = None if model_id in self._own_models else "" if near is None else near[0]
        return model.changed(**found, reasoning=near is not None and near[1].reasoning, unlisted=name)

    def _with_own_betas(self, model: Model) -> Model:
        """Return the model with the provider's beta features added to those that the model needs; one header has them all."""
        own = {name.lower(): str(value) for name, value in as_object(self._options.get("headers")).items()}
        needed, given = model.headers.get(_BETA), own.get(_BETA)
        return model.changed(headers={**model.headers, _BETA: f"{given},{needed}"}) if needed and given else model

    def _adapter(self, api_id: str, listed: ListedModel | None, own: JsonObject) -> Adapter:
        asked = as_text(self._options.get("adapter"))
        if asked == "litellm":
            return "litellm"
        package = as_text(own.get("npm")) or as_text(self._given.get("npm"))
        if row := row_of(asked):
            return row.name
        if only := _only_provider(package):
            return only.adapter
        is_foreign = any(part in package for part in _FOREIGN_PACKAGES)
        if asked == "direct" or (self._own_address() and not is_foreign):
            return self._direct_adapter(api_id, package, listed)
        if listed is not None and listed.needs_responses and self.id != "openai":
            return "litellm"
        if package and not is_foreign and self.base_url is not None:
            return COMPATIBLE
        if self.id == "openai" and is_of_group(api_id, "chat completions only"):
            return COMPATIBLE
        return self._known.adapter if self._known and not package else "litellm"

    def _direct_adapter(self, api_id: str, package: str, listed: ListedModel | None) -> Adapter:
        """Return the adapter for an address of the settings, or for a provider that is not to go through litellm."""
        needs_responses = is_of_group(api_id, "responses with tools") or (listed is not None and listed.needs_responses)
        format_ = self._known.adapter if self._known and not package else COMPATIBLE
        own = urlsplit(self._own_address())
        match format_:
            case "responses" if own.netloc and not (own.hostname or "").endswith("openai.com"):
                # Gateways have chat completions, not all of them Responses too: `responses_or_chat.py`.
                return "responses" if needs_responses else COMPATIBLE
            case "gemini" if "/openai" in own.path:
                return COMPATIBLE  # Google's own translation of chat completions
            case "litellm" if self._known is not None and self._known.id in _CLOUDS:
                if _has_responses(own) or (self._known.id == "azure" and own.netloc and needs_responses):
                    return "responses"
                # Bedrock's own format, but for the chat completions that it has too, at the path openai/v1.
                is_chat = self._known.id == "azure" or own.path.rstrip("/").endswith("/openai/v1")
                return COMPATIBLE if is_chat or self._options.get("adapter") == "direct" else "litellm"
            case "litellm":
                return COMPATIBLE
            case _:
                return format_

    def _may_lack_responses(self) -> bool:
        """Return whether it is OpenAI or Azure at an address of the settings, in a format that they do not name."""
        own = urlsplit(self._own_address())
        is_named = as_text(self._options.get("adapter")) not in ("", "direct") or as_text(self._given.get("npm"))
        is_openai = self._known is not None and self._known.id in _OPENAI
        return bool(own.netloc) and is_openai and not is_named and not (own.hostname or "").endswith("openai.com")

    def _litellm_prefix(self, adapter: Adapter) -> str:
        """Return litellm's provider prefix for the model; empty for the direct formats."""
        if adapter != "litellm":
            return ""
        if known := self._known or _only_provider(as_text(self._given.get("npm"))):
            return f"{known.litellm}/"
        return "openai/" if self.base_url else f"{self._cloud() or self.id}/"

    def _with_settings(self, model: Model, own: JsonObject) -> Model:
        if not own:
            return model
        fields: dict[str, object] = {
            name: own[name]
            for name in ("name", "tool_call", "reasoning", "attachment", "temperature", "options", "headers")
            if own.get(name) is not None
        }
        if limit := as_object(own.get("limit")):
            fields["limit"] = _merged_limit(model.limit, limit)
        if cost := as_object(own.get("cost")):
            fields["cost"] = _merged_cost(model.cost, cost)
        if own.get("options") is not None or own.get("headers") is not None:
            fields["options"] = {**model.options, **as_object(own.get("options"))}
            fields["headers"] = {**model.headers, **as_object(own.get("headers"))}
        built_in = {} if own.get("reasoning") is False else model.variants
        if built_in is not model.variants or own.get("variants"):
            fields["variants"] = _merged_variants(built_in, as_object(own.get("variants")))
        fields["default_variant"] = self._default_variant(model.changed(**fields), own)
        return model.changed(**fields)

    def _default_variant(self, model: Model, own: JsonObject) -> str | None:
        """Return the variant of requests without one: that of the settings, else the built-in one unless they replace it."""
        if chosen := as_text(own.get("variant")):
            return chosen
        default = model.default_variant
        return None if default not in model.variants or sets_reasoning(as_object(own.get("options"))) else default


def _best(model_ids: Sequence[str]) -> str | None:
    """Return the newest model of the best family; of equal ones that with the shortest name."""
    for pattern in default_models():
        family = [name for name in model_ids if fnmatchcase(short_name(name), pattern)]
        if family:
            return max(family, key=lambda name: (version_of(name), -len(name)))
    return None


def _is_near(host: str) -> bool:
    """Return whether a host is this machine or has a private address or name."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith((".local", ".lan", ".internal"))
    return address.is_private


def _has_responses(address: SplitResult) -> bool:
    """Return whether a cloud has OpenAI's Responses at an address.

    Sources: learn.microsoft.com/azure/foundry/openai/api-version-lifecycle (the path openai/v1),
    docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html (https://bedrock-mantle.REGION.api.aws/v1).
    """
    host = address.hostname or ""
    is_mantle = host.startswith("bedrock-mantle.") and address.path.rstrip("/").endswith("/v1")
    is_azure = host.endswith((".azure.com", ".azure.us", ".azure.cn")) and address.path.rstrip("/").endswith(
        "/openai/v1"
    )
    return is_mantle or is_azure


def _only_provider(package: str) -> KnownProvider | None:
    """Return the provider that a package of the settings only speaks to, in its format and, without an address, at its address."""
    return find_package(_without_version(package))


def _without_version(package: str) -> str:
    """Return the name of an npm package that may be followed by a version, as in `@ai-sdk/google@2`."""
    name, at, _ = package.rpartition("@")
    return name if at and name else package


def _merged_variants(built_in: Mapping[str, JsonObject], own: JsonObject) -> dict[str, JsonObject]:
    """Return the variants with those of the settings, whose options replace single ones; a disabled one is left out."""
    merged: dict[str, JsonObject] = dict(built_in)
    for name, given in own.items():
        one = as_object(given)
        if one.get("disabled") is True:
            merged.pop(name, None)
        else:
            merged[name] = {**merged.get(name, {}), **_variant(one)}
    return merged


def _variant(given: JsonObject) -> JsonObject:
    """Return the options of a variant without `disabled`, which is not sent."""
    return {name: value for name, value in given.items() if name != "disabled"}


def _merged_limit(limit: Limit, own: JsonObject) -> Limit:
    return limit.changed(**{name: own[name] for name in ("context", "input", "output") if own.get(name) is not None})


def _merged_cost(cost: Cost, own: JsonObject) -> Cost:
    merged = cost.changed(**_given_prices(own), is_known=True)
    if over := as_object(own.get("context_over_200k")):
        listed = next((prices for prices in cost.large if prices.above == _LARGE), LargePrices(above=_LARGE))
        return merged.changed(large=[listed.changed(**_given_prices(over))])
    return merged


def _given_prices(own: JsonObject) -> dict[str, object]:
    names = ("input", "output", "cache_read", "cache_write")
    return {name: Decimal(str(own[name])) for name in names if own.get(name) is not None}
