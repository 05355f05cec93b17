"""Where tools keep their caches in a confined command: in the user's own where they exist, else in our folder of the worktree.

Nothing is created in the home. A tool whose cache lies beside programs or settings gets a folder of its own, with links to the
parts of the user's that it may use. Source: SPEC, section 6.1.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.sandbox.folders import Surroundings, harmless_files
from opencode_tui.storage.paths import ensure

_FOLDERS = {
    "PIP_CACHE_DIR": ".cache/pip",
    "UV_CACHE_DIR": ".cache/uv",
    "GOCACHE": ".cache/go-build",
    "GOMODCACHE": "go/pkg/mod",
    "CCACHE_DIR": ".cache/ccache",
    "NUGET_PACKAGES": ".nuget/packages",
}
"""Caches that a variable names, with their usual folders below the home."""


class _Linked(Struct, frozen=True):
    """A tool's folder, of which some parts are caches, and some are programs or settings that may be read."""

    folder: str
    caches: tuple[str, ...]
    readable: tuple[str, ...] = ()


_LINKED = {
    "CARGO_HOME": _Linked(".cargo", ("registry", "git"), ("bin", "config.toml", "config")),
    "GRADLE_USER_HOME": _Linked(".gradle", ("caches",), ("wrapper", "jdks")),
    "npm_config_cache": _Linked(".npm", ("_cacache",)),
}
_MAVEN = ".m2/repository"
_CONFIGURATION = (".config/git", ".config/go/env")
"""Below the home: what tools look for in XDG_CONFIG_HOME; linked there."""


class Caches(Struct, frozen=True):
    """Folders that commands may write and read besides the project, and the variables that point tools to them."""

    write: tuple[Path, ...]
    read: tuple[Path, ...]
    environ: Mapping[str, str]


def find_caches(environ: Mapping[str, str], around: Surroundings, own: Path) -> Caches:
    """Return the caches of tools; `own` is our folder for those that the user does not have, which is created. Blocks."""
    ensure(own)
    write: list[Path] = [own]
    read: list[Path] = list(harmless_files(around))
    names: dict[str, str] = {"XDG_CACHE_HOME": str(own), "npm_config_update_notifier": "false"}
    for name, usual in _FOLDERS.items():
        folder = _existing(Path(environ.get(name) or _usual(environ, around.home, usual)), around)
        names[name] = str(folder or own / name.lower())
        write += [folder] if folder else []
    for name, linked in _LINKED.items():
        theirs = Path(environ.get(name) or around.home / linked.folder)
        ours = ensure(own / linked.folder.removeprefix("."))
        names[name] = str(ours)
        for part in (*linked.caches, *linked.readable):
            found = _existing(theirs / part, around)
            if found is None or (found.is_file() and found not in read):
                continue
            _link(ours / part, found)
            (write if part in linked.caches else read).append(found)
    repository = _existing(around.home / _MAVEN, around)
    if repository is not None:
        write.append(repository)
    else:
        names["MAVEN_OPTS"] = f"{environ.get('MAVEN_OPTS', '')} -Dmaven.repo.local={own / 'maven'}".strip()
    names["XDG_CONFIG_HOME"] = str(_configuration(ensure(own / "config"), environ, around))
    names["XDG_STATE_HOME"] = str(ensure(own / "state"))
    if (around.home / ".gitconfig").is_symlink() and Path(os.path.realpath(around.home / ".gitconfig")) in read:
        names["GIT_CONFIG_GLOBAL"] = os.path.realpath(around.home / ".gitconfig")
    return Caches(tuple(dict.fromkeys(write)), tuple(dict.fromkeys(read)), names)


def _usual(environ: Mapping[str, str], home: Path, name: str) -> Path:
    """Return the usual path of a cache or of settings in the home or the user's XDG folder."""
    for prefix, variable in ((".cache/", "XDG_CACHE_HOME"), (".config/", "XDG_CONFIG_HOME")):
        folder = environ.get(variable, "")
        if name.startswith(prefix) and os.path.isabs(folder):
            return Path(folder, name.removeprefix(prefix))
    return home / name


def _configuration(folder: Path, environ: Mapping[str, str], around: Surroundings) -> Path:
    """Return our folder for the settings of tools, with links to the user's that hold no credentials."""
    for name in _CONFIGURATION:
        found = Path(os.path.realpath(_usual(environ, around.home, name)))
        if found.exists():
            target = folder / name.removeprefix(".config/")
            ensure(target.parent)
            _link(target, found)
    return folder


def _existing(path: Path, around: Surroundings) -> Path | None:
    """Return the real path of a part that exists; None for one that is a link to something broad."""
    if not path.exists():
        return None
    real = Path(os.path.realpath(path))
    return None if around.is_too_broad(real) and real.is_dir() else real


def _link(link: Path, target: Path) -> None:
    """Make a link in our folder; what a command has put there instead stays, as it is only for commands of this worktree."""
    with suppress(FileExistsError):
        link.symlink_to(target)
