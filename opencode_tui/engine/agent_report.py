"""What one agent is made of, as JSON data for people who want to know why it may or may not do something."""

from opencode_tui.engine.agent.prompts import read_prompt
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.permission.ruleset import disabled
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject


def describe_agent(name: str, *, agents: AgentRegistry, tools: ToolRegistry) -> JsonObject:
    """Return {agent, rules, prompt, tools}; rules in order, the last match wins. Raises ConfigError for an unknown name."""
    agent = agents.get(name)
    if agent is None:
        raise ConfigError(f"no agent {name!r}; there are {', '.join(one.name for one in agents.all())}")
    hidden = disabled(tools.names, agent.permission)
    facts = agent.to_dict()
    rules = facts.pop("permission", [])
    facts.pop("prompt", None)
    return {
        "agent": facts,
        "rules": rules,
        "prompt": agent.prompt or read_prompt("default"),
        "tools": [tool for tool in tools.names if tool not in hidden],
    }
