"""Has libraries loaded without parts of them that cost time at each start and that the program does not use.

pydantic looks for plugins; even switched off that loads what reads the metadata of packages. It builds the types of its own
schemas, which only type checkers read: a fifth of its import. httpx loads a command line with rich and Pygments, and HTTP/2:
half of its import. Textual loads a list of commands with a dozen widgets. `prepare` is called once, before any of them is imported.
filelock has locks of a dozen kinds, of which the program uses one (`lock_descriptor`), httpcore has everything twice (`part`), and
GitPython reads repositories, while the program only has it start git (`git_command`).
Dataclasses of libraries have a dozen methods each, compiled from text when the class is made: a tenth of what one prompt computes
before its request, though few of them are ever called. They are compiled at their first call.

Modules of `_LATE` import others that only few of their functions use, TLS among them, which nothing needs before the first request
over it. What they get instead imports the module when something of it is used: `ssl` alone is a megabyte of objects. Hashes
are those of Python, so that OpenSSL is not loaded for a few short texts; `engine/snapshot/objects/sums.py` uses it for more.
"""

import builtins
import functools
import importlib
import os
import sys
import threading
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

PLUGIN_SCAN = "PYDANTIC_DISABLE_PLUGINS"
"""Switches off that pydantic looks through all installed packages for plugins of its own at every start; kept from tools."""

_PLUGINS = "pydantic.plugin._loader"
_SCHEMAS = "pydantic_core.core_schema"
_TYPES = ("typing", "typing_extensions")
_BASES = ("textual.command", "opencode_tui_filelock._api")
"""Modules of which others only take classes to derive from, none of which is used."""
_LATE: "Mapping[str, tuple[str, ...]]" = {
    "asyncio.base_events": ("ssl", ".sslproto"),
    "asyncio.selector_events": ("ssl", ".sslproto"),
    "anyio._core._sockets": ("ssl",),
    "anyio.streams.tls": ("ssl",),
    "opencode_tui_httpcore._async.connection": ("ssl",),
    "opencode_tui_httpcore._async.connection_pool": ("ssl",),
    "opencode_tui_httpcore._async.http11": ("ssl",),
    "opencode_tui_httpcore._backends.anyio": ("ssl",),
    "opencode_tui_httpcore._backends.base": ("ssl",),
    "opencode_tui_httpcore._models": ("ssl",),
    "markdown_it.common.utils": (".entities",),
    "markdown_it.main": ("linkify_it",),
    "markdown_it.rules_inline.entity": ("..common.entities",),
    "platformdirs.unix": ("tempfile",),
    "rich.style": ("pickle",),
    "secrets": ("hmac",),
    "shutil": ("bz2", "lzma"),
    "textual.app": ("mimetypes", "platformdirs"),
    "textual.design": ("rich.table",),
    "textual.style": ("pickle",),
    "textual.suggestions": ("difflib",),
    "uuid": ("platform",),
}
"""Modules and what they import late, as they write it. Of what they import by name they may only call functions."""

_LAZY_METHODS = frozenset({"annotated_types", "anyio", "h11", "pydantic"})
"""Libraries whose dataclasses get their methods at the first call. Nobody reads the signatures of these classes."""

_git_lock = threading.Lock()

_WITHOUT: "Mapping[str, tuple[str, ...]]" = {
    "hashlib": ("_hashlib",),
    "hmac": ("_hashlib",),
    "msgspec._utils": ("typing_extensions",),
}
"""Modules that go on without others: most Pythons have hashes of their own, and `typing` has what msgspec looks for."""

_TYPED = "textual"
"""A library that takes from `typing_extensions` what `typing` has too."""

_UNUSED = ("httpx._main", "h2")
"""Modules that httpx goes on without."""


def prepare(environ: "MutableMapping[str, str]") -> None:
    """Leave these parts out of what is imported from now on; plugins of pydantic only if `environ` does not ask for some."""
    for name in _UNUSED:
        sys.modules.setdefault(name, None)  # pyright: ignore[reportArgumentType] - None keeps a module from being imported
    if environ.setdefault(PLUGIN_SCAN, "__all__") == "__all__" and _PLUGINS not in sys.modules:
        module = ModuleType(_PLUGINS)
        module.__dict__["get_plugins"] = tuple
        sys.modules[_PLUGINS] = module
    for name in _BASES:
        sys.modules.setdefault(name, _Unused(name))
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # pyright: ignore[reportArgumentType] - a finder needs no more than this method
    _compile_methods_late()


def lock_descriptor(descriptor: int) -> bool:
    """Lock an open file between processes, if it is free, and return whether it was. Raises OSError where that is impossible.

    The system unlocks the files of a process that dies.
    """
    return _locks().lock_descriptor(descriptor, blocking=False)


def unlock_descriptor(descriptor: int) -> None:
    """Unlock an open file."""
    _locks().unlock_descriptor(descriptor)


def _locks() -> "Any":
    """Return the part of filelock for open files: all of it takes three times as long to import."""
    try:
        return part("filelock", "_descriptor")
    except ImportError:  # another version may have them elsewhere
        return importlib.import_module("filelock")


def part(library: str, name: str) -> ModuleType:
    """Return a module of a library without running the `__init__` of the packages above it. Raises ImportError.

    It is loaded below a name of its own, so that `import library` gets the whole one, with classes of its own.
    """
    above, path = library, None
    own = f"opencode_tui_{library}"
    for inner in ("", *name.split(".")[:-1]):
        above, own = (f"{above}.{inner}", f"{own}.{inner}") if inner else (above, own)
        if own not in sys.modules:
            sys.modules[own] = _bare_package(own, above, path)
        path = sys.modules[own].__path__
    return importlib.import_module(f"opencode_tui_{library}.{name}")


def git_command() -> ModuleType:
    """Return the module `git.cmd` of GitPython without 50 other modules that GitPython imports. It does not run `git version`.

    A later `import git` gets the whole library, with classes of its own. For any thread. Raises ImportError.
    """
    with _git_lock:
        return _import_git_command()


@functools.cache
def _import_git_command() -> ModuleType:
    above = [name for name in ("git", "gitdb") if name not in sys.modules]
    for name in above:
        sys.modules[name] = _bare_package(name, name)
    try:
        return importlib.import_module("git.cmd")
    finally:
        for name in list(sys.modules):
            if name.partition(".")[0] in above:
                del sys.modules[name]


def _bare_package(own: str, name: str, path: "Sequence[str] | None" = None) -> ModuleType:
    """Return a package that finds the modules of another one, whose `__init__` does not run, by a name of its `own`."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec(name, path)
    package = ModuleType(own)
    package.__path__ = list(found.submodule_search_locations or ()) if found is not None else []
    return package


def _compile_methods_late() -> None:
    """Have dataclasses of some libraries compile a method when it is called for the first time."""
    import dataclasses

    builder: Any = getattr(dataclasses, "_FuncBuilder", None)
    if builder is not None:  # since Python 3.13
        _compile_classes_late(builder)
    made: Any = getattr(dataclasses, "_create_fn", None)
    if made is None or made.__module__ != "dataclasses":
        return  # it is done already

    def create(name: str, args: "Any", body: "Any", *, globals: "Any" = None, **others: "Any") -> "Any":
        def compiled() -> "Any":
            return made(name, args, body, globals=globals, **others)

        return _late(name, compiled) if _top(globals) in _LAZY_METHODS else compiled()

    setattr(dataclasses, "_create_fn", create)  # noqa: B010 - a private name


def _compile_classes_late(builder: "Any") -> None:
    """Have dataclasses of some libraries compile all methods of a class when one of them is called for the first time."""
    add: Any = builder.add_fns_to_class
    if add.__module__ != "dataclasses":
        return  # it is done already

    def add_late(made: "Any", cls: type) -> None:
        if _top(made.globals) not in _LAZY_METHODS:
            add(made, cls)
            return

        @functools.cache
        def compiled() -> "Mapping[str, Any]":
            methods = type(cls.__name__, (), {"__qualname__": cls.__qualname__})
            add(made, methods)
            return vars(methods)

        for name in made.names:
            if name not in vars(cls) or made.unconditional_adds.get(name):
                setattr(cls, name, _late(name, lambda name=name: compiled()[name]))

    builder.add_fns_to_class = add_late


def _top(names: "Mapping[str, object] | None") -> str:
    """Return the library of a module by its names."""
    return _top_name(str((names or {}).get("__name__", "")))


def _top_name(module: str) -> str:
    return module.partition(".")[0]


def _late(name: str, compiled: "Callable[[], Any]") -> "Callable[..., object]":
    """Return a method that is compiled when it is called."""
    method: Any = None

    def call(*args: object, **named: object) -> object:
        nonlocal method
        if method is None:
            method = compiled()
        return method(*args, **named)

    call.__name__ = call.__qualname__ = name
    return call


class _Unused(ModuleType):
    """A module whose names are empty classes, made when they are imported: others derive from some of them."""

    def __getattr__(self, name: str) -> type:
        """Return the class of a name."""
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made


class _Shape(dict[str, object]):
    """In the place of `TypedDict`: its annotations stay texts."""

    def __init_subclass__(cls, *, total: bool = True) -> None:
        """Accept the argument of `TypedDict`."""


class _Late(ModuleType):
    """In the place of a module, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> object:
        """Return what the module has by a name."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "LinkifyIt":
            return _LateLinks  # each reader of Markdown has one
        if self.__name__ == "ssl" and name == "SSLSocket" and "ssl" not in sys.modules:
            return _NoSocket  # asyncio asks of each socket whether it is one: without the module there is none
        if self.__name__ == "platform" and name == "system":
            return _system  # all that `uuid` asks for
        return getattr(importlib.import_module(self.__name__), name)


class _LateFunctions(ModuleType):
    """In the place of a module of which functions or tables are imported by name."""

    def __getattr__(self, name: str) -> "Callable[..., object] | _LateTable":
        """Return a function that imports the module when it is called, or a table."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "entities":
            return _LateTable(self.__name__, name)
        return _late(name, lambda: getattr(importlib.import_module(self.__name__), name))


class _LateTable:
    """In the place of a dict of a module, which is imported when something is looked up in it."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __contains__(self, key: object) -> bool:
        return key in self._table()

    def __getitem__(self, key: str) -> object:
        return self._table()[key]

    def _table(self) -> "Mapping[str, object]":
        return getattr(importlib.import_module(self._module), self._name)


class _LateLinks:
    """In the place of `linkify_it.LinkifyIt()`, which is made when something of it is used."""

    def __getattr__(self, name: str) -> object:
        """Return what it has by a name."""
        if "_links" not in self.__dict__:
            self._links: Any = importlib.import_module("linkify_it").LinkifyIt()
        return getattr(self._links, name)


class _NoSocket:
    """Stands for `ssl.SSLSocket` until `ssl` is imported: no object is one."""


def _system() -> str:
    return os.uname().sysname


class _Finder:
    """Finds the modules that get something else than they import, and has them run with an import of their own."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None", _target: ModuleType | None = None
    ) -> "ModuleSpec | None":
        """Return how the module is loaded; None for all others."""
        late, without, is_typed = _LATE.get(name, ()), _WITHOUT.get(name, ()), _top_name(name) == _TYPED
        if "_hashlib" in without and not _has_hashes():
            return None
        if not (late or without or is_typed or name == _SCHEMAS):
            return None
        from importlib.machinery import PathFinder, SourceFileLoader

        found = PathFinder.find_spec(name, path)
        if found is not None and type(found.loader) is SourceFileLoader:
            names = _Names(_import) if name == _SCHEMAS else _own_names(late, without, is_typed=is_typed)
            found.loader = _loader()(name, found.loader.path, names)
        return found


@functools.cache
def _loader() -> "Callable[[str, str, _Names], Any]":
    """Return a class of loaders that have a module run with these names in the place of Python's own."""
    from importlib.machinery import SourceFileLoader

    class Loader(SourceFileLoader):
        def __init__(self, name: str, path: str, names: "_Names") -> None:
            super().__init__(name, path)
            self._names = names

        def exec_module(self, module: ModuleType) -> None:
            module.__dict__["__builtins__"] = self._names.names
            with self._names:
                super().exec_module(module)
            if module.__name__ == "hashlib":
                _add_openssl(module)

    return Loader


class _Names:
    """Python's own names, with another import while modules with them are loaded.

    Their functions keep the names, and some of Textual's import modules for each key: Python's own import is an instruction there,
    another one is a call.
    """

    def __init__(self, importing: "Callable[..., Any]") -> None:
        self.names: dict[str, Any] = {**vars(builtins)}
        self._importing = importing
        self._loading = 0
        self._lock = threading.Lock()  # several threads import

    def __enter__(self) -> None:
        with self._lock:
            self._loading += 1
            self.names["__import__"] = self._importing

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._loading -= 1
            if not self._loading:
                self.names["__import__"] = builtins.__import__


@functools.cache
def _own_names(late: "Sequence[str]", without: "Sequence[str]", *, is_typed: bool) -> _Names:
    """Return Python's own names with an import that imports modules at their first use, or does not find them.

    With `is_typed` it imports from `typing` what that has of `typing_extensions`. Modules share the names: there are many of them.
    """

    def find(
        name: str, names: "Any" = None, local: "Any" = None, wanted: "Sequence[str] | None" = None, level: int = 0
    ) -> "Any":
        if name in without:
            raise ImportError(f"{name} is not loaded here", name=name)
        if is_typed and name == _TYPES[1] and wanted and all(map(_has_type, wanted)):
            name = _TYPES[0]
        written = "." * level + name
        if written in late:
            return (_LateFunctions if wanted else _Late)(_absolute(written, names))
        if level and not name and wanted and f".{wanted[0]}" in late:  # `from . import sslproto`
            above = ModuleType("late")
            setattr(above, wanted[0], _Late(_absolute(f"{written}{wanted[0]}", names)))
            return above
        return builtins.__import__(name, names, local, wanted or (), level)

    return _Names(find)


def _has_type(name: str) -> bool:
    return hasattr(sys.modules.get(_TYPES[0]), name)


@functools.cache
def _has_hashes() -> bool:
    """Return whether Python has hashes of its own: some distributions build it with those of OpenSSL only."""
    of_version = ("_sha2",) if sys.version_info >= (3, 12) else ("_sha256", "_sha512")
    try:
        for name in ("_md5", "_sha1", "_sha3", *of_version):
            importlib.import_module(name)
    except ImportError:
        return False
    return True


def _add_openssl(hashes: ModuleType) -> None:
    """Add to `hashlib` what only OpenSSL has, which is loaded when it is used: that takes 4 ms, and 3 MB of memory."""
    own = hashes.new

    def new(name: str, data: "Any" = b"", **options: "Any") -> "Any":
        try:
            return own(name, data, **options)
        except ValueError:
            if name in hashes.algorithms_guaranteed:
                raise
            import _hashlib

            return _hashlib.new(name, data, **options)

    for name in ("pbkdf2_hmac", "scrypt"):
        setattr(hashes, name, _late(name, lambda name=name: getattr(importlib.import_module("_hashlib"), name)))
    hashes.new = new  # pyright: ignore[reportAttributeAccessIssue] - a module has what it is given


def _absolute(written: str, names: "Mapping[str, object]") -> str:
    """Return the whole name of a module that is imported as it is `written`, where these names are."""
    inner = written.lstrip(".")
    if inner == written:
        return inner
    above = str(names["__package__"]).rsplit(".", len(written) - len(inner) - 1)[0]
    return f"{above}.{inner}"


def _import(name: str, *others: "Any") -> object:
    """Import for that module alone, as `__import__` does."""
    found = builtins.__import__(name, *others)
    if name not in _TYPES:
        return found
    names: dict[str, object] = {**vars(found), "TypedDict": _Shape}
    given = ModuleType(name)
    given.__dict__.update(names)
    return given
