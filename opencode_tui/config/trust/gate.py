"""The settings of a repository that would start a program, send data elsewhere or loosen permissions.

Such settings have no effect until the folder is trusted. Everything else takes effect: texts, themes, limits, and rules that are
stricter. For large sections the harmless keys are listed, not the dangerous ones, so that new keys are gated by default.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config import permission
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.project_file import PatternSearch, find_objection
from opencode_tui.config.sources.substitute import Placeholder, find_placeholders, resolve_file
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import tool_with

STARTS = "starts programs"
SENDS = "sends data elsewhere"
LOOSENS = "relaxes permissions"
READS_ENVIRONMENT = "reads a variable of your environment"
READS_OUTSIDE = "reads files outside the repository, or its secrets"
ADDS_SKILLS = "adds skills from elsewhere"
OPENS = "changes who can reach the server"
WEAKENS = "disables a protection"
REBINDS = "changes your keys, such as those that answer questions"
HIDES = "takes its value from a file"

_PROVIDER_HARMLESS = {"name", "whitelist", "blacklist", "models"}
_MODEL_HARMLESS = {
    "name", "family", "release_date", "status", "experimental", "limit", "tool_call", "reasoning", "attachment",
    "temperature", "interleaved", "modalities",
}  # fmt: skip
_AGENT_HARMLESS = {
    "name", "description", "mode", "model", "variant", "prompt", "temperature", "top_p", "steps", "maxSteps", "disable",
    "hidden", "color", "permission", "tools",
}  # fmt: skip
_EXPERIMENTAL_HARMLESS = {"disable_paste_summary", "batch_tool", "primary_tools", "mcp_timeout", "mcp_background"}
_SANDBOX_TIGHTER: dict[str, Any] = {
    "mode": "read-only",
    "network": "off",
    "auto": "inside",
    "writable": [],
    "readable": [],
    "hosts": [],
    "env": [],
}
"""Values of `experimental.sandbox` that never allow more than others."""

_DENIED_BY_DEFAULT = {
    "plan": ("edit",),
    "general": ("todoread", "todowrite"),
    "explore": ("*",),
    "compaction": ("*",),
    "title": ("*",),
    "summary": ("*",),
}
"""Tools that the rules of built-in agents deny, by agent. Source: docs/internals/permissions.md#agents."""

_PLAIN_TEXTS = ("username", "theme", "model", "small_model", "default_agent")
_PLAIN_TEXTS_INSIDE = (("agent", "prompt"), ("agent", "description"), ("agent", "model"), ("command", "description"))

_SNIPPET = re.compile(r"!`")
_OUTSIDE_ATTACHMENT = re.compile(r"(?<![\w.])@(?:[~/$]|\S*\.\.(?:/|$)|\S*\.env)", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_ENTRY_LIMIT = 5_000
"""Most names that the patterns of one file look at when settings are loaded."""

_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


class Gated(Struct, frozen=True):
    """A setting that needs trust. `only_over_deny`: a rule that asks; it loosens only where an earlier rule denies."""

    path: KeyPath
    effect: str
    value: Any
    only_over_deny: bool = False


class RepositoryFolder(Struct, frozen=True):
    """The base folder of a source of a repository, the real worktree, and the user's home folder."""

    folder: Path
    worktree: Path
    home: Path

    def is_inside(self, name: str) -> bool:
        """Return whether a path is, with links resolved, in the worktree and not a file with secrets. Blocks."""
        if "\0" in name or name.startswith("$"):
            return False
        return find_objection(resolve_file(name, self.folder, self.home), self.worktree) is None


def find_gated(settings: JsonObject, place: RepositoryFolder, *, has_placeholders: bool = True) -> list[Gated]:
    """Return everything in a source's (migrated) settings that needs trust, in the order of the file."""
    found: list[Gated] = []
    for key, value in settings.items():
        rule = _RULES.get(key)
        if rule is not None:
            found += rule(value, (key,), place)
    covered = {gated.path for gated in found}
    for placeholder in find_placeholders(settings) if has_placeholders else ():
        path = placeholder.path
        if not any(path[:length] in covered for length in range(1, len(path) + 1)):
            found += _judge_placeholder(placeholder, settings, place)
    return found


def find_linked(settings: JsonObject, source: str, place: RepositoryFolder) -> list[Gated]:
    """Return all settings of a file that is a link to a file outside the repository, none for other files."""
    if place.is_inside(source):
        return []
    found: list[Gated] = []
    for section, value in settings.items():
        if isinstance(value, dict) and value:
            found += [Gated((section, name), READS_OUTSIDE, inner) for name, inner in cast("JsonObject", value).items()]
        else:
            found.append(Gated((section,), READS_OUTSIDE, value))
    return found


def is_loosening(gated: Gated, settings_so_far: JsonObject) -> bool:
    """Return whether a gated setting loosens the settings before it."""
    if not gated.only_over_deny:
        return True
    agent, tool = _subject(gated.path)
    denied = [*_DENIED_BY_DEFAULT.get(agent or "", ()), *_denied_tools(settings_so_far.get("permission"))]
    agents = settings_so_far.get("agent")
    if agent is not None and isinstance(agents, dict):
        own = cast("JsonObject", agents).get(agent, {})
        denied += _denied_tools(cast("JsonObject", own).get("permission"))
    return any(permission.covers(tool, other) or permission.covers(other, tool) for other in denied)


def _subject(path: KeyPath) -> tuple[str | None, str]:
    """Return (agent or None, tool) of a rule's path."""
    if path[0] == "agent":
        return str(path[1]), str(path[3])
    return None, str(path[1])


def _denied_tools(setting: Any) -> list[str]:
    return [tool for tool, _, action in permission.iterate(setting) if action == "deny"]


def _judge_placeholder(placeholder: Placeholder, settings: Any, place: RepositoryFolder) -> Iterator[Gated]:
    path = placeholder.path
    if path[0] == "command" and path[2:] == ("template",):
        path = path[:2]  # a command needs its template
    value = settings
    for part in path:
        value = value[part]
    if placeholder.kind == "env":
        yield Gated(path, READS_ENVIRONMENT, value)
    elif not place.is_inside(placeholder.name):
        yield Gated(path, READS_OUTSIDE, value)
    elif not _is_plain_text(placeholder.path):
        yield Gated(path, HIDES, value)


def _is_plain_text(path: KeyPath) -> bool:
    """Return whether a setting is harmless with any value, so that it may come from a file of the repository."""
    if len(path) == 3:
        return (path[0], path[2]) in _PLAIN_TEXTS_INSIDE
    return len(path) == 1 and path[0] in _PLAIN_TEXTS


def _whole(effect: str) -> Callable[[Any, KeyPath, RepositoryFolder], Iterator[Gated]]:
    """Return a rule that gates a key as a whole."""

    def rule(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
        if value not in ({}, []):
            yield Gated(path, effect, value)

    return rule


def _unless(harmless: tuple[Any, ...], effect: str) -> Callable[[Any, KeyPath, RepositoryFolder], Iterator[Gated]]:
    """Return a rule that gates a key unless it has one of these values."""

    def rule(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
        if not any(value is one or (isinstance(value, str) and value == one) for one in harmless):
            yield Gated(path, effect, value)

    return rule


def _programs(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    """Yield all MCP servers, language servers or formatters, except disabled ones."""
    if value is False:
        return
    if not isinstance(value, dict):
        yield Gated(path, STARTS, value)
        return
    for name, entry in cast("JsonObject", value).items():
        if entry not in ({"enabled": False}, {"disabled": True}):
            yield Gated((*path, name), STARTS, entry)


def _provider(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        for key, inner in entry.items():
            if key not in _PROVIDER_HARMLESS:
                yield Gated((*path, name, key), SENDS, inner)
        for model, settings in _objects(entry.get("models")):
            for key, inner in settings.items():
                if key == "cost":
                    yield Gated((*path, name, "models", model, key), WEAKENS, inner)  # a budget counts by it
                elif key not in _MODEL_HARMLESS:
                    yield Gated((*path, name, "models", model, key), SENDS, inner)


def _commands(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        template = entry.get("template")
        if isinstance(template, str) and _SNIPPET.search(template):
            yield Gated((*path, name), STARTS, entry)
        elif isinstance(template, str) and _OUTSIDE_ATTACHMENT.search(template):
            yield Gated((*path, name), READS_OUTSIDE, entry)


def _agents(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        yield from _rules(entry.get("permission"), (*path, name, "permission"), place)
        for key, inner in entry.items():
            if key not in _AGENT_HARMLESS:
                yield Gated((*path, name, key), SENDS, inner)


def _rules(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    if not isinstance(value, dict):
        return
    for tool, rules in cast("JsonObject", value).items():
        actions = cast("JsonObject", rules).items() if isinstance(rules, dict) else [(None, rules)]
        for pattern, action in actions:
            rule_path = (*path, tool) if pattern is None else (*path, tool, pattern)
            if action == "allow":
                yield Gated(rule_path, LOOSENS, action)
            elif action == "ask":
                yield Gated(rule_path, LOOSENS, action, only_over_deny=True)


def _instructions(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    search = PatternSearch(place.worktree, entries=_ENTRY_LIMIT)
    for index, entry in _texts(value):
        if _ADDRESS.match(entry):
            yield Gated((*path, index), SENDS, entry)
        elif not any(find_placeholders(entry)) and not _names_project_files(entry, place, search):
            yield Gated((*path, index), READS_OUTSIDE, entry)  # one with a placeholder is gated by that


def _names_project_files(pattern: str, place: RepositoryFolder, search: PatternSearch) -> bool:
    """Return whether all that a pattern names now are files of the project without secrets; False where this takes long.

    A pattern counts from every folder of the project, so `..` must stay inside from its top. What it names later is judged when
    instructions are read, and so are patterns with `**`, which would list the whole project at every start.
    """
    from_top = RepositoryFolder(place.worktree, place.worktree, place.home)
    if not place.is_inside(pattern) or not from_top.is_inside(pattern):
        return False
    path = Path(pattern)
    if "**" in path.parts or not _GLOB.search(pattern):
        return True
    if path.is_absolute() or path.parts[0] == "~":
        return False
    found = [match for folder in (place.folder, place.worktree) for match in search.find(folder, path.parts)]
    return search.is_complete and all(from_top.is_inside(str(match)) for match in found)


def _skills(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for key, entry in cast("JsonObject", value).items() if isinstance(value, dict) else ():
        yield Gated((*path, key), ADDS_SKILLS, entry)


def _experimental(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for key, entry in cast("JsonObject", value).items() if isinstance(value, dict) else ():
        if key == "sandbox":
            yield from _sandbox(entry, (*path, key))
        elif key == "approvals":
            yield from () if entry == "ask" else (Gated((*path, key), WEAKENS, entry),)
        elif key in ("lsp_diagnostics", tool_with("search")):
            yield from () if entry == "off" else (Gated((*path, key), WEAKENS, entry),)
        elif key not in _EXPERIMENTAL_HARMLESS and entry is not False:
            yield Gated((*path, key), SENDS if key == "openTelemetry" else WEAKENS, entry)


def _models(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    """Yield what makes this program ask another address, or ask at all."""
    for key, entry in cast("JsonObject", value).items() if isinstance(value, dict) else ():
        if (key, entry) != ("refresh", False):
            yield Gated((*path, key), SENDS, entry)


def _tui(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    """Yield the command of the status line."""
    line = cast("JsonObject", value).get("status_line") if isinstance(value, dict) else None
    command = cast("JsonObject", line).get("command") if isinstance(line, dict) else None
    if command is not None:
        yield Gated((*path, "status_line", "command"), STARTS, command)


def _sandbox(value: Any, path: KeyPath) -> Iterator[Gated]:
    """Yield what does not tighten the sandbox."""
    if not isinstance(value, dict):
        yield Gated(path, WEAKENS, value)
        return
    for key, entry in cast("JsonObject", value).items():
        if key != "hidden" and entry != _SANDBOX_TIGHTER.get(key):
            yield Gated((*path, key), WEAKENS, entry)


def _objects(value: Any) -> list[tuple[str, JsonObject]]:
    if not isinstance(value, dict):
        return []
    items = cast("JsonObject", value).items()
    return [(name, cast("JsonObject", entry)) for name, entry in items if isinstance(entry, dict)]


def _texts(value: Any) -> list[tuple[int, str]]:
    if not isinstance(value, list):
        return []
    return [(index, entry) for index, entry in enumerate(cast("list[Any]", value)) if isinstance(entry, str)]


_RULES: dict[str, Callable[[Any, KeyPath, RepositoryFolder], Iterator[Gated]]] = {
    "plugin": _whole(STARTS),
    "hooks": _whole(STARTS),
    "tui": _tui,
    "shell": _whole(STARTS),
    "mcp": _programs,
    "lsp": _programs,
    "formatter": _programs,
    "command": _commands,
    "server": _whole(OPENS),
    "enterprise": _whole(SENDS),
    "provider": _provider,
    "models": _models,
    "disabled_providers": _unless((), SENDS),
    "local_models": _unless((False,), SENDS),
    "enabled_providers": _unless((), SENDS),
    "share": _unless(("disabled",), SENDS),
    "autoshare": _unless((False,), SENDS),
    "autoupdate": _unless((False, "notify"), STARTS),
    "snapshot": _unless((True,), WEAKENS),
    "trash": _whole(WEAKENS),
    "limits": _whole(WEAKENS),
    "skills": _skills,
    "experimental": _experimental,
    "instructions": _instructions,
    "permission": _rules,
    "agent": _agents,
    "mode": _agents,
    "tools": _whole(LOOSENS),
    "keybinds": _whole(REBINDS),
}
"""`tools`, `mode` and `autoshare` only occur here with wrong types; otherwise they were migrated.

An empty list of disabled providers counts too: it replaces the user's.
"""
