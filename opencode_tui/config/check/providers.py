"""Checks of providers and models: limits, switches, addresses, times, references to models."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from opencode_tui.config.flags import DEFAULT_OUTPUT_TOKEN_MAX
from opencode_tui.config.notice import Notice
from opencode_tui.config.settings.provider import LimitSettings, ProviderSettings
from opencode_tui.config.settings.settings import Settings
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Origins

_SHORT_MS = 1000
"""Milliseconds below which a limit was probably given in seconds."""

_ENDPOINTS = ("/chat/completions", "/completions", "/messages", "/responses")
"""What requests add to a base address."""


def check_providers(settings: Settings, origins: Origins) -> Iterator[Notice]:
    """Yield a warning for each setting that cannot work."""
    yield from _check_switches(settings, origins)
    for provider_id, provider in (settings.provider or {}).items():
        path: KeyPath = ("provider", provider_id)
        yield from _check_lists(provider, path, origins)
        yield from _check_options(provider, path, origins)
        for model_id, model in (provider.models or {}).items():
            if (model.limit is None and _has_own_address(provider)) or (model.limit and not model.limit.context):
                message = (
                    "limit.context is unknown, so the context cannot be compacted in time; set it to the model's tokens"
                )
                yield origins.notice((*path, "models", model_id), message)
            if model.limit is not None:
                yield from _check_limit(model.limit, (*path, "models", model_id, "limit"), settings, origins)
    yield from _check_references(settings, origins)
    for name, server in (settings.mcp or {}).items():
        url, headers = getattr(server, "url", None), getattr(server, "headers", None)
        if url is not None:
            yield from _check_address(url, ("mcp", name, "url"), origins, has_secret=bool(headers))


def _check_switches(settings: Settings, origins: Origins) -> Iterator[Notice]:
    enabled, disabled = settings.enabled_providers, settings.disabled_providers or []
    for name in dict.fromkeys(enabled or []):
        if name in disabled:
            yield origins.notice(
                ("enabled_providers",),
                f"{origins.quote(('enabled_providers',), name)} is in disabled_providers too and is disabled",
            )
    if enabled is not None and not set(enabled) - set(disabled):
        yield origins.notice(("enabled_providers",), "no provider is left; add one, or remove the key")


def _check_lists(provider: ProviderSettings, path: KeyPath, origins: Origins) -> Iterator[Notice]:
    for name in dict.fromkeys(provider.whitelist or []):
        if name in (provider.blacklist or []):
            yield origins.notice(
                (*path, "whitelist"), f"{origins.quote(path, name)} is in the blacklist too and is not available"
            )
    if provider.whitelist == []:
        yield origins.notice((*path, "whitelist"), "an empty list leaves no model; add one, or remove the key")


def _check_options(provider: ProviderSettings, path: KeyPath, origins: Origins) -> Iterator[Notice]:
    options = provider.options
    has_secret = options is not None and bool(options.apiKey or options.headers)
    if provider.api is not None:
        yield from _check_address(provider.api, (*path, "api"), origins, has_secret=has_secret)
    if options is None:
        return
    here = (*path, "options")
    if options.baseURL is not None:
        yield from _check_address(options.baseURL, (*here, "baseURL"), origins, has_secret=has_secret, is_base=True)
    for key, value in (("timeout", options.timeout), ("chunkTimeout", options.chunkTimeout)):
        if value and value < _SHORT_MS:
            yield origins.notice((*here, key), f"is in milliseconds: {value} ms = {value / 1000:g} s")
    if options.timeout and options.chunkTimeout and options.chunkTimeout > options.timeout:
        yield origins.notice((*here, "chunkTimeout"), "is longer than timeout and has no effect; make it shorter")
    if options.apiKey is not None and options.apiKey.startswith("$"):
        yield origins.notice((*here, "apiKey"), "variables are written {env:NAME} here, not $NAME")


def _check_address(
    url: str, path: KeyPath, origins: Origins, *, has_secret: bool, is_base: bool = False
) -> Iterator[Notice]:
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        yield origins.notice(path, "contains a name or password; use options.apiKey or headers instead")
    if parts.scheme == "http" and has_secret and not is_loopback(parts.hostname or ""):
        yield origins.notice(path, "sends the key unencrypted over http; use https")
    if is_base and parts.path.rstrip("/").endswith(_ENDPOINTS):
        yield origins.notice(path, "ends with a path that requests append; remove it")
    if is_base and (parts.query or parts.fragment):
        yield origins.notice(path, "has a query or fragment, and requests append their path to it; remove it")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine and nothing else."""
    name = host.strip("[]").lower().rstrip(".")
    return name in ("localhost", "::1") or name.endswith(".localhost") or name.startswith("127.")


def _check_limit(limit: LimitSettings, path: KeyPath, settings: Settings, origins: Origins) -> Iterator[Notice]:
    context, output = limit.context or 0, limit.output or 0
    if not context:
        return
    if output > context:
        yield origins.notice((*path, "output"), f"{output} is more than limit.context ({context}); make it smaller")
    elif context - min(output, DEFAULT_OUTPUT_TOKEN_MAX) <= 0:
        yield origins.notice((*path, "output"), f"leaves no space for the request: {output} of {context} tokens")
    if limit.input is not None and limit.input > context:
        yield origins.notice((*path, "input"), f"{limit.input} is more than limit.context ({context}); make it smaller")
    reserved, space = settings.compaction.reserved, limit.input or context
    if reserved >= space:
        message = f"{reserved} exceeds the {space} tokens of {path[1]}/{path[3]}; make it smaller"
        yield origins.notice(("compaction", "reserved"), message)


def _check_references(settings: Settings, origins: Origins) -> Iterator[Notice]:
    """Yield a warning for each reference to a model that cannot be used."""
    named: list[tuple[KeyPath, str | None, str | None]] = [
        (("model",), settings.model, None),
        (("small_model",), settings.small_model, None),
    ]
    named += [(("agent", name, "model"), agent.model, agent.variant) for name, agent in (settings.agent or {}).items()]
    named += [(("command", name, "model"), command.model, None) for name, command in (settings.command or {}).items()]
    for path, model, variant in named:
        if model is None:
            continue
        provider_id, _, model_id = model.partition("/")
        if fault := _model_fault(settings, provider_id, model_id):
            yield origins.notice(path, fault if path[0] not in origins.filled else "this model is not available")
        elif variant is not None:
            entry = ((settings.provider or {}).get(provider_id) or ProviderSettings()).models or {}
            variants = entry[model_id].variants if model_id in entry else None
            if variants and variant not in variants:
                message = f"{model} has no variant {origins.quote(path, variant)}; choose one of {', '.join(variants)}"
                yield origins.notice((*path[:-1], "variant"), message)


def _model_fault(settings: Settings, provider_id: str, model_id: str) -> str:
    """Return why these settings exclude a model; empty when they do not."""
    if provider_id in (settings.disabled_providers or []):
        return f"the provider {provider_id!r} is in disabled_providers"
    if settings.enabled_providers is not None and provider_id not in settings.enabled_providers:
        return f"the provider {provider_id!r} is not in enabled_providers"
    provider = (settings.provider or {}).get(provider_id)
    if provider is None:
        return ""
    if model_id in (provider.blacklist or []):
        return f"the model {model_id!r} is in the blacklist of {provider_id}"
    if provider.whitelist is not None and model_id not in provider.whitelist:
        return f"the model {model_id!r} is not in the whitelist of {provider_id}"
    if provider.npm and _has_own_address(provider) and provider.models and model_id not in provider.models:
        return (
            f"provider.{provider_id}.models has no {model_id!r}; add it, or choose one of {', '.join(provider.models)}"
        )
    return ""


def _has_own_address(provider: ProviderSettings) -> bool:
    options = provider.options
    return provider.api is not None or (options is not None and options.baseURL is not None)
