"""The settings of a repository that would start a program, send data elsewhere or loosen permissions.

Such settings have no effect until the folder is trusted. Everything else takes effect: texts, themes, limits, and rules that are
stricter. Each field says by its mark whether it needs trust (`settings/marks.py`); a section may say it for all fields without a
mark, so that new ones are gated by default. Here are the settings that are judged by what they contain.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from opencode_tui.config import permission
from opencode_tui.config.settings.fields import field_at, fields_of, sections_in, trust_of
from opencode_tui.config.settings.marks import (
    HIDES,
    LOOSENS,
    READS_ENVIRONMENT,
    READS_OUTSIDE,
    SENDS,
    STARTS,
    WEAKENS,
    Trust,
)
from opencode_tui.config.settings.provider import ModelSettings, ProviderSettings
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import AgentSettings, Settings
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.project_file import PatternSearch, find_objection
from opencode_tui.config.sources.substitute import Placeholder, find_placeholders, resolve_file
from opencode_tui.schema.record import JsonObject

_DENIED_BY_DEFAULT = {
    "plan": ("edit",),
    "general": ("todoread", "todowrite"),
    "explore": ("*",),
    "compaction": ("*",),
    "title": ("*",),
    "summary": ("*",),
}
"""Tools that the rules of built-in agents deny, by agent. Source: docs/internals/permissions.md#agents."""

_LISTED_BY_DEFAULT = ("build", "plan")
"""The built-in agents that the user can choose: a session starts with the first one that is left."""

_NO_DEFAULT: tuple[tuple[str, Any], ...] = (("disable", True), ("hidden", True), ("mode", "subagent"))
"""What keeps a session from starting with an agent, so that it starts with another one."""

_SNIPPET = re.compile(r"!`")
_OUTSIDE_ATTACHMENT = re.compile(r"(?<![\w.])@[~/$]")
_ATTACHMENT = re.compile(r"(?<![\w.])@(\S+)")
_LEADS_OUT = re.compile(r"\.\.(?:/|$)|\.env", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_ENTRY_LIMIT = 5_000
"""Most names that the patterns of one file examine when settings are loaded."""

_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


Condition = Literal["over deny", "over false", "over members", "over a stricter agent", "for a freer agent"]
"""What earlier settings must say for a setting to loosen them (`is_loosening`)."""


class Gated(Struct, frozen=True):
    """A setting that needs trust; with a `condition` only over earlier settings that it would loosen."""

    path: KeyPath
    effect: str
    value: Any
    condition: Condition | None = None


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
        found += rule(value, (key,), place) if rule is not None else _judge_field(Settings, key, value, (key,))
    covered = {gated.path for gated in found if gated.condition is None}
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
    match gated.condition:
        case None:
            return True
        case "over deny":
            return _is_over_deny(gated.path, settings_so_far)
        case "over false":
            return _at(settings_so_far, gated.path) is False
        case "over members":
            return not set(_words(_at(settings_so_far, gated.path))) <= set(_words(gated.value))
        case "over a stricter agent":
            chosen = settings_so_far.get("default_agent")
            is_stricter = chosen is not None and bool(_denied_by(str(chosen), settings_so_far))
            return chosen != gated.value and (is_stricter or _allows(gated.value, settings_so_far))
        case "for a freer agent":
            if gated.path[0] == "command":
                return _allows(gated.value, settings_so_far)
            name = str(gated.path[1])
            others = cast("JsonObject", settings_so_far.get("agent") or {})
            is_listed = name in _LISTED_BY_DEFAULT or name in others
            return is_listed and any(_allows(other, settings_so_far) for other in others if other != name)


def _is_over_deny(path: KeyPath, settings_so_far: JsonObject) -> bool:
    agent, tool = _subject(path)
    denied = [*_denied_tools(settings_so_far.get("permission"))]
    denied += _denied_by(agent, settings_so_far) if agent is not None else []
    return any(permission.covers(tool, other) or permission.covers(other, tool) for other in denied)


def _denied_by(agent: str, settings: JsonObject) -> list[str]:
    """Return the tools that an agent's own rules deny."""
    return [*_DENIED_BY_DEFAULT.get(agent, ()), *_denied_tools(_at(settings, ("agent", agent, "permission")))]


def _allows(agent: Any, settings: JsonObject) -> bool:
    """Return whether the rules of an agent's own allow something."""
    rules = permission.iterate(_at(settings, ("agent", str(agent), "permission")))
    return any(action == "allow" for _, _, action in rules)


def _at(value: Any, path: KeyPath) -> Any:
    for part in path:
        value = cast("JsonObject", value).get(str(part)) if isinstance(value, dict) else None
    return value


def _words(value: Any) -> list[str]:
    return [text for _, text in _texts(value)]


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
    elif (trust := trust_of(field_at(placeholder.path))) is None or not trust.is_text:
        yield Gated(path, HIDES, value)


def _judge_fields(section: type[Section], value: Any, path: KeyPath, inherited: Trust | None = None) -> Iterator[Gated]:
    """Yield the settings of a section that need trust, by the marks of their fields; nothing for what is no object."""
    for key, inner in cast("JsonObject", value).items() if isinstance(value, dict) else ():
        yield from _judge_field(section, key, inner, (*path, key), inherited)


def _judge_field(
    section: type[Section], key: str, value: Any, path: KeyPath, inherited: Trust | None = None
) -> Iterator[Gated]:
    field = fields_of(section).get(key)
    default = section.untrusted or inherited
    marked = trust_of(field)
    inner = [found for found, names in sections_in(field.annotation) if not names] if field and not marked else []
    if inner and isinstance(value, dict):
        yield from _judge_fields(inner[0], value, path, default)
    elif inner and default is not None:
        yield Gated(path, default.effect, value)
    elif (trust := marked or default) is not None:
        yield from _judge(trust, value, path)


def _judge(trust: Trust, value: Any, path: KeyPath) -> Iterator[Gated]:
    if not trust.effect or _is_one_of(value, trust.unless):
        return
    if trust.by_name and isinstance(value, dict):
        for name, entry in cast("JsonObject", value).items():
            if not _is_one_of(entry, trust.by_name):
                yield Gated((*path, name), trust.effect, entry)
    else:
        yield Gated(path, trust.effect, value)


def _is_one_of(value: Any, harmless: tuple[Any, ...]) -> bool:
    """Return whether a value is one of these; 0 and false differ."""
    return any(value is one or (isinstance(value, str | list | dict) and value == one) for one in harmless)


def _provider(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        yield from _judge_fields(ProviderSettings, entry, (*path, name))
        for model, settings in _objects(entry.get("models")):
            yield from _judge_fields(ModelSettings, settings, (*path, name, "models", model))


def _commands(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        template = entry.get("template")
        if isinstance(template, str) and _SNIPPET.search(template):
            yield Gated((*path, name), STARTS, entry)
        elif isinstance(template, str) and _attaches_outside(template):
            yield Gated((*path, name), READS_OUTSIDE, entry)
        elif isinstance(entry.get("agent"), str):
            yield Gated((*path, name, "agent"), LOOSENS, entry["agent"], "for a freer agent")


def _attaches_outside(template: str) -> bool:
    """Return whether a prompt attaches a file that may be outside the repository, or hold secrets."""
    return _OUTSIDE_ATTACHMENT.search(template) is not None or any(
        _LEADS_OUT.search(found[1]) for found in _ATTACHMENT.finditer(template)
    )


def _agents(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    for name, entry in _objects(value):
        yield from _rules(entry.get("permission"), (*path, name, "permission"), place)
        yield from _judge_fields(AgentSettings, entry, (*path, name))
        for key, given in entry.items():
            if (key, given) in _NO_DEFAULT:
                yield Gated((*path, name, key), LOOSENS, given, "for a freer agent")


def _default_agent(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    if isinstance(value, str):
        yield Gated(path, LOOSENS, value, "over a stricter agent")


def _language_servers(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    yield from _judge_field(Settings, "lsp", value, path)
    if isinstance(value, dict):  # in place of false it would start the servers that it does not name
        yield Gated(path, STARTS, value, "over false")


def _experimental(value: Any, path: KeyPath, place: RepositoryFolder) -> Iterator[Gated]:
    yield from _judge_field(Settings, "experimental", value, path)
    if isinstance(value, dict) and "primary_tools" in value:
        yield Gated((*path, "primary_tools"), WEAKENS, cast("JsonObject", value)["primary_tools"], "over members")


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
                yield Gated(rule_path, LOOSENS, action, "over deny")


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
    "command": _commands,
    "provider": _provider,
    "instructions": _instructions,
    "permission": _rules,
    "agent": _agents,
    "mode": _agents,
    "default_agent": _default_agent,
    "lsp": _language_servers,
    "experimental": _experimental,
}
"""`mode` only occurs here with a wrong type; otherwise it was migrated."""
