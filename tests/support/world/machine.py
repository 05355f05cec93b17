"""What tests use of this machine: a Python that confined commands see, and a PATH, wherever the clone and its environment are.

A test has a home and a temp folder of its own. Programs below those of the user do not exist there, or start what does not, as the
shims of pyenv do; an environment in the clone is hidden where the clone is below the temp folder.
"""

import os
import pwd
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

PYTHON = os.path.realpath(sys.executable)
"""The Python on which this environment is based, for scripts that need no package and may be confined."""

_CLONE = Path(__file__).resolve().parents[3]
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")


def choose_path(environ: Mapping[str, str]) -> str:
    """Return a PATH with the folder of `PYTHON` first, then those that are below no home, temp folder, clone or environment."""
    hidden = [Path(os.path.realpath(folder)) for folder in _hidden(environ)]
    entries = [entry for entry in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]
    real = {entry: Path(os.path.realpath(entry)) for entry in entries}
    kept = [entry for entry in entries if not any(real[entry].is_relative_to(folder) for folder in hidden)]
    return os.pathsep.join(dict.fromkeys((os.path.dirname(PYTHON), *kept, "/usr/bin", "/bin")))


def _hidden(environ: Mapping[str, str]) -> Iterator[str]:
    yield from _SHARED
    yield tempfile.gettempdir()
    yield str(_CLONE)
    yield environ.get("HOME", "") or "/root"
    yield pwd.getpwuid(os.getuid()).pw_dir
    if sys.prefix != sys.base_prefix:
        yield sys.prefix
