"""Checks of the merged settings: agents, references between names, themes, keys, the server.

A value that is wrong by itself is an error of `types.py`. A value that contradicts another, or refers to something that does not
exist, is a warning, because another file may add it; only the lack of a usable agent is an error.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from opencode_tui.config.check.providers import check_providers, is_loopback
from opencode_tui.config.notice import Notice
from opencode_tui.config.permission import PERMISSIONS
from opencode_tui.config.settings.settings import Settings
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Origins

_BUILT_IN_AGENTS = {
    "build": "primary", "plan": "primary", "general": "subagent", "explore": "subagent",
    "compaction": "primary", "title": "primary", "summary": "primary",
}  # fmt: skip
"""Mode by name. Source: reference, section 26."""


def check_consistency(
    settings: Settings, *, origins: Origins, theme_folders: Sequence[Path], has_password: bool
) -> list[Notice]:
    """Return warnings about the settings as a whole; raises ConfigError when no agent can start. Reads theme files."""
    agents = _check_agents(settings, origins)
    return [
        *_check_theme(settings, origins, theme_folders),
        *_check_keybinds(settings, origins),
        *check_providers(settings, origins),
        *_check_permissions(settings, origins),
        *_check_commands(settings, origins, agents),
        *_check_names(settings, origins),
        *_check_server(settings, origins, has_password=has_password),
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


def _check_theme(settings: Settings, origins: Origins, folders: Sequence[Path]) -> Iterator[Notice]:
    name = settings.theme
    if name is None:
        return
    from opencode_tui.schema.api.theme import theme_fault

    if fault := theme_fault(name, (path.stem for folder in folders for path in folder.glob("*.json"))):
        reason = "no such theme" if "theme" in origins.filled else fault
        yield origins.notice(("theme",), f"{reason}; the default one is used")
        return
    for path in (folder / f"{name}.json" for folder in folders):
        if path.name == f"{name}.json" and (fault := _theme_file_fault(path)):
            yield Notice(str(path), "", f"{fault}; the default theme is used")


def _check_keybinds(settings: Settings, origins: Origins) -> Iterable[Notice]:
    if not settings.keybinds:
        return ()
    from opencode_tui.config.check.keybinds import check_keybinds

    return check_keybinds(settings.keybinds, origins)


def _theme_file_fault(path: Path) -> str:
    """Return why a theme's file cannot be read; empty when it can be read or does not exist."""
    from opencode_tui.config.sources.jsonc import JsoncError, parse
    from opencode_tui.config.sources.text_file import UnreadableFileError, read_text

    try:
        value = parse(read_text(str(path))).value
    except FileNotFoundError:
        return ""
    except JsoncError as error:
        return f"{error.position}: {error}"
    except UnreadableFileError as error:
        return str(error)
    return "" if isinstance(value, dict) else "expected an object"


def _check_permissions(settings: Settings, origins: Origins) -> Iterator[Notice]:
    maps: list[tuple[KeyPath, Iterable[str]]] = [(("permission",), settings.permission or ())]
    maps += [(("agent", name, "permission"), agent.permission or ()) for name, agent in (settings.agent or {}).items()]
    for path, tools in maps:
        for tool in tools:
            if not _is_tool(tool):
                yield origins.notice((*path, tool), f"no tool of this name{_did_you_mean(tool, PERMISSIONS)}")
    experimental = settings.experimental
    for tool in (experimental.primary_tools if experimental else None) or ():
        if not _is_tool(tool):
            message = f"no tool {origins.quote(('experimental',), tool)}{_did_you_mean(tool, PERMISSIONS)}"
            yield origins.notice(("experimental", "primary_tools"), message)


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
            reason = "is disabled" if is_disabled else f"does not exist{_did_you_mean(command.agent, agents)}"
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


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    import difflib  # only for a mistake

    found = difflib.get_close_matches(name.lower(), sorted(known), 1)
    return f", did you mean {found[0]!r}?" if found else ""
