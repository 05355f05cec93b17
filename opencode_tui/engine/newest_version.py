"""The newest published version of this program: looked up with pip, in the package index that the user configured for it.

Nothing is installed or changed. Without pip in its environment there is no answer. Nor is there one for an installation that is
from no index, such as one of a clone: the name could be a stranger's in the index.
"""

import importlib.util
import json
import logging
import re
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from opencode_tui import __version__
from opencode_tui.engine.project.programs import Program, run_program
from opencode_tui.origin import NAME, find_origin
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import Clock
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths

CHECK_EVERY_MS = 24 * 3600 * 1000
"""A look this soon after the one before, also one without an answer, gets its answer from the cache."""

CONNECT_S = 3
LIMIT_S = 15.0
"""Seconds that pip has in all; it takes one to start."""

_FIRST = re.compile(rf"^{NAME} \((\d+(?:\.\d+)*)\)", re.MULTILINE)
_RELEASE = re.compile(r"\d+(?:\.\d+)*")

logger = logging.getLogger(__name__)


async def find_newer(paths: Paths, environ: Mapping[str, str], clock: Clock, installed: Distribution | None) -> str:
    """Return the newest version if it is newer than this program, else an empty text; looks once a day, for at most 15 s.

    `installed` is the distribution of this program. A failure is logged and counts as no answer.
    """
    if installed is None or find_origin(installed) is not None:
        logger.info("autoupdate: this program was not installed from a package index, so newer versions are not known")
        return ""
    path = paths.cache / "newest-version.json"
    newest, checked = _read(path)
    if not 0 <= clock() - checked < CHECK_EVERY_MS:
        newest = await _look(paths.home, environ)
        try:
            AtomicWriter(FileSystem()).write(str(path), json.dumps({"newest": newest, "checked": clock()}).encode())
        except (OSError, StorageError) as error:
            logger.warning("%s cannot be written: %s", path, error)
    return newest if is_newer(newest, __version__) else ""


def is_newer(version: str, than: str) -> bool:
    """Return whether a release is newer than a version, whose development suffix counts as older than its release."""
    old = _RELEASE.match(than)
    if not _RELEASE.fullmatch(version) or old is None:
        return False
    one, other = ([int(part) for part in text.split(".")] for text in (version, old[0]))
    length = max(len(one), len(other))
    one, other = ([*parts, *[0] * (length - len(parts))] for parts in (one, other))
    return one > other or (one == other and bool(re.match(r"\.?(?:dev|a|b|rc)\d", than[old.end() :])))


def _read(path: Path) -> tuple[str, int]:
    """Return the cached version and the time of the look."""
    try:
        known: Any = json.loads(path.read_bytes())
        return str(known["newest"]), int(known["checked"])
    except (OSError, ValueError, TypeError, KeyError):
        return "", 0


async def _look(home: Path, environ: Mapping[str, str]) -> str:
    if importlib.util.find_spec("pip") is None:
        logger.info("autoupdate: pip is not installed beside this program, so newer versions are not known")
        return ""
    argv = [sys.executable, "-I", "-m", "pip", "index", "versions", NAME, "--disable-pip-version-check", "--no-input"]
    argv += ["--retries", "0", "--timeout", str(CONNECT_S)]
    try:
        ran = await run_program(Program(argv, home, environ), b"", limit_s=LIMIT_S)
    except (OSError, TimeoutError) as error:
        logger.info("autoupdate: pip gave no answer: %s", error)
        return ""
    found = _FIRST.search(ran.output.decode("utf-8", "replace"))
    return found[1] if found else ""
