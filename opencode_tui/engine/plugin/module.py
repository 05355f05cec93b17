"""Imports the modules of plugins: files under names of their own, installed modules under theirs. Everything blocks.

A file's neighbours can be imported from it with `from . import name`. Bytecode beside a file is neither read nor written: what
lies there is part of what was trusted. Installed modules are never taken from the folder that is worked in.
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Mapping
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from opencode_tui.engine.plugin.definition import PluginError


class _SourceOnlyLoader(SourceFileLoader):
    """Runs a file's source; bytecode beside it is neither read nor written."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Raise OSError: without the age of the source Python leaves bytecode alone."""
        raise OSError(f"bytecode of {path} is not wanted")


def import_file(path: Path) -> ModuleType:
    """Return the module of a Python file, run anew. Raises PluginError, and whatever the file raises."""
    if not path.is_file():
        raise PluginError("there is no such file")
    package = _package_of(path.parent)
    name = f"{package}.{path.stem}"
    spec = spec_from_file_location(name, path, loader=_SourceOnlyLoader(name, str(path)))
    if spec is None:
        raise PluginError("it is no Python file")
    return _run(spec)


def import_installed(name: str) -> ModuleType:
    """Return an installed module. Raises PluginError, and whatever it raises."""
    top = name.partition(".")[0]
    if not all(part.isidentifier() for part in name.split(".")):
        raise PluginError("it is neither a path (./name.py) nor the name of a Python module")
    if top not in sys.modules:
        here = os.path.realpath(os.getcwd())
        spec = PathFinder.find_spec(top, [folder for folder in sys.path if folder and os.path.realpath(folder) != here])
        if spec is None:
            raise PluginError(
                "there is no installed Python module of this name; install it, or give a path (./name.py)"
            )
        _run(spec)
    return importlib.import_module(name)


def _run(spec: ModuleSpec) -> ModuleType:
    if spec.loader is None:
        raise PluginError("it is a folder without code")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return module


def _package_of(folder: Path) -> str:
    """Return the name of the package that stands for a folder, so that its files find each other."""
    name = f"opencode_tui_plugins_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        place = os.path.join(folder, ".")  # a name of its own: the folder may be searched for other modules too
        sys.path_importer_cache[place] = FileFinder(place, (_SourceOnlyLoader, [".py"]))
        package = ModuleType(name)
        package.__path__ = [place]
        sys.modules[name] = package
    return name
