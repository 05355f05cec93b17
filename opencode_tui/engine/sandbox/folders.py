"""The folders that a confined command may reach: the system, toolchains, the project, and caches of tools.

Nothing of the home is readable but what is listed here. What a repository or an earlier command wrote never adds a folder: links
in the project count only where they lead to an installation of Python. `/dev`, `/proc` and `/sys` are left to the tier.
Source: docs/internals/sandbox.md#policy.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.repository import Repository, names_worktree
from opencode_tui.programs import Lead, follow
from opencode_tui.storage.paths import real_path

_SYSTEM = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/snap", "/gnu",
    "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/texmf", "/var/lib/ghc", "/var/lib/alternatives", "/var/lib/snapd",
    "/var/cache/fontconfig", "/System", "/Library", "/Applications", "/private/etc", "/private/var/select",
    "/private/var/db/timezone",
)  # fmt: skip

_TOOLCHAINS = (
    ".rustup", ".cargo/bin", ".pyenv", ".nvm", ".volta", ".asdf", ".sdkman", ".bun/bin", ".deno/bin", ".rbenv", ".goenv", ".nodenv",
    ".jenv", ".fnm", ".ghcup", ".cabal/bin", ".opam", ".juliaup", ".dotnet", ".jdks", ".linuxbrew", ".nix-profile", ".gem/ruby",
    ".pixi/bin", ".m2/wrapper", ".virtualenvs", "go/bin", "miniconda3", "miniforge3", "mambaforge", "anaconda3", "Android/Sdk",
    "Library/Android/sdk", ".local/bin", ".local/lib", ".local/libexec", ".local/include", ".local/share/uv", ".local/share/pipx",
    ".local/share/mise", ".local/share/fnm", ".local/share/pnpm", ".local/share/virtualenvs", ".local/share/pypoetry",
    ".local/state/nix/profiles", ".cache/ms-playwright", ".cache/node/corepack",
)  # fmt: skip
"""Programs that users install below their home."""

_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "GOROOT", "PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "SDKMAN_DIR", "ANDROID_HOME",
    "ANDROID_SDK_ROOT", "VOLTA_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "RBENV_ROOT", "DOTNET_ROOT", "NODE_PATH", "LD_LIBRARY_PATH",
    "PYTHONPATH", "PYTHONHOME", "PKG_CONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "PIP_FIND_LINKS",
)  # fmt: skip
"""Variables of the user that name toolchains, libraries and certificates; some are lists separated by colons."""

_PRIVATE = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    ".password-store", ".mozilla", ".thunderbird", ".local/share", ".local/state", ".bash_history", ".zsh_history",
    ".python_history", ".pgpass", ".my.cnf",
    ".terraform.d", ".vault-token", ".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".claude", ".codex", ".gemini", "Library/Keychains", "Library/Application Support",
)  # fmt: skip
"""What a folder of programs never contains, relative to the home."""

_SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp")
"""Temp folders of all users and programs."""
_BINARIES = frozenset({"bin", "sbin", "shims", ".bin", "scripts", "cmd", "condabin"})
_LINK_LIMIT = 2_000
_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)*)?t?")
_GIT_FILES = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_HARMLESS_FILES = (
    *_GIT_FILES,
    ".config/go/env",
    ".cargo/env",
    ".m2/settings.xml",
    ".hgrc",
    ".editorconfig",
    ".tool-versions",
)
_INCLUDED = re.compile(
    r"^[ \t]*(?:path|excludesfile|attributesfile|template)[ \t]*=[ \t]*\"?([^\"\n]+?)\"?[ \t\r]*$", re.I | re.M
)
CREDENTIAL = re.compile(
    r"://[^/\s@]+@|authorization|extraheader|password|passphrase|privatekey|_auth|\btoken\b|_token\b|secret", re.I
)
_INCLUDE_DEPTH = 3
GIT_CONFIG_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
"""Variables that name a file of settings of git in place of the usual ones."""
NO_VARIABLES: Mapping[str, str] = {}
_SMALL_FILE_BYTES = 256 * 1024


class Surroundings(Struct, frozen=True):
    """The user's home, the folders of this program that no command may reach, and the project, which commands may write.

    All are real paths, because they are compared with real paths.
    """

    home: Path
    own: tuple[Path, ...]
    project: Path

    def follow(self, path: Path, writable: Sequence[Path] = ()) -> Lead:
        """Return where a path of the user leads, and whether a command may have led it there. Blocks for a few lookups."""
        return follow(path, self.project, {"HOME": str(self.home)}, writable)

    def find(self, path: Path) -> Path | None:
        """Return where a path of the user leads; None where nothing is, or where a command may have led it. Blocks."""
        lead = self.follow(path)
        return None if lead.is_led_out or not lead.real.exists() else lead.real

    def private(self) -> list[Path]:
        """Return what holds secrets or data of other programs, existing or not; of a link its name and where it leads."""
        return [*self.own, *_private_paths(self.home)]

    def is_too_broad(self, folder: Path) -> bool:
        """Return whether a folder contains the home or something private, or is part of our own folders."""
        if folder.parent == folder or self.home.is_relative_to(folder) or str(folder) in _SHARED:
            return True
        return any(one.is_relative_to(folder) for one in self.private()) or any(
            folder.is_relative_to(one) for one in self.own
        )


@lru_cache(maxsize=16)
def _private_paths(home: Path) -> tuple[Path, ...]:
    """Return what is private in a home, kept: each look at toolchains asks for it some fifty times."""
    named = [home / name for name in _PRIVATE]
    return tuple(dict.fromkeys((*named, *map(real_path, named))))


def system_folders() -> tuple[Path, ...]:
    """Return the existing folders of the operating system with their programs and settings."""
    return _existing(Path(name) for name in _SYSTEM)


def toolchain_folders(environ: Mapping[str, str], around: Surroundings) -> tuple[Path, ...]:
    """Return the toolchains and libraries outside the system: those of PATH, of known variables, and below the home.

    Blocks: reads the links in the folders of PATH.
    """
    found: list[Path] = []
    for name in _TOOLCHAINS:
        found += _followed(around.home / name, around)
    for entry in _listed(environ, "PATH"):
        found += _prefix_of_path_entry(entry, around)
    for name in _VARIABLES:
        for path in _listed(environ, name):
            found += [one for one in _followed(path, around) if not around.is_too_broad(one)]
    for name in (".venv", "venv"):
        found += _python_bases(around.project / name / "bin", around)
    return _existing(found)


def program_folders(program: str, around: Surroundings) -> tuple[Path, ...]:
    """Return what a program needs that a setting names by its path, as it does for one on PATH. Blocks."""
    return _existing(_prefix_of_path_entry(Path(program).parent, around)) if os.path.isabs(program) else ()


def harmless_files(around: Surroundings, environ: Mapping[str, str] = NO_VARIABLES) -> tuple[Path, ...]:
    """Return the user's settings files that tools need and that hold no credentials, with the files that git's include. Blocks.

    `environ` may name git's files elsewhere.
    """
    found: list[Path] = []
    of_git = [path for name in GIT_CONFIG_VARIABLES for path in _listed(environ, name) if not _is_private(path, around)]
    for folder in _listed(environ, "XDG_CONFIG_HOME"):
        of_git += [folder / name.removeprefix(".config/") for name in _GIT_FILES if name.startswith(".config/")]
    waiting = [(path, 0) for path in (*of_git, *(around.home / name for name in _HARMLESS_FILES))]
    while waiting:
        path, depth = waiting.pop()
        real = around.find(path)
        text = None if real is None else _read(real)
        if text is None or CREDENTIAL.search(text):
            continue
        found.append(path)
        if depth < _INCLUDE_DEPTH and (path in of_git or "git" in path.parts[-1] + path.parts[-2]):
            names = [re.sub(r"^~(?=/)", str(around.home), name) for name in _INCLUDED.findall(text)]
            included = [path.parent / name for name in names]
            waiting += [(one, depth + 1) for one in included if one not in found and not _is_private(one, around)]
    return _existing(found)


def git_folder(repository: Repository | None, project: Path) -> tuple[Path, ...]:
    """Return the git folder outside the project that belongs to this work tree, if any: of a linked work tree or a submodule.

    The folder must name this work tree in turn. Blocks.
    """
    if repository is None or repository.common_dir.is_relative_to(project):
        return ()
    return (repository.common_dir,) if names_worktree(repository) else ()


def _followed(path: Path, around: Surroundings) -> Iterator[Path]:
    """Yield where a path leads. Where a command may have led it out of the project, it must be an installation of Python."""
    lead = around.follow(path)
    prefix = lead.real.parent if lead.real.name.lower() in _BINARIES else lead.real
    if not lead.is_led_out or (_is_environment(prefix) and not _is_private(prefix, around)):
        yield lead.real


def _prefix_of_path_entry(entry: Path, around: Surroundings) -> Iterator[Path]:
    real = next(_followed(entry, around), None)
    if real is None or _is_system(real) or _is_private(real, around) or around.is_too_broad(real):
        return
    yield real
    if real.is_relative_to(around.project):
        yield from _python_bases(real, around)
        return
    if real.name.lower() in _BINARIES and real.parent.name != ".cargo" and not around.is_too_broad(real.parent):
        yield real.parent
    yield from _link_targets(real, around)


def _link_targets(folder: Path, around: Surroundings) -> Iterator[Path]:
    """Yield where the links of a folder of programs lead: an installation as a whole, else the file."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for _, entry in zip(range(_LINK_LIMIT), entries, strict=False) if entry.is_symlink()]
    except OSError:
        return
    hops = [os.path.normpath(os.path.join(folder, os.readlink(link))) for link in links]
    for hop in hops:  # the Python of a virtual environment is a link itself
        if (prefix := Path(hop).parent.parent) != folder.parent and (prefix / "pyvenv.cfg").is_file():
            real = around.follow(prefix).real
            if (real / "pyvenv.cfg").is_file() and not _is_private(real, around) and not around.is_too_broad(real):
                yield real
    for link in links:
        real, is_led_out = (lead := around.follow(Path(link))).real, lead.is_led_out
        if is_led_out or real.is_relative_to(folder) or _is_system(real) or _is_private(real, around):
            continue
        prefix = real.parent.parent
        if real.parent.name.lower() in _BINARIES and _is_installation(prefix) and not around.is_too_broad(prefix):
            yield prefix
        elif real.is_file():
            yield real


def _python_bases(folder: Path, around: Surroundings) -> Iterator[Path]:
    """Yield the installations of Python to which the links of a virtual environment lead."""
    try:
        names = [name for name in os.listdir(folder) if _PYTHON.fullmatch(name)]
    except OSError:
        return
    for name in names:
        prefix = Path(os.path.realpath(folder / name)).parent.parent
        if not _is_system(prefix) and _is_python(prefix) and not around.is_too_broad(prefix):
            yield prefix


def _is_installation(prefix: Path) -> bool:
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "lib" / "node_modules").is_dir() or _is_python(prefix)


def _is_environment(prefix: Path) -> bool:
    return (prefix / "pyvenv.cfg").is_file() or _is_python(prefix)


def _is_python(prefix: Path) -> bool:
    return any(prefix.glob("lib/python3*/os.py"))


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(name) for name in _SYSTEM)


def _is_private(path: Path, around: Surroundings) -> bool:
    """Return whether a path is below a private folder that is not one of configuration or data of many programs."""
    named = [around.home / name for name in (".config", ".local/share", ".local/state")]
    shared = {*named, *map(real_path, named)}
    return any(path.is_relative_to(one) for one in around.private() if one not in shared)


def _listed(environ: Mapping[str, str], name: str) -> list[Path]:
    return [Path(part) for part in environ.get(name, "").split(os.pathsep) if os.path.isabs(part)]


def _read(path: Path) -> str | None:
    """Return the text of a small file, None where there is none; a device is none."""
    try:
        if not path.is_file() or path.stat().st_size > _SMALL_FILE_BYTES:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that exist, with links resolved, once each and without those below another."""
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in paths if os.path.exists(path))
    return without_nested(list(real))


def find_named(written: Iterable[str], home: Path, worktree: Path, origins: Sequence[Path] = ()) -> list[Path]:
    """Return the existing paths that settings name: relative to the work tree, with `~`, `*` and `**`. Links stay. Blocks.

    What they name in one of the `origins`, whose copy the work tree is, they name in the work tree, too.
    """
    found: dict[str, None] = {}
    names: dict[str, None] = {}
    for text in written:
        name = os.path.normpath(home / text[2:] if text == "~" or text.startswith("~/") else worktree / text)
        names[name] = None
        for origin in origins:
            if (inner := _below_origin(name, origin)) is not None:
                names[os.path.normpath(worktree / inner)] = None
    for name in names:
        matches = [name] if os.path.exists(name) else glob.glob(name, recursive=True, include_hidden=True)
        found |= dict.fromkeys(match for match in matches if os.path.exists(match))
    return [Path(name) for name in found]


def hides(written: Iterable[str], home: Path, worktree: Path, origins: Sequence[Path], path: str) -> bool:
    """Return whether settings name a path or a folder above it, whether it exists or not. Pure."""
    parts = path.split("/")
    for text in written:
        name = os.path.normpath(home / text[2:] if text == "~" or text.startswith("~/") else worktree / text)
        mapped = (_below_origin(name, origin) for origin in origins)
        for one in (name, *(os.path.normpath(worktree / inner) for inner in mapped if inner is not None)):
            if _names(one.split("/"), parts):
                return True
    return False


def _names(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the segments of a pattern match a path, or a folder above it."""
    reached = {0}
    for at in range(len(parts) + 1):
        reached = {step for state in reached for step in _past(pattern, state)}
        if len(pattern) in reached:
            return True
        if at < len(parts):
            reached = {
                state if pattern[state] == "**" else state + 1
                for state in reached
                if pattern[state] == "**" or fnmatch.fnmatchcase(parts[at], pattern[state])
            }
    return False


def _past(pattern: Sequence[str], state: int) -> Iterable[int]:
    """Yield a state, and those after each `**` that may stand for no folder."""
    yield state
    while state < len(pattern) and pattern[state] == "**":
        state += 1
        yield state


def _below_origin(name: str, origin: Path) -> str | None:
    """Return the rest of a path or pattern below a folder; None where it is not below it."""
    parts = name.split("/")
    for place, part in enumerate(str(origin).split("/")):
        if place < len(parts) and parts[place] == "**":
            return "/".join(parts[place:])
        if place >= len(parts) or not (parts[place] == part or fnmatch.fnmatchcase(part, parts[place])):
            return None
    return "/".join(parts[len(str(origin).split("/")) :])


def without_nested(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths that are not below another of them."""
    given = set(paths)
    return tuple(path for path in dict.fromkeys(paths) if not any(parent in given for parent in path.parents))
