"""Claims about agents: docs/internals/permissions.md#agents."""

from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.agent.agents import AgentInfo, read_prompt
from opencode_tui.engine.agent.registry import AgentRegistry, build_registry
from opencode_tui.engine.permission.defaults import PermissionFolders
from opencode_tui.engine.permission.ruleset import disabled, evaluate
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Action
from tests.support.rows import each

ALL_OUTPUTS = "/home/ann/data/tool-output"
TOOL_OUTPUT = f"{ALL_OUTPUTS}/project"
FOLDERS = PermissionFolders(
    home=Path("/home/ann"), tool_output=Path(TOOL_OUTPUT), skills=[Path("/home/ann/skills/pdf")]
)


def registry(agent: dict[str, Any] | None = None, permission: Any = None, default: str | None = None) -> AgentRegistry:
    return build_registry(folders=FOLDERS, entries=agent or {}, permission=permission or {}, default=default)


def find(name: str, **settings: Any) -> AgentInfo:
    agent = registry(**settings).get(name)
    assert agent is not None
    return agent


def decide(agent: AgentInfo, permission: str, pattern: str = "*") -> Action:
    return evaluate(permission, pattern, agent.permission).action


def test_without_settings_there_are_the_seven() -> None:
    listed = [(agent.name, agent.mode, agent.hidden, agent.native) for agent in registry().all()]
    assert listed == [
        ("build", "primary", False, True),
        ("plan", "primary", False, True),
        ("general", "subagent", False, True),
        ("explore", "subagent", False, True),
        ("compaction", "primary", True, True),
        ("title", "primary", True, True),
        ("summary", "primary", True, True),
    ]


@each(
    ("name", "permission", "pattern", "expected"),
    [
        ("build", "edit", "*", "allow"),
        ("build", "bash", "*", "allow"),
        ("build", "question", "*", "allow"),
        ("build", "plan_exit", "*", "deny"),
        ("build", "doom_loop", "bash", "ask"),
        ("build", "external_directory", "/etc/*", "ask"),
        ("build", "external_directory", f"{TOOL_OUTPUT}/*", "allow"),
        ("build", "external_directory", f"{TOOL_OUTPUT}/tool_1", "allow"),
        ("build", "external_directory", f"{ALL_OUTPUTS}/*", "ask"),
        ("build", "external_directory", f"{ALL_OUTPUTS}/other/*", "ask"),
        ("build", "external_directory", "/home/ann/skills/pdf/*", "allow"),
        ("build", "webfetch", "*", "allow"),
        ("build", "read", "/p/main.py", "allow"),
        ("build", "read", "/p/.env", "ask"),
        ("build", "read", "/p/.env.local", "ask"),
        ("build", "read", "/p/.env.example", "allow"),
        ("build", "read", "/p/.envrc", "allow"),
        ("build", "read", "/p/environment.ts", "allow"),
        ("plan", "read", "/p/.env", "ask"),
        ("plan", "edit", "src/a.py", "deny"),
        ("plan", "edit", ".opencode/plans/foo.md", "allow"),
        ("plan", "plan_exit", "*", "allow"),
        ("general", "todowrite", "*", "deny"),
        ("general", "todoread", "*", "deny"),
        ("general", "edit", "*", "allow"),
        ("explore", "edit", "*", "deny"),
        ("explore", "write", "*", "deny"),
        ("explore", "todowrite", "*", "deny"),
        ("explore", "grep", "*", "allow"),
        ("explore", "read", "/p/.env", "ask"),
        ("explore", "external_directory", f"{TOOL_OUTPUT}/tool_1", "allow"),
        ("compaction", "bash", "*", "deny"),
        ("compaction", "edit", "*", "deny"),
        ("compaction", "read", "*", "deny"),
    ],
)
def test_the_built_in_rules_decide(name: str, permission: str, pattern: str, expected: Action) -> None:
    assert decide(find(name), permission, pattern) == expected


def test_explore_has_only_read_only_tools() -> None:
    tools = ["bash", "read", "glob", "grep", "webfetch", "edit", "write", "apply_patch", "task", "todowrite", "skill"]
    assert set(tools) - disabled(tools, find("explore").permission) == {"bash", "read", "glob", "grep", "webfetch"}


def test_an_unknown_name_makes_an_agent_for_all_modes() -> None:
    entry = {
        "model": "anthropic/claude/x",
        "description": "Checks",
        "temperature": 0.2,
        "top_p": 0.9,
        "color": "#ff0000",
        "steps": 3,
        "variant": "xhigh",
        "prompt": "Check.",
        "reasoningEffort": "high",
        "options": {"store": False},
    }
    checker = find("checker", agent={"checker": entry})
    assert checker.changed(permission=[]) == AgentInfo(
        name="checker",
        description="Checks",
        mode="all",
        temperature=0.2,
        top_p=0.9,
        color="#ff0000",
        model=ModelRef(provider_id="anthropic", model_id="claude/x"),
        prompt="Check.",
        steps=3,
        variant="xhigh",
        options={"reasoningEffort": "high", "store": False},
    )
    assert decide(checker, "bash") == "allow"


def test_an_entry_of_a_built_in_agent_changes_only_what_it_names() -> None:
    before, after = find("build"), find("build", agent={"build": {"temperature": 0.1, "maxSteps": 7, "mode": "all"}})
    assert after == before.changed(temperature=0.1, steps=7, mode="all")


def test_a_disabled_agent_is_gone() -> None:
    assert registry({"explore": {"disable": True}}).get("explore") is None


def test_a_renamed_agent_keeps_its_key() -> None:
    agents = registry({"reviewer": {"name": "Inspector"}})
    assert agents.get("reviewer") is agents.get("Inspector") is not None


def test_unknown_agents_are_none() -> None:
    assert registry().get("nobody") is None


def test_rules_of_the_settings_hold_for_all_and_those_of_the_agent_win() -> None:
    permission = {"bash": "deny", "webfetch": "ask"}
    agents = registry({"build": {"permission": {"bash": {"git *": "allow"}}}}, permission)
    build, general = agents.get("build"), agents.get("general")
    assert build is not None
    assert general is not None
    assert [decide(build, "bash", "git push"), decide(build, "bash", "rm x"), decide(build, "webfetch")] == [
        "allow",
        "deny",
        "ask",
    ]
    assert decide(general, "bash", "git push") == "deny"


@pytest.mark.parametrize(
    ("tools", "permission", "expected"),
    [
        ({"bash": False, "read": False}, {}, {"bash": "deny", "read": "deny"}),
        ({"write": False}, {}, {"edit": "deny"}),
        ({"bash": False, "webfetch": True}, {"bash": "ask"}, {"bash": "ask", "webfetch": "allow"}),
        ({"bash": False}, "allow", {"bash": "allow"}),
    ],
)
def test_old_tool_switches_become_permissions(tools: Any, permission: Any, expected: dict[str, Action]) -> None:
    agent = find("x", agent={"x": {"tools": tools, "permission": permission}})
    assert {name: decide(agent, name) for name in expected} == expected


@pytest.mark.parametrize("permission", ["allow", {"*": "allow"}, {"edit": "allow"}, {"edit": {"src/*": "allow"}}])
def test_plan_edits_only_plans_whatever_the_settings_allow_for_all(permission: Any) -> None:
    plan = find("plan", permission=permission)
    assert [decide(plan, "edit", path) for path in ("src/a.py", ".opencode/plans/a.md")] == ["deny", "allow"]


def test_a_denial_for_all_holds_for_plans_too() -> None:
    assert decide(find("plan", permission={"edit": "deny"}), "edit", ".opencode/plans/a.md") == "deny"


def test_a_rule_for_the_plan_agent_itself_loosens_it() -> None:
    plan = find("plan", agent={"plan": {"permission": {"edit": {"docs/*": "allow"}}}})
    assert [decide(plan, "edit", path) for path in ("docs/a.md", "src/a.py")] == ["allow", "deny"]


@pytest.mark.parametrize("place", ["permission", "agent"])
def test_cut_outputs_stay_readable_where_other_folders_are_denied(place: str) -> None:
    denied = {"external_directory": "deny"}
    build = (
        find("build", permission=denied)
        if place == "permission"
        else find("build", agent={"build": {"permission": denied}})
    )
    paths = (f"{TOOL_OUTPUT}/*", TOOL_OUTPUT, "/etc/*")
    assert [decide(build, "external_directory", path) for path in paths] == ["allow", "deny", "deny"]


def test_a_denial_of_exactly_that_folder_is_respected() -> None:
    for folder in (TOOL_OUTPUT, ALL_OUTPUTS):
        build = find("build", permission={"external_directory": {f"{folder}/*": "deny"}})
        assert decide(build, "external_directory", f"{TOOL_OUTPUT}/*") == "deny"


@pytest.mark.parametrize(
    ("agent", "default", "expected"),
    [
        ({}, None, "build"),
        ({}, "plan", "plan"),
        ({"mine": {}}, "mine", "mine"),
        ({"build": {"disable": True}}, None, "plan"),
        ({"build": {"disable": True}, "plan": {"disable": True}, "mine": {"mode": "primary"}}, None, "mine"),
    ],
)
def test_the_default_agent(agent: dict[str, Any], default: str | None, expected: str) -> None:
    agents = registry(agent, default=default)
    assert agents.default().name == expected
    if default is not None:
        assert agents.all()[0].name == expected


@pytest.mark.parametrize(
    ("agent", "default", "reason"),
    [
        ({}, "explore", "is a subagent"),
        ({}, "title", "is hidden"),
        ({}, "nobody", "unknown default_agent 'nobody'; choose one of build, plan, general, explore"),
        ({"build": {"disable": True}, "plan": {"disable": True}}, None, "all primary agents are disabled"),
    ],
)
def test_a_default_that_cannot_answer_is_an_error(agent: dict[str, Any], default: str | None, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        registry(agent, default=default).default()


def test_subagents_are_those_that_the_callers_rules_do_not_deny() -> None:
    build = find("build", permission={"task": {"general": "deny"}})
    assert [agent.name for agent in registry({"mine": {}}).subagents(build.permission)] == ["explore", "mine"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"model": "gpt"}, "invalid agent.x.model 'gpt': expected provider/model (see `opencode-tui models`)"),
        ({"mode": "boss"}, "agent.x.mode: input should be 'primary', 'subagent' or 'all'; correct it in the settings"),
        ({"steps": 0}, "agent.x.steps: input should be greater than 0; correct it in the settings"),
        (
            {"permission": {"bash": "never"}},
            'agent.x.permission.bash is \'never\'; write "allow", "ask" or "deny" there',
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_key(entry: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry({"x": entry})
    assert str(caught.value) == message


def test_the_title_agent_is_recognised_by_its_prompt() -> None:
    title = find("title")
    assert title.temperature == 0.5
    assert "title generator" in (title.prompt or "")


def test_prompts_are_short() -> None:
    sizes = {name: len(read_prompt(name).encode()) for name in ("plan", "build_switch", "explore", "general")}
    assert max(sizes.values()) < 2_000
    assert min(sizes.values()) > 50


def test_an_agent_on_the_wire_has_opencodes_names() -> None:
    agent = find("x", agent={"x": {"top_p": 0.5, "model": "a/b"}}).to_dict()
    assert set(agent) == {"name", "mode", "native", "hidden", "permission", "options", "topP", "model"}
    assert agent["model"] == {"providerID": "a", "modelID": "b"}


def test_each_rule_of_an_agent_has_its_origin() -> None:
    sources = {"permission.edit": "/a.json", "permission.bash.ls *": "/b.json", "permission.bash": "/a.json"}
    sources |= {"agent.plan.permission.edit": "/plan.md", "agent.mine.permission.*": "/mine.md"}
    made = build_registry(
        folders=FOLDERS,
        entries={"plan": {"permission": {"edit": "ask"}}, "mine": {"permission": "ask", "tools": {"bash": False}}},
        permission={"edit": "ask", "bash": {"*": "deny", "ls *": "allow"}},
        sources=sources,
    )
    assert {"plan", "mine"} <= {agent.name for agent in made.all()}
    for agent in made.all():
        origins = made.origins(agent)
        told = [(one.permission, one.pattern, where) for one, where in zip(agent.permission, origins, strict=True)]
        settings = [("edit", "*", "/a.json"), ("bash", "*", "/a.json"), ("bash", "ls *", "/b.json")]
        assert [one for one in told if one[2] in ("/a.json", "/b.json")] == settings
    plan, mine = (made.get(name) for name in ("plan", "mine"))
    assert plan is not None and mine is not None
    assert made.origins(plan)[-2] == "/plan.md" and plan.permission[-2].permission == "edit"
    assert made.origins(mine)[-2:] == ["/mine.md", ""] and mine.permission[-2].permission == "*"
