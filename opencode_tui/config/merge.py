"""Merging of layers of settings: objects are merged, lists replaced, except for those of fields that are `JOINED`.

Permission rules keep their order (`config/permission.py`). The source that set a value last is recorded for every value, and for
every permission rule the source that contains it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from opencode_tui.config import permission
from opencode_tui.config.notice import dotted
from opencode_tui.config.settings.fields import field_at, has_mark
from opencode_tui.config.settings.marks import Mark
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.schema.record import JsonObject


class Merged:
    """Settings merged so far, and where each value came from (dotted key to source)."""

    def __init__(self) -> None:
        self.value: JsonObject = {}
        self.sources: dict[str, str] = {}
        self._rules: dict[KeyPath, JsonObject] = {}
        """Rules by the path of their table: as in the settings, with the source instead of the action."""

    def add(self, value: JsonObject, source: str) -> None:
        """Merge the settings of one source over the earlier ones."""
        self.value = _merge(self.value, value, ())
        self._record_sources(value, source, ())
        for path in _rule_tables(value):
            self._add_rules(path, _at(value, path), source)

    def put_rules_last(self, rules: Any, source: str) -> None:
        """Append rules to those of each agent, which would otherwise override them."""
        agents = self.value.get("agent")
        if not isinstance(agents, dict) or not isinstance(rules, dict):
            return
        stricter: JsonObject = {}
        for name, agent in cast("dict[str, JsonObject]", agents).items():
            own = agent.get("permission")
            stricter[name] = {**agent, "permission": permission.merge(own, cast("JsonObject", rules))} if own else agent
            if own:
                self._add_rules(("agent", name, "permission"), rules, source)
        self.value = {**self.value, "agent": stricter}

    def put_first(self, section: str, key: str, members: list[Any], source: str) -> None:
        """Put members before those of a list of a section; both sources are named."""
        inner = cast("JsonObject", self.value.get(section) or {})
        self.value = {**self.value, section: {**inner, key: [*members, *inner.get(key, [])]}}
        path = dotted((section, key))
        earlier = self.sources.get(path)
        self.sources[path] = source if earlier in (None, source) else f"{source}, {earlier}"
        self.sources.setdefault(section, source)

    def present_sources(self) -> dict[str, str]:
        """Return the sources of the values that remain, in the order of the settings."""
        present: dict[str, str] = {}
        for path in _paths(self.value, ()):
            outer = present.get(dotted(path[:-1]), "")  # a rule that changed its form keeps the source of its tool
            present[dotted(path)] = self._rule_source(path) or self.sources.get(dotted(path), outer)
        return present

    def _add_rules(self, path: KeyPath, rules: Any, source: str) -> None:
        rule_sources: JsonObject = {}
        for tool, pattern, _ in permission.iterate(permission.normalize(rules)):
            rule_sources.setdefault(tool, {})[pattern] = source
        self._rules[path] = permission.merge(self._rules.get(path, {}), rule_sources)

    def _rule_source(self, path: KeyPath) -> str:
        """Return the source of the rule at a path; empty when it is not a rule."""
        for table, rules in self._rules.items():
            rest = path[len(table) :]
            if path[: len(table)] != table or not rest:
                continue
            patterns: Mapping[str, str] = rules.get(str(rest[0]), {})
            if len(rest) == 2:
                return patterns.get(str(rest[1]), "")
            return patterns.get("*", "") if len(rest) == 1 and not isinstance(_at(self.value, path), dict) else ""
        return ""

    def _record_sources(self, value: Any, source: str, path: KeyPath) -> None:
        if path:
            self.sources[dotted(path)] = source
        if isinstance(value, dict):
            for key, inner in cast("JsonObject", value).items():
                self._record_sources(inner, source, (*path, key))


def sources_after(before: JsonObject, after: JsonObject, sources: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the sources after `source` changed the settings: unchanged values keep theirs."""
    return {
        dotted(path): sources.get(dotted(path), source) if _at(before, path) == _at(after, path) else source
        for path in _paths(after, ())
    }


def _at(value: Any, path: KeyPath) -> Any:
    for part in path:
        value = cast("Any", value).get(part) if isinstance(value, dict) else None
    return value


def _rule_tables(value: JsonObject) -> Iterator[KeyPath]:
    if "permission" in value:
        yield ("permission",)
    agents = value.get("agent")
    for name, agent in cast("JsonObject", agents).items() if isinstance(agents, dict) else ():
        if isinstance(agent, dict) and "permission" in agent:
            yield ("agent", name, "permission")


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in cast("JsonObject", value).items():
            yield from _paths(inner, (*path, key))


def _merge(earlier: Any, later: Any, path: KeyPath) -> Any:
    if isinstance(earlier, dict) and isinstance(later, dict):
        before, after = cast("JsonObject", earlier), cast("JsonObject", later)
        if _is_permission(path):
            return permission.merge(before, after)
        result = dict(before)
        for key, value in after.items():
            result[key] = _merge(before[key], value, (*path, key)) if key in before else value
        return result
    if isinstance(earlier, list) and isinstance(later, list) and has_mark(field_at(path), Mark.JOINED):
        return list(dict.fromkeys([*cast("list[str]", earlier), *cast("list[str]", later)]))
    return cast("Any", later)


def _is_permission(path: KeyPath) -> bool:
    return path == ("permission",) or (len(path) == 3 and path[0] == "agent" and path[2] == "permission")


def without(settings: JsonObject, paths: list[KeyPath]) -> JsonObject:
    """Return a copy without the values at these paths, and without objects that became empty."""
    removed = set(paths)
    return cast("JsonObject", _prune(settings, (), removed) or {})


def _prune(value: Any, path: KeyPath, removed: set[KeyPath]) -> Any:
    """Return the pruned value, None when nothing is left."""
    if isinstance(value, dict):
        kept: JsonObject = {}
        for key, inner in cast("JsonObject", value).items():
            pruned = None if (*path, key) in removed else _prune(inner, (*path, key), removed)
            if pruned is not None or (inner is None and (*path, key) not in removed):
                kept[key] = pruned
        return kept if kept or not value else None
    if isinstance(value, list):
        members = cast("list[Any]", value)
        inner_values = [
            _prune(inner, (*path, index), removed)
            for index, inner in enumerate(members)
            if (*path, index) not in removed
        ]
        return inner_values if inner_values or not members else None
    return value
