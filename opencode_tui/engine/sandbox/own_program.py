"""What this program consists of, so that commands cannot change what runs unconfined at its next start, wherever it lies."""

import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.sandbox.folders import without_nested
from opencode_tui.engine.sandbox.tier import Tier

_PACKAGE = Path(os.path.realpath(__file__)).parents[2]
_HOLDING: tuple[Tier, ...] = ("bubblewrap", "seatbelt")
"""The tiers that can except a path from a writable folder."""


class Installation(Struct, frozen=True):
    """The real paths of a program: its own package, all that was installed with it, and where it looks for modules."""

    source: Path
    parts: tuple[Path, ...]
    modules: tuple[Path, ...]


class OwnProgram(Struct, frozen=True):
    """What of this program is to be read-only for commands, and why they can change it all the same, empty where they cannot."""

    read_only: tuple[Path, ...]
    exposed: str


@cache
def find_installation() -> Installation:
    """Return this program, without what does not exist. Blocks for some lookups, once."""
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    modules = [_path_of(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    programs = (os.path.dirname(sys.executable), os.path.realpath(sys.executable), _path_of("scripts"))
    settings = (os.path.join(prefix, "pyvenv.cfg") for prefix in prefixes)
    return Installation(
        _PACKAGE,
        _existing((*prefixes, *modules, *programs, *settings)),
        _existing((*modules, *filter(os.path.isabs, sys.path))),
    )


def _path_of(name: str) -> str:
    """Return a folder of Python's installation, as `sysconfig.get_path` does, which reads 900 settings of its build for that."""
    of_version = f"{sys.version_info.major}{{}}{sys.version_info.minor}"
    known = {
        "base": sys.prefix,
        "platbase": sys.exec_prefix,
        "installed_base": sys.base_prefix,
        "installed_platbase": sys.base_exec_prefix,
        "platlibdir": sys.platlibdir,
        "implementation_lower": "python",
        "abi_thread": "t" * ("t" in sys.abiflags),
        "py_version_short": of_version.format("."),
        "py_version_nodot": of_version.format(""),
    }
    try:
        return os.path.normpath(sysconfig.get_path(name, expand=False).format_map(known))
    except KeyError:  # a distribution's own scheme, or a later Python
        return sysconfig.get_path(name)


def protect(
    installation: Installation,
    tier: Tier,
    write: Sequence[Path],
    *,
    project: Path,
    broad: Sequence[Path],
    environ: Mapping[str, str],
) -> OwnProgram:
    """Return what of this program lies below the folders that commands may write; all paths are real. Blocks for a few lookups.

    In the `broad` ones, which are not made for one project, the folders of PATH count too: other programs that we start are there.
    A program that runs from the source of the very project stays editable.
    """
    source, parts = installation.source, installation.parts
    is_installed = any(source.is_relative_to(part) for part in parts)
    is_source = source.is_relative_to(project) and not is_installed
    modules = [one for one in installation.modules if not any(one.is_relative_to(part) for part in parts)]
    of_project = [
        one for one in modules if one.is_relative_to(project) and not (is_source and source.is_relative_to(one))
    ]
    listed = _existing(filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep)))
    needed = (
        *parts,
        *(() if is_source else (source,)),
        *(one for one in modules if not one.is_relative_to(project)),
        *(one for one in listed if any(one.is_relative_to(folder) for folder in broad)),
    )
    inside = [path for path in needed if any(folder in path.parents for folder in write)]
    is_held = tier in _HOLDING
    if inside and not is_held:
        exposed = "it is installed where they may write; install it elsewhere, or bubblewrap"
    elif is_source and any(source.is_relative_to(folder) for folder in write):
        exposed = "it runs from the source of this project"
    elif any(one.is_relative_to(folder) for one in of_project for folder in write):
        exposed = "it imports from folders of this project; unset PYTHONPATH"
    elif any(folder.is_relative_to(one) for one in (source, *installation.modules) for folder in write):
        exposed = "what they may write is a part of it"
    elif any(one in broad for one in listed):
        exposed = "experimental.sandbox.writable names a folder of PATH, whose programs it starts"
    else:
        exposed = ""
    return OwnProgram(without_nested(inside) if is_held else (), exposed)


def _existing(names: Iterable[str]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(name)) for name in names if os.path.exists(name)))
