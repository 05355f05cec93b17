"""Loads plugins and tool files in their order, each kept from taking down the rest. Needed only where there are some."""

import inspect
import logging
from collections.abc import Sequence
from types import ModuleType

from opencode_tui.engine.plugin.definition import (
    PluginContext,
    PluginDefinition,
    PluginError,
    ToolDefinition,
    read_plugin,
    read_tool_module,
)
from opencode_tui.engine.plugin.discovery import PluginSource
from opencode_tui.engine.plugin.hooks import HOOK_LIMIT_S, Hooks, PluginHooks, call_limited, describe_failure
from opencode_tui.engine.plugin.module import import_file, import_installed
from opencode_tui.engine.plugin.plugins import Plugins

LOAD_LIMIT_S = 10.0

logger = logging.getLogger(__name__)


async def load_plugins(
    sources: Sequence[PluginSource],
    context: PluginContext,
    *,
    load_limit_s: float = LOAD_LIMIT_S,
    hook_limit_s: float = HOOK_LIMIT_S,
) -> Plugins:
    """Import plugins and tools on threads and return what they bring; what fails is named in `problems`."""
    hooks: list[PluginHooks] = []
    tools: list[ToolDefinition] = []
    problems: list[str] = []
    for source in sources:
        try:
            found = await _load(source, context, load_limit_s)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's failure is named and survived
            reason = str(error) if isinstance(error, PluginError) else describe_failure(error)
            problems.append(f"{source.kind} {source.label} is not loaded: {reason}")
            continue
        problems += [f"{source.kind} {source.label}: {problem}" for problem in found.problems]
        hooks.append(PluginHooks(source.label, found.hooks))
        tools += found.tools
    for problem in problems:
        logger.warning("%s", problem)
    return Plugins(Hooks(hooks, limit_s=hook_limit_s), tools, problems)


async def _load(source: PluginSource, context: PluginContext, limit_s: float) -> PluginDefinition:
    module: ModuleType = await call_limited(lambda: _import(source), _import, limit_s)
    if source.kind == "tool":
        return read_tool_module(module, source.label)
    begin = getattr(module, "plugin", None)
    if not callable(begin):
        raise PluginError("it has no function plugin(context)")
    given = await call_limited(lambda: begin(context), begin, limit_s)
    if inspect.isawaitable(given):
        raise PluginError("plugin(context) gave something to be awaited; write `async def plugin(context)`")
    return read_plugin(given, source.label)


def _import(source: PluginSource) -> ModuleType:
    return import_file(source.path) if source.path is not None else import_installed(source.name)
