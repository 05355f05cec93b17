"""What only shows when all settings are together: agents that can begin, models without a limit, themes, keys, names of tools."""

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from opencode_tui.config.check.keybinds import ACTIONS, UNSUPPORTED_ACTIONS, find_captured_keys
from opencode_tui.config.notice import Notice, describe
from opencode_tui.config.permission import PERMISSIONS
from opencode_tui.config.settings.provider import ProviderSettings
from opencode_tui.config.settings.settings import Settings
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.theme import theme_fault

_BUILT_IN_AGENTS = {
    "build": "primary", "plan": "primary", "general": "subagent", "explore": "subagent",
    "compaction": "primary", "title": "primary", "summary": "primary",
}  # fmt: skip
"""Mode by name. Source: reference, section 26."""


def check_consistency(
    settings: Settings, *, sources: Mapping[str, str], theme_folders: Sequence[Path], filled: Set[str]
) -> list[Notice]:
    """Return warnings about the settings as a whole; raises ConfigError when no agent could begin. May look at the disk.

    `filled` are the top-level keys into which a variable or a file was put: their values are never quoted.
    """
    _check_agents(settings, sources, filled)
    return [
        *_check_theme(settings, sources, theme_folders, filled),
        *_check_keybinds(settings, sources),
        *_check_limits(settings, sources),
        *_check_permissions(settings, sources),
    ]


def _fail(sources: Mapping[str, str], key: str, message: str) -> ConfigError:
    return ConfigError(describe(sources.get(key, "settings"), None, key, message))


def _check_agents(settings: Settings, sources: Mapping[str, str], filled: Set[str]) -> None:
    """At least one agent must be there to begin with, and the default one must be among them."""
    modes: dict[str, str] = dict(_BUILT_IN_AGENTS)
    hidden = {"compaction", "title", "summary"}
    for name, agent in (settings.agent or {}).items():
        modes[name] = agent.mode or modes.get(name, "all")
        if agent.disable:
            del modes[name]
        if agent.hidden:
            hidden.add(name)
    able = [name for name, mode in modes.items() if mode != "subagent" and name not in hidden]
    if not able:
        raise _fail(
            sources, "agent", "no agent is left to begin with; enable build, plan or a primary agent of your own"
        )
    name = settings.default_agent
    if name is None or name in able:
        return
    if name not in modes:
        reason = "is disabled" if name in (settings.agent or {}) else "does not exist"
    else:
        reason = "is hidden" if name in hidden else "is a subagent"
    shown = "" if "default_agent" in filled else f" {name!r}"
    raise _fail(sources, "default_agent", f"the agent{shown} {reason}; choose one of {', '.join(able)}")


def _check_theme(
    settings: Settings, sources: Mapping[str, str], folders: Sequence[Path], filled: Set[str]
) -> Iterator[Notice]:
    name = settings.theme
    if name is not None and (
        fault := theme_fault(name, (path.stem for folder in folders for path in folder.glob("*.json")))
    ):
        told = "there is no such theme" if "theme" in filled else fault
        yield Notice(sources["theme"], "theme", f"{told}; the default one is used")


def _check_keybinds(settings: Settings, sources: Mapping[str, str]) -> Iterator[Notice]:
    for action, binding in (settings.keybinds or {}).items():
        key = f"keybinds.{action}"
        source = sources.get(key, sources.get("keybinds", ""))
        if action not in ACTIONS:
            yield Notice(source, key, f"unknown action{_nearest(action, ACTIONS)}; it has no effect")
            continue
        if action in UNSUPPORTED_ACTIONS and binding.strip().lower() != "none":
            yield Notice(source, key, "there is no such act in this program; it has no effect")
            continue
        for captured in find_captured_keys(action, binding):
            yield Notice(source, key, f"takes the key {captured} away from typing or stopping; choose another one")


def _check_limits(settings: Settings, sources: Mapping[str, str]) -> Iterator[Notice]:
    for provider_id, provider in (settings.provider or {}).items():
        is_custom = _has_own_address(provider)
        for model_id, model in (provider.models or {}).items():
            if (model.limit is None and is_custom) or (model.limit is not None and not model.limit.context):
                key = f"provider.{provider_id}.models.{model_id}"
                source = sources.get(key, sources.get("provider", ""))
                message = "limit.context is not known, so the context is never compacted in time; set it to the model's tokens"
                yield Notice(source, key, message)


def _has_own_address(provider: ProviderSettings) -> bool:
    options = provider.options
    return provider.api is not None or (options is not None and options.baseURL is not None)


def _check_permissions(settings: Settings, sources: Mapping[str, str]) -> Iterator[Notice]:
    maps = [("permission", settings.permission)]
    maps += [(f"agent.{name}.permission", agent.permission) for name, agent in (settings.agent or {}).items()]
    for key, rules in maps:
        for tool in rules or {}:
            if tool not in PERMISSIONS and not any(character in tool for character in "*?_"):
                source = sources.get(f"{key}.{tool}", sources.get(key.split(".")[0], ""))
                yield Notice(source, f"{key}.{tool}", f"no tool of this name{_nearest(tool, PERMISSIONS)}")


def _nearest(name: str, known: frozenset[str]) -> str:
    import difflib  # only for a mistake

    found = difflib.get_close_matches(name.lower(), sorted(known), 1)
    return f", did you mean {found[0]!r}?" if found else ""
