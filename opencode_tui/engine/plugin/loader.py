"""Loads plugins and tool files in order, so that a failure of one does not affect the others. Imported only if there are any."""

import hashlib
import importlib
import inspect
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from opencode_tui.config.check.types import validate_settings
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.merge import sources_after
from opencode_tui.config.sources.layer import Layer
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
from opencode_tui.engine.plugin.plugins import Plugins
from opencode_tui.schema.error import ConfigError


class _SourceOnlyLoader(SourceFileLoader):
    """Runs a file's source; neither reads nor writes bytecode files."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Raise OSError, so that Python ignores bytecode: it cannot compare the age of the source."""
        raise OSError(f"bytecode of {path} is not used")


def import_file(path: Path) -> ModuleType:
    """Return the newly executed module of a Python file. Blocks. Raises PluginError, and whatever the file raises."""
    if not path.is_file():
        raise PluginError("file not found")
    package = _package_of(path.parent)
    name = f"{package}.{path.stem}"
    spec = spec_from_file_location(name, path, loader=_SourceOnlyLoader(name, str(path)))
    if spec is None:
        raise PluginError("not a Python file")
    return _run(spec)


def import_installed(name: str) -> ModuleType:
    """Return an installed module. Blocks. Raises PluginError, and whatever it raises."""
    top = name.partition(".")[0]
    if not all(part.isidentifier() for part in name.split(".")):
        raise PluginError("not a path (./name.py) and not the name of a Python module")
    if top not in sys.modules:
        here = os.path.realpath(os.getcwd())
        spec = PathFinder.find_spec(top, [folder for folder in sys.path if folder and os.path.realpath(folder) != here])
        if spec is None:
            raise PluginError("no installed Python module has this name; install it, or give a path (./name.py)")
        _run(spec)
    return importlib.import_module(name)


def _run(spec: ModuleSpec) -> ModuleType:
    if spec.loader is None:
        raise PluginError("a folder without code")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return module


def _package_of(folder: Path) -> str:
    """Return the name of the package for a folder, with which its files can import each other."""
    name = f"opencode_tui_plugins_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        place = os.path.join(folder, ".")  # a separate name, because the folder may also be in sys.path
        sys.path_importer_cache[place] = FileFinder(place, (_SourceOnlyLoader, [".py"]))
        package = ModuleType(name)
        package.__path__ = [place]
        sys.modules[name] = package
    return name


LOAD_LIMIT_S = 10.0

logger = logging.getLogger(__name__)


async def load_plugins(
    sources: Sequence[PluginSource],
    context: PluginContext,
    *,
    load_limit_s: float = LOAD_LIMIT_S,
    hook_limit_s: float = HOOK_LIMIT_S,
) -> Plugins:
    """Import plugins and tools on threads and return their hooks and tools; `problems` describes failures."""
    hooks: list[PluginHooks] = []
    tools: list[ToolDefinition] = []
    problems: list[str] = []
    for source in sources:
        try:
            found = await _load(source, context, load_limit_s)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's failure is reported, the others load
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
        raise PluginError("no function plugin(context)")
    given = await call_limited(lambda: begin(context), begin, limit_s)
    if inspect.isawaitable(given):
        raise PluginError("plugin(context) returned an awaitable; write `async def plugin(context)`")
    return read_plugin(given, source.label)


def _import(source: PluginSource) -> ModuleType:
    return import_file(source.path) if source.path is not None else import_installed(source.name)


async def change_config(hooks: Hooks, config: LoadedConfig) -> LoadedConfig:
    """Return the settings as the hook `config` changes them; drop and report a change that has invalid types."""
    if not hooks.has("config"):
        return config
    changed = await hooks.run("config", {}, config.effective)
    if changed == config.effective:
        return config
    try:
        settings = validate_settings(Layer("plugins", "user", config.worktree, changed))
    except ConfigError as error:
        hooks.refuse("config", str(error))
        return config
    sources = sources_after(config.effective, changed, config.sources, "a plugin")
    return replace(config, settings=settings, effective=changed, sources=sources)
