"""Finds calls that block the thread of an event loop: in coroutines and callbacks, and in the functions that these call.

A function that is only given away, as to `asyncio.to_thread`, is not called there. Methods of other objects are not followed.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_OS = """access chmod fsync ftruncate link listdir lstat makedirs mkdir open read readlink remove rename replace rmdir scandir stat
symlink truncate unlink utime walk write"""
_OS_PATH = "exists getmtime getsize isdir isfile islink lexists realpath samefile"
_METHODS = """acquire_sync exists flock is_dir is_file is_symlink iterdir lstat mkdir read_bytes read_text readlink resolve rglob
samefile unlink write_bytes write_text"""
_NAMES = "open open_folder ensure"
_CALLBACKS = """connection_made connection_lost data_received datagram_received eof_received handle_events pipe_data_received
process_exited"""
"""Methods that a loop calls."""

_TAKERS = "add_done_callback add_reader add_writer call_at call_later call_soon call_soon_threadsafe"
"""Methods that let a loop call what they are given."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """A call that blocks a loop: `function` of `file` calls `what`, `root` is the coroutine or callback that leads there."""

    file: str
    function: str
    what: str
    root: str


class _Module(NamedTuple):
    file: str
    functions: dict[str, list[Function]]
    imported: dict[str, tuple[str, str]]
    """The module and the name there of what is imported from the package, by its name here."""

    given: frozenset[str]
    """Names of functions that a loop is given as callbacks."""


def find_blocking_calls(package: Path, folders: tuple[str, ...]) -> list[Finding]:
    """Return what blocks the loops of the code in some folders of a package, in the order of files."""
    modules = _Modules(package)
    found: dict[Finding, None] = {}
    for path in sorted(path for folder in folders for path in (package / folder).rglob("*.py")):
        module = modules.at(path)
        for name, functions in module.functions.items():
            for one in functions:
                if isinstance(one, ast.AsyncFunctionDef) or name in _CALLBACKS.split() or name in module.given:
                    found.update(dict.fromkeys(_follow(modules, module, one)))
    return list(found)


class _Modules:
    """The modules of a package, each read when it is needed first."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._read: dict[Path, _Module] = {}

    def at(self, path: Path) -> _Module:
        if path not in self._read:
            self._read[path] = _read(self._package, path)
        return self._read[path]

    def named(self, name: str) -> _Module | None:
        path = self._package.parent.joinpath(*name.split("."))
        found = next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)
        return None if found is None else self.at(found)


def _follow(modules: _Modules, module: _Module, root: Function) -> Iterator[Finding]:
    seen, left = {id(root)}, [(module, root)]
    while left:
        here, function = left.pop()
        nodes = list(_own_nodes(function))
        awaited = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
        for call in nodes:
            if not isinstance(call, ast.Call) or id(call) in awaited:
                continue
            if what := _blocking(call):
                yield Finding(here.file, function.name, what, f"{module.file}::{root.name}")
            for there, one in _called(modules, here, call):
                if isinstance(one, ast.FunctionDef) and id(one) not in seen and not _is_generator(one):
                    seen.add(id(one))
                    left.append((there, one))


def _called(modules: _Modules, module: _Module, call: ast.Call) -> Iterator[tuple[_Module, Function]]:
    match call.func:
        case ast.Name(id=name) if name in module.imported:
            source, there = module.imported[name]
            if (found := modules.named(source)) is not None:
                yield from ((found, one) for one in found.functions.get(there, ()))
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            yield from ((module, one) for one in module.functions.get(name, ()))
        case _:
            pass


def _blocking(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) if name in _NAMES.split():
            return name
        case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in _OS.split():
            return f"os.{name}"
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="os"), attr="path"), attr=name) if (
            name in _OS_PATH.split()
        ):
            return f"os.path.{name}"
        case ast.Attribute(value=ast.Name(id="shutil" | "subprocess" as module), attr=name) if (
            name != "get_terminal_size"
        ):
            return f"{module}.{name}"
        case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
            return "time.sleep"
        case ast.Attribute(value=ast.Name(id="socket"), attr="getaddrinfo" | "gethostbyname" as name):
            return f"socket.{name}"
        case ast.Attribute(attr=name) if name in _METHODS.split():
            return f".{name}"
        case ast.Attribute(attr="stat") if not call.args:
            return ".stat"
        case _:
            return ""


def _is_generator(function: Function) -> bool:
    """Return whether a call of a function runs nothing of it; a context manager runs when it is entered."""
    is_context = any("contextmanager" in ast.unparse(one) for one in function.decorator_list)
    return not is_context and any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function))


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield what a function itself does, without the functions and classes in it."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            left.extend(ast.iter_child_nodes(node))


def _read(package: Path, path: Path) -> _Module:
    tree = ast.parse(path.read_text())
    functions: dict[str, list[Function]] = {}
    imported: dict[str, tuple[str, str]] = {}
    given: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.setdefault(node.name, []).append(node)
            case ast.ImportFrom(module=str() as source) if source.startswith(f"{package.name}."):
                imported |= {one.asname or one.name: (source, one.name) for one in node.names}
            case ast.Call(func=ast.Attribute(attr=name), args=args) if name in _TAKERS.split():
                given.update(one.attr for one in args if isinstance(one, ast.Attribute))
                given.update(one.id for one in args if isinstance(one, ast.Name))
            case _:
                pass
    return _Module(path.relative_to(package).as_posix(), functions, imported, frozenset(given))
