"""Reads settings in the form of OpenCode 2 as the same settings in the form of OpenCode 1, which is the one of this program.

A file may have both forms: where both set the same, the older one wins, and of rules the older ones come last. What decides
is the text itself: `permissions` is a list, `mcp` has `servers`. Names that only the older form has stay as they are. The forms
are those of the preview's own schema; what only the documentation of the release has is marked so. Guard:
`tests/config/test_opencode2.py`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config import permission
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.newer_form import AGENT_KEYS, KEYS, entries, has_servers
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject

Fail = Callable[[KeyPath, str], ConfigError]

EXAMPLE = '{"action": "edit", "resource": "*", "effect": "ask"}'

_RENAMED = {"shell": "bash", "subagent": "task"}
"""Actions of the release, by its documentation; the preview has the older names, which count as well."""

_READS = "read"
_LISTS = "list"
"""OpenCode 2 lists folders with its tool for reading."""

_HOME_ACTIONS = ("external_directory", "read", "edit")
"""Actions for whose resources OpenCode 2 replaces a leading `~`."""

_PLACEHOLDERS = ("{env:", "{file:")
_PACKAGES = "aisdk:"
_NATIVE = "@opencode/ai/providers/"
"""Starts of the names of packages in the release; the end of a native one is that of the package for OpenCode 1."""

_UPDATES: Mapping[str, bool | str] = {"disable": False, "notify": "notify", "auto": True}


class Converted(Struct, frozen=True):
    """Settings in the older form, where their values are written, by path, and what has no effect here."""

    value: JsonObject
    written: dict[KeyPath, KeyPath]
    notes: list[tuple[KeyPath, str]]


def convert(value: JsonObject, fail: Fail) -> Converted:
    """Return the settings in the older form. Raises the error that `fail` returns for a value of the wrong form."""
    reader = _Reader(value, fail)
    reader.read()
    return Converted(reader.value, reader.written, reader.notes)


class _Reader:
    def __init__(self, value: JsonObject, fail: Fail) -> None:
        self._given = value
        self._fail = fail
        self.value = {key: inner for key, inner in value.items() if key not in KEYS}
        self.written: dict[KeyPath, KeyPath] = {}
        self.notes: list[tuple[KeyPath, str]] = []

    def read(self) -> None:
        if "permissions" in self._given:
            rules = self._rules(self._given["permissions"], ("permissions",), ("permission",))
            self.value["permission"] = _over(rules, self._given.get("permission"))
        for section in ("agent", "mode"):
            for name, entry in entries(self._given.get(section)).items():
                if isinstance(entry, dict) and not AGENT_KEYS.isdisjoint(cast("JsonObject", entry)):
                    agent = self._agent(cast("JsonObject", entry), (section, name), (section, name))
                    self.value[section] = {**self.value[section], name: agent}
        self._section("agents", "agent", self._agent)
        self._section("providers", "provider", self._provider)
        self._section("commands", "command", self._command)
        if "snapshots" in self._given:
            self._put("snapshot", self._given["snapshots"], ("snapshots",))
        if "plugins" in self._given:
            self._put("plugin", list(self._plugins(self._given["plugins"])), ("plugins",))
        if "update" in self._given:
            self._update(self._given["update"])
        if isinstance(self._given.get("skills"), list):
            self._skills(cast("list[Any]", self._given["skills"]))
        if has_servers(self._given.get("mcp")):
            self._mcp(cast("JsonObject", self._given["mcp"]))
        if isinstance(self._given.get("compaction"), dict):
            self._compaction(cast("JsonObject", self._given["compaction"]))

    def _put(self, key: str, value: Any, path: KeyPath) -> None:
        """Set a value under its older name, unless the file has that too."""
        if key in self.value and (key,) != path:
            self.notes.append((path, f"`{key}` in the same file overrides it; keep one of them"))
            return
        self.value[key] = value
        self.written[key,] = path

    def _section(self, newer: str, older: str, read: Callable[[JsonObject, KeyPath, KeyPath], JsonObject]) -> None:
        if newer not in self._given:
            return
        given = self._object(self._given[newer], (newer,))
        own = entries(self.value.get(older))
        found: JsonObject = {}
        for name, entry in given.items():
            self.written[older, name] = (newer, name)
            found[name] = read(self._object(entry, (newer, name)), (newer, name), (older, name))
            if name in own:
                self.notes.append(((newer, name), f"`{older}.{name}` in the same file overrides it; keep one of them"))
        self.value[older] = {**found, **own}

    def _object(self, value: Any, path: KeyPath, known: Collection[str] = ()) -> JsonObject:
        """Return an object; with `known` keys, others are reported."""
        if not isinstance(value, dict):
            raise self._fail(path, "expected an object")
        found = cast("JsonObject", value)
        self.notes += [((*path, key), "unknown key (ignored)") for key in found if known and key not in known]
        return found

    def _flag(self, value: Any, path: KeyPath) -> bool:
        if not isinstance(value, bool):
            raise self._fail(path, "expected true or false")
        return value

    def _rules(self, value: Any, path: KeyPath, older: KeyPath) -> JsonObject:
        """Return a list of rules as a table that decides alike, or more strictly."""
        if not isinstance(value, list):
            raise self._fail(path, f"expected a list of rules such as {EXAMPLE}")
        table: JsonObject = {}
        places: JsonObject = {}
        for index, rule in enumerate(cast("list[Any]", value)):
            action, resource, effect = self._rule(rule, (*path, index))
            pattern = _pattern_of(action, resource)
            for tool in _tools_of(action, effect):
                try:
                    table = permission.merge(table, {tool: {pattern: effect}}, is_exact=True)
                except ValueError as error:
                    raise self._fail((*path, index, "action"), str(error)) from None
                places = permission.merge(places, {tool: {pattern: index}})
        for tool, pattern, index in permission.iterate(places):
            self.written[(*older, tool)] = self.written[(*older, tool, pattern)] = (*path, index)
        return table

    def _rule(self, rule: Any, path: KeyPath) -> tuple[str, str, str]:
        found = self._object(rule, path, ("action", "resource", "effect"))
        for name in ("action", "resource", "effect"):
            text = found.get(name)
            if name not in found:
                raise self._fail(path, f"`{name}` is missing; write a rule such as {EXAMPLE}")
            if not isinstance(text, str):
                raise self._fail((*path, name), "expected a string")
            if text.startswith(_PLACEHOLDERS) or any(start in text for start in _PLACEHOLDERS):
                raise self._fail((*path, name), "placeholders are not replaced in rules; write the value")
        if not permission.is_action(found["effect"]):
            raise self._fail((*path, "effect"), 'expected "allow", "ask" or "deny"')
        return found["action"], found["resource"], found["effect"]

    def _agent(self, entry: JsonObject, path: KeyPath, older: KeyPath) -> JsonObject:
        names = {"system": "prompt", "disabled": "disable"}
        result: JsonObject = {}
        for key, value in entry.items():
            if key == "permissions":
                rules = self._rules(value, (*path, key), (*older, "permission"))
                result["permission"] = _over(rules, entry.get("permission"))
            elif key == "request":
                self._request(value, (*path, key), older, result)
            elif key == "model" and isinstance(value, str) and "#" in value:
                result["model"], _, variant = value.rpartition("#")
                result.setdefault("variant", variant)
            elif key not in ("permission", "variant") or key not in result:
                result[names.get(key, key)] = value
                self.written[(*older, names.get(key, key))] = (*path, key)
        if "variant" in entry:
            result["variant"] = entry["variant"]
        return result

    def _request(self, value: Any, path: KeyPath, older: KeyPath, agent: JsonObject) -> None:
        request = self._object(value, path, ("headers", "body"))
        if request.get("headers"):
            self.notes.append(((*path, "headers"), "an agent has no headers here (ignored); set those of its provider"))
        body = self._object(request.get("body", {}), (*path, "body"))
        for name in ("temperature", "top_p"):
            if name in body:
                agent.setdefault(name, body[name])
        rest = {name: inner for name, inner in body.items() if name not in ("temperature", "top_p")}
        if rest:
            agent["options"] = rest
            self.written[(*older, "options")] = (*path, "body")

    def _command(self, entry: JsonObject, path: KeyPath, older: KeyPath) -> JsonObject:
        result = dict(entry)
        if "subagent" in result:
            result.setdefault("subtask", result.pop("subagent"))
            self.written[(*older, "subtask")] = (*path, "subagent")
        model = result.get("model")
        if isinstance(model, str) and "#" in model:
            result["model"] = model.rpartition("#")[0]
        if result.pop("variant", None) is not None or result.get("model") != model:
            self.notes.append(((*path, "variant"), "a command has no variant here (ignored); set that of its agent"))
        return result

    def _plugins(self, value: Any) -> Iterator[str]:
        if not isinstance(value, list):
            raise self._fail(("plugins",), "expected a list")
        for index, entry in enumerate(cast("list[Any]", value)):
            at = ("plugins", index)
            name: Any = entry
            if isinstance(entry, dict):
                plugin = self._object(cast("JsonObject", entry), at, ("package", "options"))
                name = plugin.get("package")
                if plugin.get("options"):
                    self.notes.append(((*at, "options"), "plugins have no options here (ignored)"))
            if not isinstance(name, str):
                raise self._fail(at, 'expected the path of a Python file, or {"package": path}')
            if name.startswith("-"):
                self.notes.append((at, "no plugin of OpenCode is loaded here (ignored)"))
            else:
                yield name

    def _update(self, value: Any) -> None:
        if not isinstance(value, str) or value not in _UPDATES:
            raise self._fail(("update",), 'expected "disable", "notify" or "auto"')
        self._put("autoupdate", _UPDATES[value], ("update",))

    def _skills(self, value: list[Any]) -> None:
        found: dict[str, list[Any]] = {}
        for index, entry in enumerate(value):
            if not isinstance(entry, str):
                raise self._fail(("skills", index), "expected a folder or an address")
            kind = "urls" if entry.startswith(("http://", "https://")) else "paths"
            found.setdefault(kind, []).append(entry)
            self.written["skills", kind] = ("skills",)
            self.written["skills", kind, len(found[kind]) - 1] = ("skills", index)
        self.value["skills"] = found

    def _compaction(self, value: JsonObject) -> None:
        result = {key: inner for key, inner in value.items() if key not in ("keep", "buffer")}
        if "buffer" in value and "reserved" not in result:
            result["reserved"] = value["buffer"]
            self.written["compaction", "reserved"] = ("compaction", "buffer")
        if "keep" in value:
            self.notes.append((("compaction", "keep"), "not supported yet (ignored)"))
        self.value["compaction"] = result

    def _mcp(self, value: JsonObject) -> None:
        servers = self._object(value.get("servers", {}), ("mcp", "servers"))
        found: JsonObject = {}
        for name, entry in servers.items():
            at = ("mcp", "servers", name)
            self.written["mcp", name] = at
            found[name] = self._server(self._object(entry, at), at, ("mcp", name))
        own = {name: entry for name, entry in value.items() if name not in ("servers", "timeout")}
        self.value["mcp"] = {**found, **own}
        if "timeout" in value:
            wait = self._wait(value["timeout"], ("mcp", "timeout"))
            experimental = entries(self.value.get("experimental"))
            if wait is not None and "mcp_timeout" not in experimental:
                self.value["experimental"] = {**experimental, "mcp_timeout": wait[0]}
                self.written["experimental", "mcp_timeout"] = wait[1]

    def _wait(self, value: Any, path: KeyPath) -> tuple[Any, KeyPath] | None:
        """Return how long an answer is waited for, and where that is written; the time of the start has its own default."""
        if not isinstance(value, dict):
            return value, path
        known = ("request", "execution", "startup", "catalog")
        waits = self._object(cast("JsonObject", value), path, known)
        return next(((waits[name], (*path, name)) for name in known if name in waits), None)

    def _server(self, entry: JsonObject, path: KeyPath, older: KeyPath) -> JsonObject:
        result = {key: inner for key, inner in entry.items() if key not in ("disabled", "timeout", "oauth")}
        if "disabled" in entry:
            result.setdefault("enabled", not self._flag(entry["disabled"], (*path, "disabled")))
            self.written[(*older, "enabled")] = (*path, "disabled")
        if "timeout" in entry and (wait := self._wait(entry["timeout"], (*path, "timeout"))) is not None:
            result["timeout"] = wait[0]
            self.written[(*older, "timeout")] = wait[1]
        if "oauth" in entry:
            result["oauth"] = self._oauth(entry["oauth"], (*path, "oauth"), (*older, "oauth"))
        return result

    def _oauth(self, value: Any, path: KeyPath, older: KeyPath) -> Any:
        if not isinstance(value, dict):
            return value
        names = {"client_id": "clientId", "client_secret": "clientSecret", "callback_port": "callbackPort"}
        result: JsonObject = {}
        for key, inner in cast("JsonObject", value).items():
            result[names.get(key, key)] = inner
            self.written[(*older, names.get(key, key))] = (*path, key)
        return result

    def _provider(self, entry: JsonObject, path: KeyPath, older: KeyPath) -> JsonObject:
        newer = ("api", "request", "package", "settings", "headers", "body", "models")
        result = {key: inner for key, inner in entry.items() if key not in newer}
        given = entry.get("api", {})
        if isinstance(given, str):  # the older form
            result["api"], given = given, {}
        api = self._object(given, (*path, "api"))
        package = entry.get("package", api.get("package"))
        if isinstance(package, str):
            result.setdefault("npm", _package_of(package))
            self.written[(*older, "npm")] = (*path, "package") if "package" in entry else (*path, "api", "package")
        options: JsonObject = {**entries(api.get("settings")), **entries(entry.get("settings"))}
        if "url" in api:
            options["baseURL"] = api["url"]
            self.written[(*older, "options", "baseURL")] = (*path, "api", "url")
        request = self._object(entry.get("request", {}), (*path, "request"), ("headers", "body"))
        headers = {**entries(request.get("headers")), **entries(entry.get("headers"))}
        if headers:
            options["headers"] = headers
        options |= {**entries(request.get("body")), **entries(entry.get("body"))}
        if options:
            result["options"] = {**options, **entries(entry.get("options"))}
            places = [(*path, *keys) for keys in (("settings",), ("api", "settings"), ("api", "url"), ("request",))]
            self.written[(*older, "options")] = next((one for one in places if _has(entry, one[len(path) :])), path)
        if "models" in entry:
            models = self._object(entry["models"], (*path, "models"))
            result["models"] = {
                name: self._model(self._object(model, (*path, "models", name)), (*path, "models", name))
                for name, model in models.items()
            }
        return result

    def _model(self, entry: JsonObject, path: KeyPath) -> JsonObject:
        newer = (
            "api",
            "capabilities",
            "request",
            "variants",
            "cost",
            "disabled",
            "modelID",
            "settings",
            "headers",
            "body",
        )
        result = {key: inner for key, inner in entry.items() if key not in newer}
        api = self._object(entry.get("api", {}), (*path, "api"))
        name = entry.get("modelID", api.get("id"))
        if name is not None:
            result.setdefault("id", name)
        if "package" in api:
            result["provider"] = {"npm": api["package"], **({"api": api["url"]} if "url" in api else {})}
        abilities = self._object(entry.get("capabilities", {}), (*path, "capabilities"))
        if "tools" in abilities:
            result.setdefault("tool_call", abilities["tools"])
        kinds = {key: abilities[key] for key in ("input", "output") if key in abilities}
        if kinds:
            result.setdefault("modalities", kinds)
        request = self._object(entry.get("request", {}), (*path, "request"))
        body = {**entries(request.get("body")), **entries(entry.get("settings")), **entries(entry.get("body"))}
        headers = {**entries(request.get("headers")), **entries(entry.get("headers"))}
        result |= ({"options": body} if body else {}) | ({"headers": headers} if headers else {})
        if "variants" in entry:
            result["variants"] = self._variants(entry["variants"], (*path, "variants"))
        if "cost" in entry:
            result["cost"] = _cost(entry["cost"])
        if entry.get("disabled") is True:
            self.notes.append(((*path, "disabled"), "not supported here (ignored); write its name in `blacklist`"))
        return result

    def _variants(self, value: Any, path: KeyPath) -> Any:
        if not isinstance(value, list):
            return value  # the older form
        found: JsonObject = {}
        for index, one in enumerate(cast("list[Any]", value)):
            variant = self._object(one, (*path, index), ("id", "headers", "body", "settings"))
            if not isinstance(variant.get("id"), str):
                raise self._fail((*path, index), "`id` is missing; write the name of the variant")
            found[variant["id"]] = {**entries(variant.get("settings")), **entries(variant.get("body"))}
        return found


def _has(value: Any, path: KeyPath) -> bool:
    for key in path:
        value = entries(value).get(cast("str", key))
    return bool(value)


def _over(rules: JsonObject, older: Any) -> Any:
    """Return the rules with those of the older form behind them; a wrong value of that is left for the validation."""
    if older is None:
        return rules
    own = permission.normalize(older)
    return permission.merge(rules, cast("JsonObject", own)) if isinstance(own, dict) else own


def _tools_of(action: str, effect: str) -> Iterator[str]:
    """Yield the names here of what an action matches; a wildcard allows nothing by the names of the release alone."""
    if action in _RENAMED:
        yield _RENAMED[action]
        return
    yield action
    if permission.is_wildcard(action) and effect != "allow":
        for newer, older in _RENAMED.items():
            if permission.covers(action, newer) and not permission.covers(action, older):
                yield older
    if permission.covers(action, _READS) and not permission.covers(action, _LISTS):
        yield _LISTS


def _pattern_of(action: str, resource: str) -> str:
    """Return the pattern of a resource: slashes are alike there, and `~` is the home folder only for files."""
    pattern = resource.replace("\\", "/")
    is_home = pattern.partition("/")[0] in ("~", "$HOME")
    return f"\\{pattern}" if is_home and action not in _HOME_ACTIONS else pattern


def _package_of(package: str) -> str:
    if package.startswith(_NATIVE):
        return f"@ai-sdk/{package.removeprefix(_NATIVE)}"
    return package.removeprefix(_PACKAGES)


def _cost(value: Any) -> Any:
    """Return prices: of a list the one without a tier, and the one of more than 200,000 tokens."""
    given = cast("list[Any]", value) if isinstance(value, list) else [value]
    result: JsonObject = {}
    for one in (entries(entry) for entry in given):
        cache = entries(one.get("cache"))
        prices = {name: one[name] for name in ("input", "output") if name in one}
        prices |= {f"cache_{name}": cache[name] for name in ("read", "write") if name in cache}
        tier = entries(one.get("tier"))
        if not tier:
            result |= prices
        elif tier.get("size") == 200_000:
            result["context_over_200k"] = prices
    return result
