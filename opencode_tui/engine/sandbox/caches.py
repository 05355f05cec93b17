"""Where tools keep their caches in a confined command: in folders of ours, for this project alone.

The user's own caches are read-only: a file that a command changes there would run outside later, as a wheel, a module or a program
that `uv tool install` made of hard links. Tools read them through where they can, else get links and copies (`cache_copies.py`).
`experimental.sandbox.writable` gives one back: its tool then uses the user's. Commands outside never use ours.

Nothing is created in the home. In our folder of the project, commands write below `TOOLS` only.
Source: docs/internals/sandbox.md#caches.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from opencode_tui.engine.sandbox.cache_copies import Part, UserCache
from opencode_tui.engine.sandbox.folders import GIT_CONFIG_VARIABLES, Surroundings, harmless_files
from opencode_tui.storage.paths import ensure
from opencode_tui.storage.safe_folder import OpenFolder, own_folder

TOOLS = "tools"
"""In our folder of a project: what commands write."""

_REPAIRED = "repaired"
_MOST_REPAIRED = 20


class _Tool(Struct, frozen=True):
    """A tool, the variable that names its folder, and that folder of the user, relative to the home.

    `parts` come to ours when a command names one of `programs`, or a runner where the project has one of `markers`; `readable` are
    further parts of the user's folder, `linked` those that are links in ours.
    """

    variable: str
    folder: str
    usual: str
    parts: tuple[Part, ...] = ()
    watched: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    readable: tuple[str, ...] = ("",)
    linked: tuple[str, ...] = ()


_C_PROGRAMS = ("ccache", "cmake", "ninja", "meson", "gcc", "g++", "cc", "c++", "clang", "clang++")
_TOOLS = (
    _Tool(
        "PIP_CACHE_DIR", "pip", ".cache/pip",
        parts=(Part("http"), Part("http-v2"), Part("wheels")),
        programs=("pip", "pip3", "tox", "nox", "pipx"),
    ),
    _Tool(
        "UV_CACHE_DIR", "uv", ".cache/uv",
        parts=(Part("archive-v*", depth=1, is_whole=True), Part("*", is_copied=True)),
        watched=("*-v*", "simple-v*/*", "wheels-v*/*"), programs=("uv", "uvx"), markers=("uv.lock",),
    ),
    _Tool(
        "GOCACHE", "go-build", ".cache/go-build",
        parts=(Part("*", is_copied=True),), programs=("go", "gopls"), markers=("go.mod",),
    ),
    _Tool("GOMODCACHE", "go-mod", "go/pkg/mod"),
    _Tool(
        "CCACHE_DIR", "ccache", ".cache/ccache",
        parts=(Part("*", is_copied=True),), programs=_C_PROGRAMS, markers=("Makefile", "CMakeLists.txt"),
    ),
    _Tool("NUGET_PACKAGES", "nuget", ".nuget/packages"),
    _Tool(
        "npm_config_cache", "npm", ".npm",
        parts=(Part("_cacache/content-v2"), Part("_cacache/index-v5", is_copied=True)),
        watched=("_cacache/tmp", "_cacache/*"), programs=("npm", "npx"), markers=("package.json",), readable=("_cacache",),
    ),
    _Tool(
        "CARGO_HOME", "cargo", ".cargo",
        parts=(
            Part("registry/index", is_copied=True), Part("registry/cache"), Part("git/db", depth=1), Part("git/checkouts", depth=2),
        ),
        watched=("registry/cache/*", "registry/index/*", "git/db", "git/checkouts/*"),
        programs=("cargo", "cross", "maturin", "rust-analyzer"), markers=("Cargo.toml",),
        readable=("registry", "git"), linked=("bin", "config.toml", "config"),
    ),
    _Tool(
        "GRADLE_USER_HOME", "gradle", ".gradle",
        parts=(Part("wrapper/dists", depth=3),),
        watched=("wrapper/dists", "wrapper/dists/*/*"), programs=("gradle", "gradlew"),
        markers=("build.gradle", "build.gradle.kts"), readable=("caches", "wrapper"), linked=("jdks",),
    ),
    _Tool(
        "PRE_COMMIT_HOME", "pre-commit", ".cache/pre-commit",
        parts=(Part("db.db", is_copied=True),), watched=("db.db",), programs=("pre-commit",),
    ),
)  # fmt: skip
"""The database of pre-commit names the user's folders of hooks by their paths; those of Cargo's registry are unpacked again."""

_MAVEN = _Tool(
    "maven.repo.local", "maven", ".m2/repository",
    parts=(Part("*", is_copied=True),), watched=("*", "*/*", "*/*/*", "*/*/*/*"), programs=("mvn", "mvnw"), markers=("pom.xml",),
)  # fmt: skip
_CONFIGURATION = (".config/git", ".config/go/env")
"""Below the home: what tools look for in XDG_CONFIG_HOME; linked there."""

_RUNNERS = frozenset({"make", "just", "task", "sh", "bash", "tox", "nox", "pre-commit", "bazel", "ninja"})
"""Programs that start tools which the command does not name."""
_WORD = re.compile(r"[\w./+-]+")
_MAVEN_REPOSITORY = re.compile(r"-Dmaven\.repo\.local=(\S+)")
_GO_PROXY = "https://proxy.golang.org,direct"
_MAVEN_WITH_TAIL = (3, 9)


class Caches(Struct, frozen=True):
    """Folders that commands may write and read besides the project, the variables that point tools to them, and what they get.

    `offline` are further variables of commands without a network, `repaired` the paths where a command had put something else.
    """

    write: tuple[Path, ...]
    read: tuple[Path, ...]
    environ: Mapping[str, str]
    offline: Mapping[str, str]
    brought: tuple[tuple[UserCache, frozenset[str], tuple[str, ...]], ...]
    repaired: tuple[Path, ...]

    def needed(self, argv: Sequence[str], project: Path) -> list[UserCache]:
        """Return the user's caches of the tools that a command may start. Blocks."""
        words = {word.rpartition("/")[2] for text in argv for word in _WORD.findall(text)}
        is_runner = not words.isdisjoint(_RUNNERS) or any("./" in text or ".sh" in text for text in argv)
        return [
            cache
            for cache, programs, markers in self.brought
            if not words.isdisjoint(programs) or (is_runner and any((project / name).exists() for name in markers))
        ]


def find_caches(environ: Mapping[str, str], around: Surroundings, own: Path, writable: Collection[Path] = ()) -> Caches:
    """Return the caches of tools. Blocks.

    `own` is our folder of the project, which is created; `writable` are the real paths that the settings let commands write.
    """
    ensure(own)
    finder = _Finder(environ, around, own / TOOLS, writable)
    finder.names |= {"XDG_CACHE_HOME": str(own / TOOLS), "npm_config_update_notifier": "false"}
    for tool in _TOOLS:
        finder.add(tool)
    finder.add_maven()
    names = finder.names
    if names["UV_CACHE_DIR"].startswith(str(own)):
        names["UV_LINK_MODE"] = "copy"
    for name in ("config", "state"):
        names[f"XDG_{name.upper()}_HOME"] = str(own / TOOLS / name)
    for name in GIT_CONFIG_VARIABLES:
        usual = around.home / ".gitconfig" if name == "GIT_CONFIG_GLOBAL" else None
        given = Path(environ[name]) if os.path.isabs(environ.get(name, "")) else usual if name not in environ else None
        if given is not None and (real := Path(os.path.realpath(given))) != given and real in finder.read:
            names[name] = str(real)  # the link itself may not be seen
    repaired = _make_folders(own, finder.links)
    return Caches(
        (own / TOOLS, *dict.fromkeys(finder.write)),
        tuple(dict.fromkeys(finder.read)),
        names,
        finder.offline,
        tuple(finder.brought),
        tuple(repaired),
    )


def repair_caches(own: Path) -> list[str]:
    """Repair our folder of a project, and return what was repaired there, also earlier, newest last. Blocks."""
    _make_folders(own, {})
    with suppress(OSError):
        return (own / _REPAIRED).read_text("utf-8", "replace").splitlines()
    return []


class _Finder:
    """Collects the folders and variables of tools."""

    def __init__(self, environ: Mapping[str, str], around: Surroundings, own: Path, writable: Collection[Path]) -> None:
        self._environ = environ
        self._around = around
        self._own = own
        self._writable = writable
        self.names: dict[str, str] = {}
        self.offline: dict[str, str] = {}
        self.write: list[Path] = []
        self.read: list[Path] = list(harmless_files(around, environ))
        self.links: dict[str, Path] = {}
        self.brought: list[tuple[UserCache, frozenset[str], tuple[str, ...]]] = []
        for name in _CONFIGURATION:
            found = around.find(_usual(environ, around.home, name))
            if found is not None:
                self.links[f"config/{name.removeprefix('.config/')}"] = found

    def add(self, tool: _Tool) -> None:
        """Point a tool to our folder, or to the user's where commands may write it: in the project, or by the settings.

        What commands may write is not read by us: they can put links there in the meantime.
        """
        theirs = self._find(tool)
        self.names[tool.variable] = str(self._own / tool.folder)
        if theirs is None:
            return
        if self._is_writable(theirs):
            self.names[tool.variable] = str(theirs)
            return
        self._add_readable(tool, theirs)
        if tool.variable == "GOMODCACHE":
            self._read_go_through(theirs / "cache/download")
        elif tool.variable == "NUGET_PACKAGES":
            given = self._environ.get("NUGET_FALLBACK_PACKAGES", "")
            self.names["NUGET_FALLBACK_PACKAGES"] = ";".join(filter(None, (str(theirs), given)))
        elif tool.variable == "GRADLE_USER_HOME" and "GRADLE_RO_DEP_CACHE" not in self._environ:
            self.names["GRADLE_RO_DEP_CACHE"] = str(theirs / "caches")

    def add_maven(self) -> None:
        """Point Maven to our repository; from 3.9 on it reads the user's through, before, what it needs is copied."""
        options = self._environ.get("MAVEN_OPTS", "")
        named = _MAVEN_REPOSITORY.search(options)
        theirs = Path(named[1]) if named is not None else self._around.home / _MAVEN.usual
        found = _existing(theirs, self._around)
        if found is not None and self._is_writable(found):
            return
        added = [f"-Dmaven.repo.local={self._own / _MAVEN.folder}"]
        if found is not None:
            added.append(f"-Dmaven.repo.local.tail={found}")
            self._add_readable(_MAVEN, found, is_copied=not _reads_tail(self._environ))
        self.names["MAVEN_OPTS"] = " ".join(filter(None, (options, *added)))

    def _add_readable(self, tool: _Tool, theirs: Path, *, is_copied: bool = True) -> None:
        for name in (*tool.readable, *tool.linked):
            found = _existing(theirs / name, self._around)
            if found is None or (found.is_file() and found not in self.read):
                continue
            self.read.append(found)
            if name in tool.linked:
                self.links[f"{tool.folder}/{name}"] = found
        if tool.parts and is_copied:
            cache = UserCache(tool.programs[0], theirs, tool.folder, tool.parts, tool.watched)
            self.brought.append((cache, frozenset(tool.programs), tool.markers))

    def _find(self, tool: _Tool) -> Path | None:
        """Return the user's folder of a tool, if it exists."""
        go_path = self._environ.get("GOPATH", "").partition(os.pathsep)[0]
        usual = _usual(self._environ, self._around.home, tool.usual)
        if tool.variable == "GOMODCACHE" and os.path.isabs(go_path):
            usual = Path(go_path, "pkg/mod")
        named = self._environ.get(tool.variable, "")
        path = Path(named) if os.path.isabs(named) else usual
        if tool.readable == ("",):
            return _existing(path, self._around)
        found = self._around.find(path)
        return found if found is not None and found.is_dir() else None  # only its parts are opened

    def _is_writable(self, folder: Path) -> bool:
        return any(folder.is_relative_to(one) for one in (self._around.project, *self._writable))

    def _read_go_through(self, downloads: Path) -> None:
        """Let go find modules in the user's downloads first, private ones too where no network would learn their names."""
        if not downloads.is_dir():
            return
        settings = {**self._go_settings(), **self._environ}
        self.names["GOPROXY"] = f"file://{quote(str(downloads))},{settings.get('GOPROXY') or _GO_PROXY}"
        if settings.get("GOPRIVATE") or settings.get("GONOPROXY"):
            self.offline["GONOPROXY"] = "none"

    def _go_settings(self) -> dict[str, str]:
        """Return what `go env -w` has written."""
        path = Path(self._environ.get("GOENV") or _usual(self._environ, self._around.home, ".config/go/env"))
        with suppress(OSError):
            lines = path.read_text("utf-8", "replace").splitlines()
            return {name: value for name, is_set, value in (line.partition("=") for line in lines) if is_set}
        return {}


def _usual(environ: Mapping[str, str], home: Path, name: str) -> Path:
    """Return the usual path of a cache or of settings in the home or the user's XDG folder."""
    for prefix, variable in ((".cache/", "XDG_CACHE_HOME"), (".config/", "XDG_CONFIG_HOME")):
        folder = environ.get(variable, "")
        if name.startswith(prefix) and os.path.isabs(folder):
            return Path(folder, name.removeprefix(prefix))
    return home / name


def _existing(path: Path, around: Surroundings) -> Path | None:
    """Return the real path of a part that exists; None for one that leads to something broad, or where a command may lead it."""
    real = around.find(path)
    return None if real is None or (around.is_too_broad(real) and real.is_dir()) else real


def _reads_tail(environ: Mapping[str, str]) -> bool:
    """Return whether the Maven on PATH reads a second repository. Its version is in the names of its libraries."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        program = Path(folder, "mvn")
        if os.path.isabs(folder) and program.exists():
            libraries = Path(os.path.realpath(program)).parent.parent / "lib"
            found = [
                re.search(r"-(\d+)\.(\d+)[.\d]*\.jar$", os.path.realpath(one))
                for one in libraries.glob("maven-core-*.jar")
            ]
            return any(one is not None and (int(one[1]), int(one[2])) >= _MAVEN_WITH_TAIL for one in found)
    return False


def _make_folders(own: Path, links: Mapping[str, Path]) -> list[Path]:
    """Make our folders and the links in them; return where something else was that a command had put there."""
    repaired: list[Path] = []
    for folder in ("config", "state", *(tool.folder for tool in (*_TOOLS, _MAVEN))):
        with own_folder(own, f"{TOOLS}/{folder}", repaired):
            pass
    for name, target in links.items():
        folder, _, link = f"{TOOLS}/{name}".rpartition("/")
        with own_folder(own, folder, repaired) as opened:
            _link(opened, link, target)
    if repaired:
        _record_repaired(own, repaired)
    return repaired


def _link(folder: OpenFolder, name: str, target: Path) -> None:
    """Make a link; what a tool or a command has put there instead stays, as it is only for commands of this project."""
    present = folder.find(name)
    if present is None:
        with suppress(FileExistsError):
            folder.make_link(os.fsencode(target), name)


def _record_repaired(own: Path, repaired: Iterable[Path]) -> None:
    lines = [f"a command had put something else in the place of our folder {path}" for path in repaired]
    with suppress(OSError):
        known = (own / _REPAIRED).read_text("utf-8", "replace").splitlines() if (own / _REPAIRED).exists() else []
        (own / _REPAIRED).write_text("\n".join(dict.fromkeys((*known, *lines)[-_MOST_REPAIRED:])))
