"""Checks of the merged settings: agents, providers and models, references between names, themes, keys, the server.

A value that is wrong by itself is an error of `types.py`. A value that contradicts another, or refers to something that does not
exist, is a warning, because another file may add it; only the lack of a usable agent is an error.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from opencode_tui.config.check.keybinds import check_keybinds
from opencode_tui.config.flags import DEFAULT_OUTPUT_TOKEN_MAX
from opencode_tui.config.notice import Notice
from opencode_tui.config.permission import PERMISSIONS
from opencode_tui.config.settings.provider import LimitSettings, ProviderSettings
from opencode_tui.config.settings.settings import McpLocalSettings, Settings
from opencode_tui.config.sources.definitions import find_definitions
from opencode_tui.config.sources.jsonc import JsoncError, KeyPath, parse
from opencode_tui.config.sources.layer import Origins
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.api.theme import theme_fault
from opencode_tui.schema.suggest import did_you_mean, nearest, suggest
from opencode_tui.schema.tools import permission_of

_BUILT_IN_AGENTS = {
    "build": "primary", "plan": "primary", "general": "subagent", "explore": "subagent",
    "compaction": "primary", "title": "primary", "summary": "primary",
}  # fmt: skip
"""Mode by name. Source: docs/internals/permissions.md#agents."""

KNOWN_FORMATTERS = {
    "air", "biome", "clang-format", "dart", "gleam", "gofmt", "htmlbeautifier", "ktlint", "latexindent", "mix", "nixfmt",
    "ocamlformat", "ormolu", "oxfmt", "pint", "prettier", "rubocop", "ruff", "rustfmt", "shfmt", "standardrb", "terraform",
    "uv", "zig",
}  # fmt: skip
KNOWN_LANGUAGE_SERVERS = {
    "basedpyright", "clangd", "dart", "deno", "elixir-ls", "gopls", "jdtls", "kotlin-ls", "lua-ls", "php intelephense",
    "pylsp", "pyrefly", "pyright", "ruby-lsp", "ruff", "rust", "sourcekit-lsp", "svelte", "terraform", "ty", "typescript",
    "typescript-go", "vue", "zls",
}  # fmt: skip
"""The names that need no command in the settings; the engine has the same (tests/config/test_consistency.py)."""

KNOWN_PROVIDERS = {
    "amazon-bedrock", "anthropic", "azure", "bedrock", "bedrock_converse", "cerebras", "deepseek", "demo", "fireworks-ai",
    "fireworks_ai", "gemini", "github-copilot", "github_copilot", "google", "google-vertex", "groq", "huggingface", "chatgpt",
    "kimi-for-coding", "llamacpp", "lmstudio", "mistral", "moonshot", "moonshotai", "nvidia", "nvidia_nim", "ollama",
    "openai", "openrouter", "together_ai", "togetherai", "vertex_ai", "vllm", "xai", "zai",
}  # fmt: skip
"""The providers that need no address, and the demo. More are in the table of models, so an unknown name alone is no mistake."""

_TYPO = 0.8
"""How similar a name must be to a known provider's to be taken for a mistake."""


def check_consistency(
    settings: Settings, *, origins: Origins, theme_folders: Sequence[Path], has_password: bool
) -> list[Notice]:
    """Return warnings about the settings as a whole; raises ConfigError when no agent can start. Reads theme files."""
    agents = _check_agents(settings, origins)
    return [
        *_check_theme(settings, origins, theme_folders),
        *_check_keybinds(settings, origins),
        *check_providers(settings, origins),
        *_check_permissions(settings, origins, agents),
        *_check_commands(settings, origins, agents),
        *_check_names(settings, origins),
        *_check_server(settings, origins, has_password=has_password),
        *_check_share(settings, origins),
        *_check_program(settings, origins),
        *_check_external_programs(settings, origins),
        *_check_limits(settings, origins),
    ]


def _check_agents(settings: Settings, origins: Origins) -> Set[str]:
    """Return the names of all agents; raises ConfigError when no primary agent is left or the default agent is not one."""
    modes: dict[str, str] = dict(_BUILT_IN_AGENTS)
    hidden = {"compaction", "title", "summary"}
    for name, agent in (settings.agent or {}).items():
        modes[name] = agent.mode or modes.get(name, "all")
        if agent.disable:
            del modes[name]
        if agent.hidden:
            hidden.add(name)
    primary = [name for name, mode in modes.items() if mode != "subagent" and name not in hidden]
    if not primary:
        raise origins.error(("agent",), "no primary agent is left; enable build, plan or one of your own")
    name = settings.default_agent
    if name is None or name in primary:
        return modes.keys()
    if name not in modes:
        reason = "is disabled" if name in (settings.agent or {}) else "does not exist"
    else:
        reason = "is hidden" if name in hidden else "is a subagent"
    shown = origins.quote(("default_agent",), name)
    raise origins.error(("default_agent",), f"the agent {shown} {reason}; choose one of {', '.join(primary)}")


def _check_share(settings: Settings, origins: Origins) -> Iterator[Notice]:
    if settings.share == "auto" and (settings.enterprise is None or settings.enterprise.url is None):
        yield origins.notice(("share",), "has no effect without a share server; set enterprise.url to yours")


def _check_program(settings: Settings, origins: Origins) -> Iterator[Notice]:
    if settings.autoupdate is True:
        yield origins.notice(
            ("autoupdate",), 'this program never updates itself (ignored); "notify" reports newer versions'
        )
    shell = settings.shell
    if shell is not None and os.path.basename(shell) != "bash":
        yield origins.notice(("shell",), "commands run in bash, by whose grammar permissions are decided (ignored)")
    elif shell is not None and os.sep in shell and (not os.path.isabs(shell) or shutil.which(shell) is None):
        yield origins.notice(("shell",), "not the absolute path of a program; the bash on PATH is used")


def _check_external_programs(settings: Settings, origins: Origins) -> Iterator[Notice]:
    """Yield a warning for each formatter and language and MCP server that cannot start."""
    formatters = settings.formatter if isinstance(settings.formatter, dict) else {}
    servers = settings.lsp if isinstance(settings.lsp, dict) else {}
    entries = [
        *(("formatter", name, one, KNOWN_FORMATTERS) for name, one in formatters.items()),
        *(("lsp", name, one, KNOWN_LANGUAGE_SERVERS) for name, one in servers.items()),
    ]
    for section, name, entry, known in entries:
        if entry.disabled or name in known or (entry.command and entry.extensions):
            continue
        missing = " and no ".join(key for key in ("command", "extensions") if not getattr(entry, key))
        guess = "" if entry.command else suggest(name, known)
        yield origins.notice((section, name), f"never runs: it has no {missing}{guess}")
    for name, server in (settings.mcp or {}).items():
        if not isinstance(server, McpLocalSettings) or server.enabled is False or "PATH" in (server.environment or {}):
            continue
        program = server.command[0]
        if os.sep not in program and shutil.which(program) is None:
            shown = origins.quote(("mcp",), program)
            yield origins.notice(
                ("mcp", name, "command"), f"no program {shown} on PATH; install it or correct the name"
            )


def _check_theme(settings: Settings, origins: Origins, folders: Sequence[Path]) -> Iterator[Notice]:
    name = settings.theme
    if name is None:
        return

    if fault := theme_fault(name, _theme_names(folders)):
        reason = "no such theme" if "theme" in origins.filled else fault
        yield origins.notice(("theme",), f"{reason}; the default one is used")
        return
    for path in (folder / f"{name}.json" for folder in folders):
        if path.name == f"{name}.json" and (fault := _theme_file_fault(path)):
            yield Notice(str(path), "", f"{fault}; the default theme is used")


def _theme_names(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        for path in find_definitions(folder, lambda name: name.endswith(".json"), is_flat=True).files:
            yield path.stem


def _check_keybinds(settings: Settings, origins: Origins) -> Iterable[Notice]:
    if not settings.keybinds:
        return ()

    return check_keybinds(settings.keybinds, origins)


def _theme_file_fault(path: Path) -> str:
    """Return why a theme's file cannot be read; empty when it can be read or does not exist."""
    try:
        value = parse(read_text(str(path))).value
    except FileNotFoundError:
        return ""
    except JsoncError as error:
        return f"{error.position}: {error}"
    except UnreadableFileError as error:
        return str(error)
    return "" if isinstance(value, dict) else "expected an object"


def _check_permissions(settings: Settings, origins: Origins, agents: Set[str]) -> Iterator[Notice]:
    maps: list[tuple[KeyPath, Mapping[str, object]]] = [(("permission",), settings.permission or {})]
    maps += [(("agent", name, "permission"), agent.permission or {}) for name, agent in (settings.agent or {}).items()]
    for path, tools in maps:
        for tool, patterns in tools.items():
            if not _is_tool(tool):
                yield origins.notice((*path, tool), f"no tool of this name{suggest(tool, PERMISSIONS)}")
            if tool != "edit" and permission_of(tool) == "edit":
                yield origins.notice(
                    (*path, tool), "never matches: changes of files need the permission edit; name that"
                )
            rows: Mapping[str, object] = cast("dict[str, object]", patterns) if isinstance(patterns, dict) else {}
            for pattern, action in rows.items():
                if fault := _pattern_fault(tool, pattern, agents, allows=action == "allow"):
                    yield origins.notice((*path, tool, pattern), fault)
    experimental = settings.experimental
    for tool in (experimental.primary_tools if experimental else None) or ():
        if not _is_tool(tool):
            message = f"no tool {origins.quote(('experimental',), tool)}{suggest(tool, PERMISSIONS)}"
            yield origins.notice(("experimental", "primary_tools"), message)


def _pattern_fault(tool: str, pattern: str, agents: Set[str], *, allows: bool) -> str:
    """Return why a pattern of a rule never matches; empty when it can."""
    if tool == "bash" and pattern != pattern.strip() and pattern.strip():
        return "never matches: no command starts or ends with a space; remove it"
    is_path = pattern.startswith(("/", "~", "$HOME", "*", "?"))
    if tool == "external_directory" and pattern and not is_path:
        return "never matches: the paths are absolute; start it with / or ~/"
    if tool in _OF_FILES and (fault := _path_fault(tool, pattern, allows=allows)):
        return fault
    if tool == "webfetch" and not _may_be_address(pattern):
        return "never matches: addresses start with https:// or http://; write them so, or start with *"
    if tool == "webfetch" and (host := re.match(_OPEN_HOST, pattern, re.IGNORECASE)):
        return f'also matches other hosts that begin so, as {host.group(1)}.example.org; write "{host.group()}/*"'
    if tool == "task" and pattern and not any(sign in pattern for sign in "*?") and pattern not in agents:
        return f"no agent of this name{suggest(pattern, agents)}"
    return ""


_OF_FILES = ("read", "edit", "list", "external_directory")
_OPEN_HOST = r"https?://([^/*?]*\w)(?=\*)"
_CHOICE = r"\{[^{}]*,[^{}]*\}"


def _path_fault(tool: str, pattern: str, *, allows: bool) -> str:
    """Return why no path matches a pattern, which `*` and `?` alone make a wildcard; empty when one can.

    A rule that denies or asks for a folder holds for what is in it.
    """
    if tool != "external_directory":
        pattern = pattern.removeprefix("./")
        allows_folder = allows
    else:
        allows_folder = True
    if pattern.startswith("./") or "/./" in pattern or "//" in pattern or "/../" in pattern:
        return "never matches: paths have no ./, ../ or // in them; leave it out"
    if pattern.startswith("../") and tool != "edit":
        return "never matches: paths outside the project are absolute; start it with / or ~/"
    if pattern.startswith("${"):
        return "never matches: only ~ and $HOME are replaced; write one of them"
    if re.search(_CHOICE, pattern):
        return "never matches: braces are no wildcard; write a rule for each"
    if allows_folder and len(pattern) > 1 and pattern.endswith("/"):
        return f"matches no file: write {pattern}* for what is in the folder"
    return ""


def _may_be_address(pattern: str) -> bool:
    """Return whether an address can match a pattern."""
    start = re.split(r"[*?]", pattern.lower(), maxsplit=1)[0]
    return any(start.startswith(scheme) or scheme.startswith(start) for scheme in ("https://", "http://"))


def _check_limits(settings: Settings, origins: Origins) -> Iterator[Notice]:
    cost = settings.limits.cost if settings.limits else None
    if cost is not None and cost.session is not None and cost.day is not None and cost.session > cost.day:
        yield origins.notice(("limits", "cost", "session"), f"is never reached: limits.cost.day is {cost.day:g}")
    sandbox = settings.experimental.sandbox if settings.experimental else None
    if sandbox is not None and sandbox.hosts and sandbox.network in ("off", "on"):
        message = f'has no effect with network "{sandbox.network}"; set it to "hosts", or remove the list'
        yield origins.notice(("experimental", "sandbox", "hosts"), message)


def _is_tool(name: str) -> bool:
    """Return whether rules can name it: a built-in tool, a wildcard, or a tool of a server or plugin (with `_`)."""
    return name in PERMISSIONS or any(character in name for character in "*?_")


def _check_commands(settings: Settings, origins: Origins, agents: Set[str]) -> Iterator[Notice]:
    for name, command in (settings.command or {}).items():
        path = ("command", name)
        if not command.template.strip():
            yield origins.notice((*path, "template"), "must not be empty; write a prompt")
        if command.agent is not None and command.agent not in agents:
            is_disabled = command.agent in (settings.agent or {}) or command.agent in _BUILT_IN_AGENTS
            reason = "is disabled" if is_disabled else f"does not exist{suggest(command.agent, agents)}"
            yield origins.notice((*path, "agent"), f"the agent {origins.quote(path, command.agent)} {reason}")


def _check_names(settings: Settings, origins: Origins) -> Iterator[Notice]:
    """Yield a warning for each name that cannot be typed, and each that differs from another one only in case."""
    sections: list[tuple[str, Iterable[str], Iterable[str]]] = [
        ("agent", settings.agent or (), _BUILT_IN_AGENTS),
        ("command", settings.command or (), ()),
        ("provider", settings.provider or (), ()),
        ("mcp", settings.mcp or (), ()),
    ]
    for section, names, built_in in sections:
        seen = {name.casefold(): name for name in built_in}
        for name in names:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                yield origins.notice((section, name), f"differs from {other!r} only in case; rename one of them")
            if section in ("agent", "command") and any(character.isspace() for character in name):
                yield origins.notice((section, name), "a name with spaces cannot be typed after / or @; use a hyphen")


def _check_server(settings: Settings, origins: Origins, *, has_password: bool) -> Iterator[Notice]:
    host = settings.server.hostname if settings.server else None
    if host is not None and not is_loopback(host) and not has_password:
        message = (
            "other machines can reach it, so `opencode-tui serve` refuses it until OPENCODE_SERVER_PASSWORD is set"
        )
        yield origins.notice(("server", "hostname"), message)


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
        is_named_only = not provider.models and provider.id is None and not _has_own_address(provider)
        if is_named_only and (near := _similar_provider(provider_id)):
            yield origins.notice(path, f"no provider of this name, {near}")
        for model_id, model in (provider.models or {}).items():
            if (model.limit is None and _has_own_address(provider)) or (model.limit and not model.limit.context):
                message = (
                    "limit.context is unknown, so the context cannot be compacted in time; set it to the model's tokens"
                )
                yield origins.notice((*path, "models", model_id), message)
            if model.limit is not None:
                yield from _check_limit(model.limit, (*path, "models", model_id, "limit"), settings, origins)
    yield from _check_references(settings, origins)
    timeout = settings.experimental.mcp_timeout if settings.experimental else None
    yield from _check_short(timeout, ("experimental", "mcp_timeout"), origins)
    for name, server in (settings.mcp or {}).items():
        url, headers = getattr(server, "url", None), getattr(server, "headers", None)
        yield from _check_short(getattr(server, "timeout", None), ("mcp", name, "timeout"), origins)
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
    for key, names in (("enabled_providers", enabled), ("disabled_providers", disabled)):
        for index, name in enumerate(names or []):
            if near := _misspelled_provider(settings, name):
                yield origins.notice((key, index), f"no provider of this name, {near}")
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


def _check_short(value: int | bool | None, path: KeyPath, origins: Origins) -> Iterator[Notice]:
    if value and value < _SHORT_MS:
        yield origins.notice(path, f"is in milliseconds: {value} ms = {value / 1000:g} s")


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
        yield from _check_short(value, (*here, key), origins)
    proxy = (options.model_extra or {}).get("proxy")
    if proxy is not None and not isinstance(proxy, bool) and not _is_address(proxy):
        yield origins.notice((*here, "proxy"), "expected true, or an address that begins with http:// or https://")
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


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://")) and bool(urlsplit(value).hostname)


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
    named: list[tuple[KeyPath, str | None]] = [
        (("model",), settings.model),
        (("small_model",), settings.small_model),
    ]
    named += [(("agent", name, "model"), agent.model) for name, agent in (settings.agent or {}).items()]
    named += [(("command", name, "model"), command.model) for name, command in (settings.command or {}).items()]
    for path, model in named:
        if model is None:
            continue
        provider_id, _, model_id = model.partition("/")
        if fault := _model_fault(settings, provider_id, model_id):
            yield origins.notice(path, fault if path[0] not in origins.filled else "this model is not available")


def _model_fault(settings: Settings, provider_id: str, model_id: str) -> str:
    """Return why these settings exclude a model; empty when they do not."""
    if provider_id in (settings.disabled_providers or []):
        return f"the provider {provider_id!r} is in disabled_providers"
    if settings.enabled_providers is not None and provider_id not in settings.enabled_providers:
        return f"the provider {provider_id!r} is not in enabled_providers"
    provider = (settings.provider or {}).get(provider_id)
    if provider is None:
        near = _misspelled_provider(settings, provider_id)
        return f"no provider {provider_id!r}, {near}" if near else ""
    if model_id in (provider.blacklist or []):
        return f"the model {model_id!r} is in the blacklist of {provider_id}"
    if provider.whitelist is not None and model_id not in provider.whitelist:
        return f"the model {model_id!r} is not in the whitelist of {provider_id}"
    if provider.npm and _has_own_address(provider) and provider.models and model_id not in provider.models:
        return (
            f"provider.{provider_id}.models has no {model_id!r}; add it, or choose one of {', '.join(provider.models)}"
        )
    return ""


def _misspelled_provider(settings: Settings, name: str) -> str:
    """Return the same for a name that the settings do not have."""
    return "" if name in (settings.provider or {}) else _similar_provider(name)


def _similar_provider(name: str) -> str:
    """Return the question for the known provider that a name probably stands for; empty when there is none."""
    if name in KNOWN_PROVIDERS:
        return ""
    found = nearest(name, KNOWN_PROVIDERS, similarity=_TYPO)
    return did_you_mean([repr(found[0])]) if found else ""


def _has_own_address(provider: ProviderSettings) -> bool:
    options = provider.options
    return provider.api is not None or (options is not None and options.baseURL is not None)
