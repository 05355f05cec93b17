"""The available models: the built-in table merged with the providers and models of the settings.

Settings override the table; a provider that only the settings define needs no table. The settings are plain data in OpenCode's
format; absent values are None or missing.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from opencode_tui.config.auth import CHATGPT
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.provider.chatgpt.catalog import ChatGptProvider
from opencode_tui.engine.provider.chatgpt.service import find_service
from opencode_tui.engine.provider.decode.response import as_text
from opencode_tui.engine.provider.demo import DEMO_MODEL
from opencode_tui.engine.provider.known_provider import KNOWN, find_known, is_local, through_litellm
from opencode_tui.engine.provider.model_facts import small_models
from opencode_tui.engine.provider.model_pattern import name_prefix
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.provider import Endpoint, Provider
from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.error import AuthError, ModelNotFoundError, ProviderError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import Model, ModelRef, parse_model_ref
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.suggest import nearest

if TYPE_CHECKING:
    from opencode_tui.engine.provider.local_servers import LocalServers

DEMO = ModelRef.trusted(provider_id="demo", model_id="tour")
_SUGGESTIONS = 3


class CatalogSettings(Struct, frozen=True):
    """The settings of models with OpenCode's keys and format, and the last used model."""

    provider: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    enabled_providers: Sequence[str] | None = None
    disabled_providers: Sequence[str] = ()
    model: str | None = None
    small_model: str | None = None
    last_used: ModelRef | None = None
    ignored: Sequence[str] = ()
    """The keys of settings of the folder that are ignored until it is trusted, as `provider.mine.options`."""

    def is_untrusted(self, provider_id: str) -> bool:
        """Return whether something of a provider is ignored."""
        return any(f"{key}.".startswith(f"provider.{provider_id}.") for key in self.ignored)


class DefaultModel(Struct, frozen=True):
    """The default model and the source of the choice."""

    ref: ModelRef
    source: Literal["settings", "last used", "key", "demo"]
    instead_of: ModelRef | None = None
    """The retired model that it replaces."""


class Catalog(Struct, frozen=True):
    """Finds models and the endpoints of their providers."""

    settings: CatalogSettings
    table: ModelTable
    keys: Callable[[str], str | None]
    environment: Mapping[str, str]
    clock: Clock = system_clock
    local: "Lazy[LocalServers] | None" = None
    """The servers of models on this machine, in the engine of a folder."""
    plan: Callable[[], JsonObject] = dict[str, object]
    """The stored entry of the sign-in with ChatGPT, empty without one."""

    def resolve(self, ref: ModelRef) -> Model:
        """Return a model. Raises ModelNotFoundError with similar names when it is unknown or its provider is disabled."""
        if ref == DEMO:
            return DEMO_MODEL
        provider = self._provider(ref.provider_id)
        model = provider.model(ref.model_id) if provider else None
        if model is None:
            raise self._unknown(ref)
        return model

    def can_ask(self, ref: ModelRef) -> bool:
        """Return whether a model is there: it is known, and its provider has a key if it needs one."""
        try:
            self.resolve(ref)
            return ref == DEMO or bool(self.endpoint(ref.provider_id))
        except (ModelNotFoundError, AuthError, ProviderError):
            return False

    def or_default(self, ref: ModelRef) -> ModelRef:
        """Return a model of an older session, or the default where it is not there any more and a default is."""
        if self.can_ask(ref):
            return ref
        default = self.default_model()
        return ref if default == DEMO else default

    async def look_at_local(self, ref: ModelRef) -> None:
        """Ask a server of models on this machine what its models are, before one of them is used, until its context is certain."""
        if (
            is_local(ref.provider_id)
            and self.local is not None
            and ref.provider_id not in self.settings.disabled_providers
        ):
            await self.local.get().look_for(ref.provider_id, self._sent_name(ref))

    def describe_small_context(self, ref: ModelRef) -> str:
        """Return that the server of a model on this machine gives it a small context, and how to raise it; empty if it does not."""
        if not is_local(ref.provider_id) or self.local is None:
            return ""
        return self.local.get().advice(ref.provider_id, self._sent_name(ref))

    def _sent_name(self, ref: ModelRef) -> str:
        """Return the name of a model at its server."""
        own = as_object(
            as_object(as_object(self.settings.provider.get(ref.provider_id)).get("models")).get(ref.model_id)
        )
        return as_text(own.get("id")) or ref.model_id

    def describe_too_large(self, model: Model, size: int) -> str:
        """Return how to raise the context of a server on this machine that is too small for a request.

        Empty for another model, and for a context that is small for any request (`describe_small_context`).
        """
        made = self.local.made if self.local is not None else None
        if made is None or self.describe_small_context(model.ref):
            return ""
        return made.describe_too_large(model.provider_id, self._sent_name(model.ref), size)

    def models(self) -> list[Model]:
        """Return the models of every usable provider (`is_ready`), and the demo."""
        ready = (provider for provider in self._providers() if provider.is_ready)
        return [model for provider in ready for model in provider.models()] + [DEMO_MODEL]

    def all_models(self) -> list[Model]:
        """Return the models of every provider, with or without a key."""
        return [model for provider in self._providers() for model in provider.models()] + [DEMO_MODEL]

    def providers(self, *, only_ready: bool = False) -> "list[ProviderSummary]":
        """Return every enabled provider, or only the usable ones; the demo is the last."""
        found = [provider.summary() for provider in self._providers() if provider.is_ready or not only_ready]
        demo = ProviderSummary(id=DEMO.provider_id, name="Demo", is_ready=True, default_model=DEMO.model_id)
        return [*found, demo]

    def without_address(self) -> list[str]:
        """Return the enabled providers of the settings that no request can reach. Blocks for the table in case of doubt.

        What is ignored until the folder is trusted has a line of its own.
        """
        settings = self.settings
        given = (self._provider(name) for name in settings.provider if not settings.is_untrusted(name))
        return [provider.id for provider in given if provider is not None and not provider.has_address]

    def is_ready(self, provider_id: str) -> bool:
        """Return whether a provider is usable: it has a key, or it needs none and the settings define it."""
        provider = self._provider(provider_id)
        return provider is not None and provider.is_ready

    def endpoint(self, provider_id: str) -> Endpoint:
        """Return the endpoint of a provider with its key. Raises AuthError when a required key is missing."""
        provider = self._provider(provider_id)
        if provider is None:
            raise self._unknown(ModelRef(provider_id=provider_id, model_id=""))
        return provider.endpoint()

    def describe_access(self, provider_id: str) -> str:
        """Return what keeps requests from being sent to a provider, empty if nothing does. Raises ModelNotFoundError."""
        try:
            if provider_id != DEMO.provider_id:
                self.endpoint(provider_id)
        except ProviderError as error:
            return str(error)
        return ""

    def own_lists(self) -> list[tuple[str, str, Endpoint]]:
        """Return the names in the table, the addresses, and the endpoints of the usable providers with a list of their own."""
        found = ((provider, provider.list_address()) for provider in self._providers())
        lists: list[tuple[str, str, Endpoint]] = []
        for provider, place in found:
            with suppress(ProviderError):  # a key that cannot be sent; the first request to the provider says so
                lists += [] if place is None else [(*place, provider.endpoint())]
        return lists

    def default_model(self) -> ModelRef:
        """Return the default model; see `choose_default`."""
        return self.choose_default().ref

    def choose_default(self) -> DefaultModel:
        """Return the model of the settings, else the last used one, else that of the first provider with a key, else the demo.

        One that its provider has retired is replaced by the provider's default. Raises ModelNotFoundError when the model of the
        settings does not exist.
        """
        if self.settings.model:
            return self._not_retired(DefaultModel(self._named(self.settings.model), "settings"))
        last = self.settings.last_used
        if last is not None and self._is_usable(last):
            return self._not_retired(DefaultModel(last, "last used"))
        for provider in self._providers():
            if provider.is_ready and (model_id := provider.preferred_model()):
                return DefaultModel(ModelRef(provider_id=provider.id, model_id=model_id), "key")
        return DefaultModel(DEMO, "demo")

    def describe_retired_default(self) -> str:
        """Return which retired model of the settings, or last used, is replaced by which; empty when none is."""
        named = parse_model_ref(self.settings.model) if self.settings.model else self.settings.last_used
        provider = self._provider(named.provider_id) if named else None
        if named is None or provider is None or not (day := provider.retirement(named.model_id)):
            return ""
        chosen = self._not_retired(DefaultModel(named, "settings" if self.settings.model else "last used"))
        if chosen.instead_of is None:
            return f"{named} was retired on {day} by its provider's list; choose another one with the setting model"
        return f"{named} was retired on {day}; {chosen.ref} is the default instead (setting model, or /models)"

    def _not_retired(self, default: DefaultModel) -> DefaultModel:
        ref = default.ref
        provider = self._provider(ref.provider_id)
        if provider is None or not provider.retirement(ref.model_id):
            return default
        other = provider.preferred_model()
        if other is None:
            return default
        return DefaultModel(ModelRef(provider_id=ref.provider_id, model_id=other), default.source, ref)

    def trial_model(self, provider_id: str) -> Model:
        """Return the model with which a provider is tried: the default one if it is of it. Raises ModelNotFoundError."""
        chosen = self.default_model()
        if chosen.provider_id == provider_id:
            return self.resolve(chosen)
        provider = self._provider(provider_id)
        model_id = provider.preferred_model() if provider else None
        return self.resolve(ModelRef(provider_id=provider_id, model_id=model_id or "*"))

    def small_model(self, ref: ModelRef) -> ModelRef:
        """Return the model for titles with `ref`: that of the settings, else a cheap one of the same provider, else `ref`."""
        if self.settings.small_model:
            return self._named(self.settings.small_model)
        provider = self._provider(ref.provider_id)
        known = find_known(ref.provider_id)
        if provider is None or (known is not None and known.is_named_by_customer):
            return ref
        listed = provider.model_ids()
        near = [model_id for model_id in listed if name_prefix(model_id) == name_prefix(ref.model_id)]
        for names in (near, [] if known is not None and known.is_regional else listed):
            for part in small_models():
                found = next((model_id for model_id in names if part in model_id), None)
                if found is not None:
                    return ModelRef(provider_id=ref.provider_id, model_id=found)
        return ref

    def _named(self, text: str) -> ModelRef:
        ref = parse_model_ref(text)
        if ref is None:
            provider, _, model = text.partition("/")
            raise self._unknown(ModelRef(provider_id=provider, model_id=model))
        return self.resolve(ref).ref

    def _is_usable(self, ref: ModelRef) -> bool:
        try:
            self.resolve(ref)
        except ModelNotFoundError:
            return False
        return ref == DEMO or self.is_ready(ref.provider_id)

    def _provider(self, provider_id: str) -> Provider | None:
        """Return an enabled provider, None when it is unknown."""
        settings = self.settings
        if provider_id in settings.disabled_providers:
            return None
        if settings.enabled_providers is not None and provider_id not in settings.enabled_providers:
            return None
        given = settings.provider.get(provider_id)
        if provider_id == CHATGPT and (entry := self.plan()):
            return self._chatgpt(entry, given or {})
        known = find_known(as_text((given or {}).get("id")) or provider_id)
        if given is None and known is None:
            if provider_id not in self.table.provider_ids():
                return None
            known = through_litellm(provider_id)
        provider = Provider(
            provider_id,
            known,
            given or {},
            table=self.table,
            stored_key=lambda: self.keys(provider_id),
            environment=self.environment,
            today=self._today(),
            is_untrusted=settings.is_untrusted(provider_id),
        )
        made = self.local.made if self.local is not None else None
        if made is not None:
            provider.use_server(made.find(provider_id), made.address(provider_id))
        return provider

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.clock() / 1000))

    def _chatgpt(self, entry: JsonObject, given: JsonObject) -> Provider:
        found = ChatGptProvider(
            CHATGPT,
            None,
            given,
            table=self.table,
            stored_key=lambda: self.keys(CHATGPT),
            environment=self.environment,
            today=self._today(),
        )
        found.entry, found.service = entry, find_service(self.environment)
        return found

    def _providers(self) -> Iterator[Provider]:
        signed_in = [CHATGPT] if self.plan() else []
        for provider_id in dict.fromkeys([*self.settings.provider, *(known.id for known in KNOWN), *signed_in]):
            if provider := self._provider(provider_id):
                yield provider

    def _unknown(self, ref: ModelRef) -> ModelNotFoundError:
        """Return the error for a model that cannot be asked: with the setting that leaves it out, else with similar names."""
        settings, provider = self.settings, self._provider(ref.provider_id)
        name = ref.model_id or "*"
        setting = provider.left_out_by(ref.model_id) if provider is not None and ref.model_id else ""
        if ref.provider_id in settings.disabled_providers:
            setting = "disabled_providers"
        elif settings.enabled_providers is not None and ref.provider_id not in settings.enabled_providers:
            setting = "enabled_providers" if self._is_known(ref.provider_id) else ""
        if setting:
            return ModelNotFoundError(ref.provider_id, name, [], f"the setting {setting} leaves it out")
        near = self._suggestions(ref)
        if settings.is_untrusted(ref.provider_id) and not near:
            why = "what the settings of this folder say of it is ignored: review them with `opencode-tui trust`"
            return ModelNotFoundError(ref.provider_id, name, [], why)
        if provider is not None and ref.model_id:
            return ModelNotFoundError(ref.provider_id, name, near, f"add it to provider.{ref.provider_id}.models")
        if near or provider is not None:
            return ModelNotFoundError(ref.provider_id, name, near)
        where = f"provider.{ref.provider_id}.options.baseURL"
        return ModelNotFoundError(
            ref.provider_id, name, [], f"see `opencode-tui models --all`, or set {where} for a server of your own"
        )

    def _is_known(self, provider_id: str) -> bool:
        return find_known(provider_id) is not None or provider_id in self.table.provider_ids()

    def _suggestions(self, ref: ModelRef) -> list[str]:
        """Return up to three similar names: of the same provider, else of all."""
        provider = self._provider(ref.provider_id)
        if provider is not None:
            near = nearest(ref.model_id, provider.model_ids(), _SUGGESTIONS, similarity=0.4)
            if near or ref.model_id:
                return [f"{ref.provider_id}/{model_id}" for model_id in near or provider.model_ids()[:_SUGGESTIONS]]
        wanted = f"{ref.provider_id}/{ref.model_id}".rstrip("/")
        names = [f"{found.id}/{model_id}" for found in self._providers() for model_id in found.model_ids()]
        same = [name for name in names if ref.model_id and name.partition("/")[2] == ref.model_id]
        near = nearest(wanted, names, _SUGGESTIONS, similarity=0.7)
        return (same + [name for name in near if name not in same])[:_SUGGESTIONS]
