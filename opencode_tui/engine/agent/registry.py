"""All agents of a folder: the built-in ones and those of the settings, with their complete rulesets.

Order of an agent's rules, later wins: defaults, rules of the built-in agent, `permission` of the settings, `permission` of the
agent's own entry. Two rules hold whatever the settings allow for all agents: `plan` and `explore` do not edit (unless their own
entry allows it), and the full texts of truncated outputs are readable unless exactly their folder is denied.
Source: docs/internals/permissions.md#order-of-rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from opencode_tui.config.notice import describe
from opencode_tui.engine.agent.agents import PLAN_FILES, AgentInfo, built_in_agents
from opencode_tui.engine.permission.defaults import (
    PermissionFolders,
    default_rules,
    rule,
    tool_output_pattern,
)
from opencode_tui.engine.permission.ruleset import evaluate, from_config, merge
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.schema.error import ConfigError, ModelNotFoundError
from opencode_tui.schema.model import Model, describe_variants, has_variant, parse_model_ref, require_model_ref
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import JsonObject, ValidationError, json_name
from opencode_tui.schema.tools import row_of

BUILT_IN = ""
"""The origin of a built-in rule."""


def rule_origins(permission: JsonObject | str, prefix: str, sources: Mapping[str, str]) -> list[str]:
    """Return the origin (file or variable) of each rule under the dotted key `prefix`, in the order of `from_config`."""
    if isinstance(permission, str):
        return [sources.get(prefix, BUILT_IN)]
    found: list[str] = []
    for tool, value in permission.items():
        around = sources.get(f"{prefix}.{tool}", BUILT_IN)
        if isinstance(value, dict):
            patterns = cast(JsonObject, value)
            found += [sources.get(f"{prefix}.{tool}.{pattern}", around) for pattern in patterns]
        else:
            found.append(around)
    return found


_FIELDS = ("name", "description", "mode", "hidden", "top_p", "temperature", "color", "variant", "prompt", "steps")
_HANDLED = frozenset({*_FIELDS, "maxSteps", "model", "options", "permission", "tools", "disable"})


def apply_entry(agent: AgentInfo, key: str, entry: JsonObject) -> AgentInfo:
    """Return the agent with the fields of its settings entry and unchanged rules. Raises ConfigError that names the key."""
    fields: dict[str, Any] = {json_name(name): entry[name] for name in _FIELDS if entry.get(name) is not None}
    if "steps" not in fields and entry.get("maxSteps") is not None:
        fields["steps"] = entry["maxSteps"]
    if entry.get("model") is not None:
        fields["model"] = _model(key, entry["model"])
    fields["options"] = {**agent.options, **_options(entry)}
    return _validated(key, {**agent.to_dict(), **fields})


def entry_rules(key: str, entry: JsonObject, *, home: Path) -> list[Rule]:
    """Return the rules of an entry: those of the old key `tools`, except for permissions that its `permission` sets."""
    try:
        return from_config(entry_table(entry), home=home)
    except ConfigError as error:
        raise ConfigError(f"agent.{key}.{error}") from error


def entry_table(entry: JsonObject) -> JsonObject:
    """Return the rules of an entry as one settings value."""
    permission: JsonObject | str = entry.get("permission") or {}
    table: JsonObject = {"*": permission} if isinstance(permission, str) else permission
    return {**_tool_permissions(entry.get("tools")), **table}


def _tool_permissions(tools: Any) -> JsonObject:
    switches = cast(JsonObject, tools) if isinstance(tools, dict) else {}
    return {
        "edit" if row_of(name).edits else name: "allow" if is_enabled else "deny"
        for name, is_enabled in switches.items()
    }


def _options(entry: JsonObject) -> JsonObject:
    unknown = {name: value for name, value in entry.items() if name not in _HANDLED}
    return {**unknown, **(entry.get("options") or {})}


def _model(key: str, text: Any) -> JsonObject:
    return require_model_ref(str(text), f"agent.{key}.model").to_dict()


def _validated(key: str, fields: JsonObject) -> AgentInfo:
    try:
        return AgentInfo.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise ConfigError(f"agent.{key}.{field}: {first['msg'].lower()}; correct it in the settings") from error


class AgentRegistry:
    """The agents by their keys."""

    def __init__(
        self,
        agents: Mapping[str, AgentInfo],
        *,
        default: str | None = None,
        origins: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`origins` has the source of each agent's rules, in their order."""
        self._agents = dict(agents)
        self._default = default
        self._origins = dict(origins or {})

    def origins(self, agent: AgentInfo) -> list[str]:
        """Return the file or variable of each rule of an agent; empty for a built-in rule."""
        key = next((key for key, one in self._agents.items() if one is agent), agent.name)
        known = self._origins.get(key, ())
        return [*known, *[BUILT_IN] * (len(agent.permission) - len(known))]

    def get(self, name: str) -> AgentInfo | None:
        """Return an agent by its key, else by its `name`; None when there is none."""
        by_name = (agent for agent in self._agents.values() if agent.name == name)
        return self._agents.get(name) or next(by_name, None)

    def default(self) -> AgentInfo:
        """Return the default agent. Raises ConfigError when the configured one cannot be used, or when there is none."""
        if self._default is not None:
            return self._chosen(self._default)
        for agent in self._agents.values():
            if agent.mode != "subagent" and not agent.hidden:
                return agent
        raise ConfigError("all primary agents are disabled; enable build, or define one with mode primary")

    def all(self) -> list[AgentInfo]:
        """Return all agents, hidden ones included: the default one first, the others in the order of definition."""
        first = self._default or "build"
        return [self._agents[key] for key in sorted(self._agents, key=lambda key: key != first)]

    def subagents(self, caller: Sequence[Rule]) -> list[AgentInfo]:
        """Return the agents that the task tool may start for an agent with these rules."""
        return [
            agent
            for agent in self._agents.values()
            if agent.mode != "primary" and evaluate("task", agent.name, caller).action != "deny"
        ]

    def _chosen(self, name: str) -> AgentInfo:
        agent = self.get(name)
        if agent is None:
            names = ", ".join(other.name for other in self._agents.values() if not other.hidden)
            raise ConfigError(f"unknown default_agent {name!r}; choose one of {names}")
        if agent.mode == "subagent" or agent.hidden:
            kind = "a subagent" if agent.mode == "subagent" else "hidden"
            raise ConfigError(f"default_agent {name!r} is {kind}; choose one of mode primary or all")
        return agent


def build_registry(
    *,
    folders: PermissionFolders,
    entries: Mapping[str, JsonObject],
    permission: JsonObject | str,
    default: str | None = None,
    sources: Mapping[str, str] | None = None,
) -> AgentRegistry:
    """Return the agents for the settings' `agent` entries, global `permission` and `default_agent`. Raises ConfigError.

    `sources` are the files and variables that set the values, by dotted key.
    """
    sources = sources or {}
    global_rules = from_config(permission, home=folders.home)
    global_origins = rule_origins(permission, "permission", sources)
    defaults = default_rules(folders)
    agents: dict[str, AgentInfo] = {}
    origins: dict[str, list[str]] = {}
    for agent in built_in_agents(folders):
        rules = merge(defaults, agent.permission, global_rules)
        limits = _limits(agent.name, rules)
        agents[agent.name] = agent.changed(permission=[*rules, *limits])
        origins[agent.name] = [*_built_in(defaults, agent.permission), *global_origins, *_built_in(limits)]
    for key, entry in entries.items():
        if entry.get("disable") is True:
            agents.pop(key, None)
            continue
        base = agents.get(key) or AgentInfo.trusted(name=key, mode="all", permission=merge(defaults, global_rules))
        own_rules = entry_rules(key, entry, home=folders.home)
        agents[key] = apply_entry(base, key, entry).changed(permission=[*base.permission, *own_rules])
        earlier = origins.get(key, [*_built_in(defaults), *global_origins])
        origins[key] = [*earlier, *rule_origins(entry_table(entry), f"agent.{key}.permission", sources)]
    made = {key: _with_tool_output(agent, folders) for key, agent in agents.items()}
    return AgentRegistry(made, default=default, origins=origins)


def _built_in(*rulesets: Sequence[Rule]) -> list[str]:
    return [BUILT_IN] * sum(map(len, rulesets))


def _limits(name: str, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that deny editing to a read-only agent when the settings allow it for all agents."""
    if name not in ("plan", "explore"):
        return []
    limits: list[Rule] = [rule("edit", "*", "deny")]
    if name == "plan":
        limits.append(rule("edit", PLAN_FILES, evaluate("edit", PLAN_FILES, rules).action))
    return limits


def _with_tool_output(agent: AgentInfo, folders: PermissionFolders) -> AgentInfo:
    pattern = tool_output_pattern(folders)
    denied = {known.pattern for known in agent.permission if known.action == "deny"}
    if denied & {pattern, f"{folders.tool_output.parent}/*"}:  # of this worktree, or of all
        return agent
    return agent.changed(permission=[*agent.permission, rule("external_directory", pattern, "allow")])


def useless_settings(
    entries: Mapping[str, JsonObject], *, model: str | None, catalog: Catalog, sources: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each setting of an agent that has no effect on its model, which is `model` if it names none.

    Agents whose model is chosen at run time are not judged, nor is an unlisted model. Blocks for
    the table of models if an agent has such a setting.
    """
    for name, entry in entries.items():
        given = [key for key in ("variant", "temperature", "top_p") if entry.get(key) is not None]
        ref = parse_model_ref(str(entry.get("model") or model or "")) if given else None
        if ref is None:
            continue
        try:
            found = catalog.resolve(ref)
        except ModelNotFoundError:
            continue
        if found.unlisted is not None:
            continue
        for key in given:
            if reason := _why_useless(key, entry[key], found):
                path = f"agent.{name}.{key}"
                yield describe(sources.get(path, ""), None, path, f"{ref} {reason}")


def _why_useless(key: str, value: object, model: Model) -> str:
    """Return why a model does not follow a setting, as the rest of a sentence; empty when it does."""
    if key == "variant":
        return "" if has_variant(model, str(value)) else describe_variants(model, str(value))
    return "" if model.temperature else f"accepts no {key}, so it is not sent; remove it"
