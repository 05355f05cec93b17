import json

import pytest


@pytest.mark.slow
def test_agents_are_listed_with_what_they_are_for_and_hidden_ones_are_not(commands):
    lines = commands.run("agent", "list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "MODE", "DESCRIPTION"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["build", "primary"],
        ["plan", "primary"],
        ["general", "subagent"],
        ["explore", "subagent"],
    ]


@pytest.mark.slow
def test_json_has_the_hidden_ones_too(commands):
    agents = json.loads(commands.run("agent", "list", "--format", "json").stdout)
    assert {"build", "title", "summary", "compaction"} <= {one["name"] for one in agents}


def test_debug_agent_prints_rules_prompt_and_tools(commands):
    printed = json.loads(commands.run("debug", "agent", "plan").stdout)
    assert (sorted(printed), printed["agent"]["name"]) == (["agent", "prompt", "rules", "tools"], "plan")
    assert {"permission", "pattern", "action"} == set(printed["rules"][0]) and "read" in printed["tools"]


def test_an_unknown_agent_names_those_that_exist(commands):
    done = commands.run("debug", "agent", "nobody")
    assert done.code == 2 and "'nobody'" in done.stderr and "build" in done.stderr
