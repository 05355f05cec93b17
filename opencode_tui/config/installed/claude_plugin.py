"""Plugins and marketplaces of Claude Code: `.claude-plugin/plugin.json` and `.claude-plugin/marketplace.json`.

Source: https://code.claude.com/docs/en/plugins-reference and https://code.claude.com/docs/en/plugin-marketplaces. What this program
has no part for is named in the problems: language servers, output styles, events without a hook of ours.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import Struct

from opencode_tui.config.installed.package import (
    CLAUDE_FOLDER,
    MANIFEST,
    Document,
    Package,
    PackageError,
    Place,
    expand,
    find_skills,
    is_path,
    is_regular,
    read_object,
)
from opencode_tui.config.settings.settings import HookTrigger
from opencode_tui.config.sources.skill_rules import find_fault
from opencode_tui.schema.record import JsonObject

MARKETPLACE = "marketplace.json"
FORM = "Claude Code"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"\$\{(\w+)(:-[^{}]*)?\}")
_OURS = re.compile(r"\{(?:env|file):")
_UNSUPPORTED = ("lspServers", "outputStyles", "channels", "monitors", "themes", "dependencies", "userConfig")
_CONDITIONS = ("if", "once")
"""Fields of a hook that say when it runs; without them it would run more often than it is meant to."""


class Listing(Struct, frozen=True):
    """A plugin of a marketplace: its entry there, and its source, a folder of the marketplace or an address with a commit."""

    name: str
    entry: JsonObject
    folder: str = ""
    address: str = ""
    ref: str = ""
    problem: str = ""
    """Why it cannot be installed."""


def is_marketplace(root: Path) -> bool:
    """Return whether a folder is a marketplace. Blocks."""
    return os.path.lexists(root / CLAUDE_FOLDER / MARKETPLACE)


def read_marketplace(place: Place) -> list[Listing]:
    """Return the plugins of a marketplace. Raises PackageError. Blocks."""
    document = read_object(place, place.root / CLAUDE_FOLDER / MARKETPLACE)
    entries: Any = document.get("plugins")
    if not isinstance(entries, list):
        raise PackageError(f"{CLAUDE_FOLDER}/{MARKETPLACE}: `plugins` must be a list")
    metadata: Any = document.get("metadata", {})
    base: Any = cast("JsonObject", metadata).get("pluginRoot", "") if isinstance(metadata, dict) else ""
    found: dict[str, Listing] = {}
    for entry in cast("list[Any]", entries):
        name: Any = cast("JsonObject", entry).get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and _NAME.fullmatch(name):
            found.setdefault(name, _listing(name, cast("JsonObject", entry), str(base)))
    return list(found.values())


def _listing(name: str, entry: JsonObject, base: str) -> Listing:
    source: Any = entry.get("source")
    if isinstance(source, str):
        is_below = base and not source.startswith("./")
        return Listing(name, entry, folder=os.path.normpath(os.path.join(base, source) if is_below else source))
    given = cast("JsonObject", source) if isinstance(source, dict) else {}
    ref = str(given.get("sha") or given.get("ref") or "")
    match given:
        case {"source": "github", "repo": str(repo)}:
            return Listing(name, entry, address=f"https://github.com/{repo}.git", ref=ref)
        case {"source": "url", "url": str(url)}:
            return Listing(name, entry, address=url, ref=ref)
        case {"source": "git-subdir", "url": str(url), "path": str(path)}:
            return Listing(name, entry, address=url, ref=ref, folder=os.path.normpath(path))
        case _:
            return Listing(name, entry, problem=f"its source `{given.get('source', source)}` is not supported")


def read(place: Place, entry: JsonObject) -> Package:
    """Return the package of a plugin, with what its marketplace says about it. Raises PackageError. Blocks."""
    problems: list[str] = []
    path = place.root / CLAUDE_FOLDER / MANIFEST
    manifest = read_object(place, path) if os.path.lexists(path) else {}
    is_listed = entry.get("strict") is False
    if not manifest and not is_listed and not entry:
        raise PackageError(f"{CLAUDE_FOLDER}/{MANIFEST} is empty")
    name: Any = entry.get("name") or manifest.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PackageError(f"{CLAUDE_FOLDER}/{MANIFEST}: `name` must be a name of letters, digits and hyphens")
    given = _Parts(place, manifest, entry, problems)
    problems += [f"`{key}` is not supported, and ignored" for key in _UNSUPPORTED if key in manifest or key in entry]
    return Package(
        name=name,
        form=FORM,
        place=place,
        version=_text(manifest, entry, "version"),
        description=_text(manifest, entry, "description"),
        license=_text(manifest, entry, "license"),
        skills=given.skills(),
        commands=given.documents("commands"),
        agents=given.documents("agents"),
        servers=given.servers(),
        hooks=given.hooks(),
        problems=problems,
    )


def _text(manifest: JsonObject, entry: JsonObject, key: str) -> str:
    value: Any = manifest.get(key) or entry.get(key) or ""
    return value if isinstance(value, str) else ""


class _Parts:
    """Reads the parts of one plugin: from the usual places, and from those that the manifest and the marketplace name."""

    def __init__(self, place: Place, manifest: JsonObject, entry: JsonObject, problems: list[str]) -> None:
        self._place = place
        self._manifest = manifest
        self._entry = entry
        self._problems = problems

    def _named(self, key: str, usual: str) -> list[Any]:
        """Return what is named for a part; the usual place too, unless the marketplace lists the parts itself."""
        own: list[Any] = []
        for given in (self._manifest.get(key), self._entry.get(key)):
            own += cast("list[Any]", given) if isinstance(given, list) else [given] if given is not None else []
        is_listed = self._entry.get("strict") is False and key in self._entry
        usual_ones = [] if is_listed or not os.path.lexists(self._place.root / usual) else [usual]
        return [*usual_ones, *own]

    def _path(self, written: Any, key: str) -> Path | None:
        """Return a path of the package; None, with a problem, for one that leads out of it or does not exist."""
        if not isinstance(written, str):
            self._problems.append(f"`{key}`: expected a path; it is left out")
            return None
        if not is_path(written):
            self._problems.append(f"`{key}`: {written!a} has a character that no path may have; it is left out")
            return None
        path = Path(os.path.normpath(self._place.root / written))
        is_inside = path == self._place.root or path.is_relative_to(self._place.root)
        if os.path.isabs(written) or not is_inside or not self._place.contains(path):
            self._problems.append(f"`{key}`: {written} leads out of the plugin's folder; it is left out")
            return None
        if not path.exists():
            self._problems.append(f"`{key}`: {written} does not exist")
            return None
        return path

    def skills(self) -> list[Path]:
        found: dict[Path, None] = {}
        for written in self._named("skills", "skills"):
            path = self._path(written, "skills")
            if path is None:
                continue
            if os.path.lexists(path / "SKILL.md"):
                found.update(dict.fromkeys(self._skill(path)))
            else:
                found.update(dict.fromkeys(find_skills(self._place, path, self._problems, is_strict=False)))
        return list(found)

    def _skill(self, folder: Path) -> Iterator[Path]:
        shown = os.path.relpath(folder / "SKILL.md", self._place.root)
        if not self._place.contains(folder / "SKILL.md"):
            self._problems.append(f"{shown} leads out of the plugin's folder; the skill is left out")
        elif (fault := find_fault(folder / "SKILL.md", is_strict=False)) is not None:
            self._problems.append(f"{shown}: {fault}; the skill is left out")
        else:
            yield folder

    def documents(self, key: str) -> list[Document]:
        found: dict[str, Document] = {}
        for written in self._named(key, key):
            path = self._path(written, key)
            if path is None:
                continue
            for name, file in _markdown(path):
                if self._place.contains(file) and is_regular(file):
                    found.setdefault(name, Document(name, file))
                else:
                    shown = os.path.relpath(file, self._place.root)
                    self._problems.append(f"{shown} leads out of the plugin's folder; it is left out")
        return [found[name] for name in sorted(found)]

    def servers(self) -> JsonObject:
        found: JsonObject = {}
        for given in self._objects("mcpServers", ".mcp.json"):
            inner: Any = given.get("mcpServers", given)
            for name, entry in cast("JsonObject", inner).items() if isinstance(inner, dict) else ():
                server = self._server(entry)
                if isinstance(server, str):
                    self._problems.append(f"the MCP server {name}: {server}; it is left out")
                else:
                    found[name] = server
        return found

    def _objects(self, key: str, usual: str) -> Iterator[JsonObject]:
        """Yield the objects of a part, inline or in files, each file once."""
        read: set[str] = set()
        for written in self._named(key, usual):
            if isinstance(written, dict):
                yield cast("JsonObject", written)
                continue
            path = self._path(written, key)
            if path is None or (real := os.path.realpath(path)) in read:
                continue
            read.add(real)
            try:
                yield read_object(self._place, path)
            except PackageError as error:
                self._problems.append(f"{error}; it is left out")

    def _server(self, entry: Any) -> JsonObject | str:
        """Return a server as a setting, or why it is none."""
        given = cast("JsonObject", entry) if isinstance(entry, dict) else {}
        if any(_OURS.search(one) for one in _texts_in(given)):
            return "it contains `{env:` or `{file:`, which this program would replace"
        kind = given.get("type") or ("http" if "url" in given else "stdio")
        match kind, given:
            case "stdio", {"command": str(command)}:
                arguments, own = given.get("args", []), given.get("env", {})
                if not _are_texts(arguments) or not _are_texts(own):
                    return "`args` must be a list of texts, `env` an object of texts"
                words = [self._filled(one) for one in [command, *arguments]]
                environment = {name: self._filled(value) for name, value in own.items()}
                environment |= self._place.claude_variables
                written = given.get("cwd")
                folder = {"cwd": self._filled(written)} if isinstance(written, str) else {}
                return {"type": "local", "command": words, "environment": environment, **folder}
            case "http", {"url": str(url)}:
                headers = given.get("headers", {})
                if not _are_texts(headers):
                    return "`headers` must be an object of texts"
                filled = {name: self._filled(value) for name, value in headers.items()}
                return {"type": "remote", "url": self._filled(url), **({"headers": filled} if filled else {})}
            case _:
                return f"the transport `{kind}` is not supported, or its entry is incomplete"

    def _filled(self, text: str) -> str:
        """Return a text with the plugin's folders, and with `${NAME}` as our `{env:NAME}`."""
        return _VARIABLE.sub(
            lambda match: f"{{env:{match[1]}{match[2] or ''}}}", expand(text, self._place.claude_variables)
        )

    def hooks(self) -> JsonObject:
        found: dict[str, list[JsonObject]] = {}
        for given in self._objects("hooks", "hooks/hooks.json"):
            inner: Any = given.get("hooks", given)
            for event, groups in cast("JsonObject", inner).items() if isinstance(inner, dict) else ():
                if event not in get_args(HookTrigger):
                    self._problems.append(f"hooks of the event {event} are not supported, and ignored")
                    continue
                for group in cast("list[Any]", groups) if isinstance(groups, list) else ():
                    made = self._group(event, group)
                    if made is not None:
                        found.setdefault(event, []).append(made)
        return {event: groups for event, groups in found.items()}

    def _group(self, event: str, group: Any) -> JsonObject | None:
        given = cast("JsonObject", group) if isinstance(group, dict) else {}
        members: Any = given.get("hooks")
        hooks: list[JsonObject] = []
        for member in cast("list[Any]", members) if isinstance(members, list) else ():
            hook = self._hook(cast("JsonObject", member) if isinstance(member, dict) else {})
            if isinstance(hook, str):
                self._problems.append(f"a hook of {event} is left out: {hook}")
            else:
                hooks.append(hook)
        matcher = given.get("matcher")
        if not hooks:
            return None
        return {**({"matcher": matcher} if isinstance(matcher, str) and matcher else {}), "hooks": hooks}

    def _hook(self, given: JsonObject) -> JsonObject | str:
        if given.get("type", "command") != "command":
            return f"its type is `{given['type']}`, supported is `command`"
        if unknown := next((key for key in _CONDITIONS if key in given), None):
            return f"its condition `{unknown}` is not supported"
        command, arguments = given.get("command"), given.get("args", [])
        if not isinstance(command, str) or not command.strip() or not _are_texts(arguments):
            return "it has no command"
        variables = self._place.claude_variables
        text = expand(command, variables)
        if arguments:
            text = shlex.join([text, *(expand(one, variables) for one in arguments)])
        hook: JsonObject = {"type": "command", "command": text, "environment": variables}
        timeout = given.get("timeout")
        if isinstance(timeout, int | float) and 0 < timeout <= 3600:
            hook["timeout"] = timeout
        return hook


def _markdown(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the markdown files of a folder by their names, or the one file."""
    if not path.is_dir():
        if path.suffix == ".md":
            yield path.stem, path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".md") and name.lower() not in ("readme.md", "claude.md"):
                file = Path(folder, name)
                yield str(file.relative_to(path).with_suffix("")), file


def _are_texts(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(one, str) for one in cast("JsonObject", value).values())
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("JsonObject", value).items():
            yield key
            yield from _texts_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts_in(inner)
