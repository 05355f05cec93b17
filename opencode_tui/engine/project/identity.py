"""The id of a repository: the hash of its first root commit, found once and kept in our cache folder.

The lexically smallest root commit of all refs decides. A kept id stays while the repository lives, also when a branch with a
smaller root appears later: sessions are filed under it. `.git/opencode` is read, never written. Source: reference, section 4.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from opencode_tui.engine.project.repository import Repository, read_small
from opencode_tui.schema.project import GLOBAL_PROJECT
from opencode_tui.storage.paths import ensure

_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")


def identify(repository: Repository, *, cache: Path, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the project id and what the person should be warned of.

    `global` when there is no commit. Reads two small files when the id is known, else runs git once (blocks). Raises
    GitUnavailableError when git cannot tell.
    """
    entry = cache / "project" / f"{hashlib.sha256(os.fsencode(repository.common_dir)).hexdigest()[:40]}.json"
    stamp = _stamp(repository.common_dir)
    kept, kept_stamp = _read_entry(entry)
    if kept is not None and kept_stamp == stamp:
        return kept, ()
    found = _shared_id(repository.common_dir) or _first_root(repository, kept, environ)
    return found, () if found == GLOBAL_PROJECT else _keep(entry, found, stamp)


def _shared_id(common_dir: Path) -> str | None:
    text = (read_small(common_dir / "opencode") or "").strip()
    return text if text == GLOBAL_PROJECT or _COMMIT.match(text) else None


def _first_root(repository: Repository, kept: str | None, environ: Mapping[str, str]) -> str:
    if not _may_have_commits(repository):
        return GLOBAL_PROJECT
    from opencode_tui.engine.project.root_commits import list_root_commits  # needed once in the life of a repository

    roots = [line for line in list_root_commits(repository.common_dir, environ=environ) if _COMMIT.match(line)]
    if kept in roots:
        return str(kept)
    return min(roots, default=GLOBAL_PROJECT)


def _may_have_commits(repository: Repository) -> bool:
    """Tell whether git must be asked: a fresh repository has no ref at all, so no process is needed to know it has no commit."""
    common = repository.common_dir
    if any((common / name).exists() for name in ("packed-refs", "reftable", "worktrees")):
        return True
    if not (read_small(repository.git_dir / "HEAD") or "").startswith("ref:"):
        return True
    return any(files for _, _, files in os.walk(common / "refs"))


def _stamp(common_dir: Path) -> str:
    """Return what tells this repository from a later one at the same path: git writes `description` once, when it makes one."""
    made = [str(os.stat(common_dir).st_ino)]
    for name in ("description", "objects"):
        try:
            facts = os.stat(common_dir / name)
        except OSError:
            continue
        made.append(f"{facts.st_ino}" if name == "objects" else f"{facts.st_ino}:{facts.st_mtime_ns}")
    return " ".join(made)


def _read_entry(entry: Path) -> tuple[str | None, str]:
    try:
        data = json.loads(read_small(entry) or "null")
        name, stamp = str(data["id"]), str(data["stamp"])
    except (ValueError, KeyError, TypeError):
        return None, ""
    return (name, stamp) if _COMMIT.match(name) else (None, "")


def _keep(entry: Path, name: str, stamp: str) -> tuple[str, ...]:
    """Write the cache entry in one rename; a cache that cannot be written costs time at each start, never the start itself."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=ensure(entry.parent), suffix=".tmp")
        with open(handle, "w", encoding="utf-8") as file:
            json.dump({"id": name, "stamp": stamp}, file)
        os.replace(temporary, entry)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        return (f"{entry.parent}: the project id cannot be kept ({error.strerror}); make the folder writable",)
    return ()
