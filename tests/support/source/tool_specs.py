"""Writes `engine/tool/specs.json`, which the model sees of the built-in tools: `python -m tests.support.source.tool_specs`."""

import json
from pathlib import Path
from typing import Any, cast

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.environment import NO_SECRETS
from opencode_tui.engine.tool.parameter_schema import describe
from opencode_tui.engine.tool.registry import SPECS, ToolDependencies, ToolFactory

ORDER = (
    *("bash", "bash_output", "read", "glob", "grep", "list", "edit", "multiedit", "write", "apply_patch"),
    *("webfetch", "websearch", "task", "todowrite", "todoread", "question", "plan_exit", "recall", "lsp"),
)


def derive() -> dict[str, dict[str, Any]]:
    """Return what the tools themselves say; they are made with nothing to work on."""
    truncator: Any = type("Nothing", (), {"reserve": None})()
    nothing = cast(Any, None)
    dependencies = ToolDependencies(
        environ={},
        home=Path("/"),
        directory=Path("/"),
        truncator=truncator,
        todos=nothing,
        edited=nothing,
        may_delegate=nothing,
        may_edit=nothing,
        readable=nothing,
        instructions=nothing,
        skills=nothing,
        outputs=nothing,
        secrets=Lazy(lambda: NO_SECRETS),
        sandbox=Lazy(lambda: nothing),
        background=nothing,
    )
    factory = ToolFactory(dependencies)
    tools = [factory.make(name) for name in ORDER]
    return {tool.name: {"description": tool.description, "parameters": describe(tool.parameters)} for tool in tools}


if __name__ == "__main__":
    SPECS.write_text(json.dumps(derive(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
