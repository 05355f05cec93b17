"""The files of a package, from a folder or a commit, checked before one is written.

Allowed are regular files, folders, and links to something in the same tree. Everything blocks.
"""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.paths import ensure
from opencode_tui.storage.safe_folder import Disk, OpenFolder

MAX_FILES = 10_000
MAX_BYTES = 64 << 20
"""Most bytes of all files of a package."""

_IGNORED = (".git",)
"""Not part of a package, at any depth."""


class Entry(Struct, frozen=True):
    """A file, or a link with its target as `data`. `path` has slashes and is relative to the root."""

    path: str
    data: bytes
    is_executable: bool = False
    is_link: bool = False


def read_folder(root: Path) -> list[Entry]:
    """Return the entries of a folder; its `.git` is left out. Raises ConfigError."""
    found: list[Entry] = []
    total = 0
    try:
        with Disk(os.path.realpath(root)).open("") as top:
            for entry in _walk(top, ""):
                found.append(entry)
                total += len(entry.data)
                if len(found) > MAX_FILES or total > MAX_BYTES:
                    raise _too_large(str(root))
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {cause_of(error)}") from error
    return found


def _walk(folder: OpenFolder, above: str) -> Iterator[Entry]:
    with folder.listing() as found:
        names = sorted(one.name for one in found)
    for name in names:
        if name in _IGNORED:
            continue
        path, status = f"{above}{name}", folder.status(name)
        if stat.S_ISDIR(status.st_mode):
            with folder.enter(name) as inner:
                yield from _walk(inner, f"{path}/")
        elif stat.S_ISLNK(status.st_mode):
            yield Entry(path, folder.read_link(name), is_link=True)
        elif stat.S_ISREG(status.st_mode):
            if status.st_size > MAX_BYTES:
                raise _too_large(path)
            data, _ = folder.read(name, MAX_BYTES)
            yield Entry(path, data, is_executable=bool(status.st_mode & stat.S_IXUSR))
        else:
            raise ConfigError(f"{path} is neither a file nor a folder; a plugin may not contain it")


def read_archive(data: bytes) -> list[Entry]:
    """Return the entries of a tar archive that git wrote. Raises ConfigError."""
    found: list[Entry] = []
    total = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            if member.isdir() or member.name == "pax_global_header":
                continue
            if member.issym():
                found.append(Entry(member.name, os.fsencode(member.linkname), is_link=True))
            elif member.isreg() and (content := archive.extractfile(member)) is not None:
                found.append(Entry(member.name, content.read(), is_executable=bool(member.mode & stat.S_IXUSR)))
            else:
                raise ConfigError(f"{member.name} is neither a file nor a folder; a plugin may not contain it")
            total += member.size
            if len(found) > MAX_FILES or total > MAX_BYTES:
                raise _too_large("the commit")
    return found


def _too_large(name: str) -> ConfigError:
    return ConfigError(
        f"{name}: a plugin has at most {MAX_FILES:,} files and {MAX_BYTES >> 20} MiB; give a smaller folder"
    )


def check(entries: Sequence[Entry]) -> None:
    """Raise ConfigError for a path or a link that leads out of the tree, or a name twice."""
    names: set[str] = set()
    folders: set[str] = set()
    for entry in entries:
        parts = entry.path.split("/")
        if "\0" in entry.path or entry.path.startswith("/") or any(part in ("", ".", "..") for part in parts):
            raise ConfigError(f"{entry.path!r} is no path inside a plugin; it is refused")
        if ".git" in (part.lower() for part in parts):
            raise ConfigError(f"{entry.path!r} is part of a repository's own folder; it is refused")
        if entry.path in names:
            raise ConfigError(f"{entry.path!r} is there twice; it is refused")
        names.add(entry.path)
        folders.update("/".join(parts[:end]) for end in range(1, len(parts)))
    if both := names & folders:
        raise ConfigError(f"{min(both)!r} is a file and a folder; it is refused")
    for entry in entries:
        target = os.fsdecode(entry.data) if entry.is_link else ""
        led = os.path.normpath(os.path.join(os.path.dirname(entry.path), target))
        if os.path.isabs(target) or led == ".." or led.startswith("../"):
            raise ConfigError(f"{entry.path} is a link to {target}, which is not in the plugin; it is refused")


def write(entries: Iterable[Entry], root: Path) -> None:
    """Write checked entries to a new folder, links last. Raises ConfigError."""
    ensure(root)
    real = os.path.realpath(root)
    disk = Disk(real)
    try:
        for entry in sorted(entries, key=lambda one: one.is_link):
            above, _, name = entry.path.rpartition("/")
            with disk.open(above, made=[]) as folder:
                if entry.is_link:
                    folder.make_link(entry.data, name)
                    continue
                descriptor = folder.create(name, 0o700 if entry.is_executable else 0o600)
                try:
                    view = memoryview(entry.data)
                    while view:
                        view = view[folder.write(descriptor, view) :]
                finally:
                    folder.close(descriptor)
    except OSError as error:
        raise ConfigError(f"{root} cannot be written: {cause_of(error)}") from error
    for entry in entries:  # a link through another link
        led = os.path.realpath(os.path.join(real, entry.path))
        if entry.is_link and led != real and not led.startswith(f"{real}/"):
            raise ConfigError(f"{entry.path} is a link that leads out of the plugin; it is refused")


def fingerprint(entries: Iterable[Entry]) -> str:
    """Return the SHA-256 of all paths, contents and kinds, as 64 digits."""
    digest = hashlib.sha256()
    for entry in sorted(entries, key=lambda one: one.path):
        kind = "link" if entry.is_link else "program" if entry.is_executable else "file"
        digest.update(f"{kind} {len(entry.data)} {len(entry.path)} {entry.path}\0".encode("utf-8", "surrogateescape"))
        digest.update(entry.data)
    return digest.hexdigest()
