"""Imports the modules of plugins: files under names of their own, installed modules under theirs. Everything blocks.

A file's neighbours can be imported from it with `from . import name`. No bytecode is written beside a file: what lies there is
part of what was trusted. Installed modules are never taken from the folder that is worked in.
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from opencode_tui.engine.plugin.definition import PluginError


def import_file(path: Path) -> ModuleType:
    """Return the module of a Python file, run anew. Raises PluginError, and whatever the file raises."""
    if not path.is_file():
        raise PluginError("there is no such file")
    package = _package_of(path.parent)
    spec = spec_from_file_location(f"{package}.{path.stem}", path)
    if spec is None:
        raise PluginError("it is no Python file; its name must end with .py")
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
        with _no_bytecode():
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return module


def _package_of(folder: Path) -> str:
    """Return the name of the package that stands for a folder, so that its files find each other."""
    name = f"opencode_tui_plugins_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


@contextmanager
def _no_bytecode() -> Generator[None]:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
