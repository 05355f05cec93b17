"""The shares of a server, in memory and on disk. All blocks.

A share is a folder with `share.json` and `items.jsonl`. Every synchronization appends lines to the second and syncs them to the
disk before it is acknowledged; later lines replace earlier ones with their key, and a line that a power cut left incomplete is
ignored. The file is written anew when most of it is replaced. Nobody can list shares: their ids are random, and the secret is
stored as a hash.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_OWN_FILES = ("share.json", "items.jsonl", ".share.json", ".items.jsonl")
"""Beginnings of the names in the folder of a share, temporary ones included."""
_RECORD_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")

MAX_ITEMS = 200_000
"""Most items of one share."""

_SLACK = 1_000_000
"""Bytes of replaced items above which the file may be written anew."""

REMOVED = "removed"
"""Our own type of item: a message or a part is gone. Servers that understand it say so when a share is created."""


class ShareRefused(Exception):
    """A request cannot be served; `status` is that of the HTTP response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Limits(Struct, frozen=True):
    """`ttl_s`: seconds after the last change until a share is deleted, 0 for never; sizes in bytes."""

    ttl_s: int = 30 * 86_400
    share: int = 64_000_000
    total: int = 20_000_000_000


class Item(Struct, frozen=True):
    """One synchronized item: its JSON, and the version of the share that brought it."""

    kind: str
    data: bytes
    version: int


class Change(Struct, frozen=True):
    """One valid item of a request; without `data` the item with this key is removed."""

    key: str
    kind: str
    data: bytes | None


class _Head(Struct, frozen=True, rename="camel"):
    id: str
    secret_hash: str
    session_id: str
    created: int


class _Line(Struct, frozen=True, omit_defaults=True):
    key: str
    type: str
    data: msgspec.Raw = msgspec.Raw()


class Share:
    """One share, loaded from the disk."""

    def __init__(self, folder: Path, head: _Head, items: dict[str, Item], *, written: int, touched: float) -> None:
        self.id = head.id
        self.version = next_version(0)
        self.touched = touched
        self._folder = folder
        self._head = head
        self.items = items
        self._written = written
        self._writing = threading.Lock()
        self.size = sum(len(item.data) for item in items.values())

    def admits(self, secret: object) -> bool:
        """Return whether a secret is that of the share, in a time independent of it."""
        given = hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest() if isinstance(secret, str) else ""
        return hmac.compare_digest(given, self._head.secret_hash)

    def apply(self, changes: Iterable[Change], limit: int) -> int:
        """Store the changes on the disk, then in memory; return by how many bytes the share grew. Raises ShareRefused, OSError."""
        with self._writing:
            items = dict(self.items)
            version = next_version(self.version)
            lines: list[bytes] = []
            for change in changes:
                gone = (
                    [key for key in (change.key, *_below(change, items)) if key in items] if change.data is None else []
                )
                for key in gone:
                    del items[key]
                    lines.append(_encode(key, change.kind, None))
                if change.data is not None:
                    items[change.key] = Item(change.kind, change.data, version)
                    lines.append(_encode(change.key, change.kind, change.data))
            size = sum(len(item.data) for item in items.values())
            if size > limit or len(items) > MAX_ITEMS:
                raise ShareRefused(413, f"a share has at most {limit >> 20} MB and {MAX_ITEMS:,} items")
            data = b"".join(lines)
            if self._written + len(data) > 2 * size + _SLACK:
                self._write_anew(items)
            else:
                _append(self._folder / "items.jsonl", data)
                self._written += len(data)
            grown, self.size = size - self.size, size
            self.items, self.version, self.touched = items, version, time.time()
            return grown

    def data(self) -> bytes:
        """Return all items as JSON: the session, its messages and parts in order, the rest."""
        ordered = sorted(self.items.items(), key=lambda entry: (_ORDER.index(entry[1].kind), entry[0]))
        return (
            b"[" + b",".join(b'{"type":"%b","data":%b}' % (item.kind.encode(), item.data) for _, item in ordered) + b"]"
        )

    def _write_anew(self, items: dict[str, Item]) -> None:
        data = b"".join(_encode(key, item.kind, item.data) for key, item in items.items())
        _replace(self._folder / "items.jsonl", data)
        self._written = len(data)


_ORDER = ("session", "message", "part", "session_diff", "model")


class ShareStore:
    """All shares of a folder; those in use are kept in memory."""

    def __init__(self, folder: Path, limits: Limits, *, cached: int = 64) -> None:
        """`cached`: the most shares in memory."""
        self._folder = folder
        self.limits = limits
        self._cached = cached
        self._shares: dict[str, Share] = {}
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._total = sum(path.stat().st_size for path in folder.glob("*/*/items.jsonl"))

    def create(self, session_id: object) -> tuple[str, str]:
        """Return the id and the secret of a new share. Raises ShareRefused, OSError."""
        if not isinstance(session_id, str) or not _SESSION_ID.fullmatch(session_id):
            raise ShareRefused(400, "sessionID is missing or wrong")
        if self._total > self.limits.total:
            raise ShareRefused(507, "the server has no room for more shares")
        share_id, secret = secrets.token_urlsafe(18), secrets.token_urlsafe(32)
        head = _Head(share_id, hashlib.sha256(secret.encode()).hexdigest(), session_id, int(time.time() * 1000))
        place = self._place(share_id)
        place.mkdir(parents=True, mode=0o700)
        _replace(place / "items.jsonl", b"")
        _replace(place / "share.json", msgspec.json.encode(head))  # last: without it there is no share
        with self._lock:
            self._keep(Share(place, head, {}, written=0, touched=time.time()))
        return share_id, secret

    def get(self, share_id: str) -> Share:
        """Return a share. Raises ShareRefused for an unknown or expired one."""
        if not ID.fullmatch(share_id):
            raise ShareRefused(404, "no such share")
        with self._lock:
            share = self._shares.get(share_id) or self._load(share_id)
            if share is None:
                raise ShareRefused(404, "no such share")
            if self._is_expired(share.touched):
                self.remove(share_id)
                raise ShareRefused(404, "this share has expired")
            self._keep(share)
            return share

    def apply(self, share: Share, changes: Iterable[Change]) -> None:
        """Store changes of a share. Raises ShareRefused, OSError."""
        grown = share.apply(changes, self.limits.share)
        with self._lock:
            self._total += grown

    def remove(self, share_id: str) -> None:
        """Delete a share: first its head, so that it is gone even if the rest stays for a moment."""
        with self._lock:
            share = self._shares.pop(share_id, None)
            place = self._place(share_id)
            with suppress(FileNotFoundError):
                (place / "share.json").unlink()
            shutil.rmtree(place, ignore_errors=True)
            self._total -= share.size if share else 0

    def sweep(self) -> list[str]:
        """Delete expired shares and what a crash left behind; return the ids of the shares. Other files are left alone."""
        gone: list[str] = []
        for place in list(self._folder.glob("*/*")):
            if not ID.fullmatch(place.name) or place != self._place(place.name):
                continue
            try:
                inside = list(place.iterdir())
                if not all(path.name.startswith(_OWN_FILES) and path.is_file() for path in inside):
                    continue  # not ours: the folder may have been somebody's before
                moved = max(path.stat().st_mtime for path in inside)
            except (OSError, ValueError):  # removed meanwhile, or empty
                moved = 0.0
            has_head = (place / "share.json").exists()
            if (has_head and self._is_expired(moved)) or (not has_head and moved < time.time() - 3600):
                gone.append(place.name)
                self.remove(place.name)
        return gone

    def _is_expired(self, touched: float) -> bool:
        return bool(self.limits.ttl_s) and touched < time.time() - self.limits.ttl_s

    def _place(self, share_id: str) -> Path:
        return self._folder / share_id[:2].lower() / share_id

    def _keep(self, share: Share) -> None:
        self._shares.pop(share.id, None)
        self._shares[share.id] = share
        while len(self._shares) > self._cached:
            del self._shares[next(iter(self._shares))]

    def _load(self, share_id: str) -> Share | None:
        place = self._place(share_id)
        try:
            head = msgspec.json.decode((place / "share.json").read_bytes(), type=_Head)
            path = place / "items.jsonl"
            data, touched = path.read_bytes(), path.stat().st_mtime
        except (OSError, msgspec.DecodeError):
            return None
        end = data.rfind(b"\n") + 1
        if end != len(data):  # a line that was cut short: later lines must not continue it
            with path.open("r+b") as file:
                file.truncate(end)
        items: dict[str, Item] = {}
        version = next_version(0)
        for line in data[:end].split(b"\n"):
            with suppress(msgspec.DecodeError):
                if line:
                    entry = msgspec.json.decode(line, type=_Line)
                    if bytes(entry.data):
                        items[entry.key] = Item(entry.type, bytes(entry.data), version)
                    else:
                        items.pop(entry.key, None)
        return Share(place, head, items, written=end, touched=touched)


def read_changes(given: object) -> list[Change]:
    """Return the valid items of a request's `data`; unknown kinds are ignored. Raises ShareRefused for anything else."""
    if not isinstance(given, list):
        raise ShareRefused(400, "data must be a list of {type, data}")
    return [change for one in cast("list[object]", given) for change in _change(one)]


def next_version(version: int) -> int:
    """Return a larger number, also than all before a restart: milliseconds since 1970, or one more."""
    return max(int(time.time() * 1000), version + 1)


def _change(one: object) -> Iterator[Change]:
    if not isinstance(one, dict):
        raise ShareRefused(400, "an item must be {type, data}")
    item = cast("dict[str, object]", one)
    kind, data = item.get("type"), item.get("data")
    if kind in ("session_diff", "model"):
        if not isinstance(data, list):
            raise _wrong(kind)
        yield Change(str(kind), str(kind), _json(cast("list[object]", data)))
    elif kind in (*_ORDER, REMOVED):
        if not isinstance(data, dict):
            raise _wrong(kind)
        yield _record(str(kind), cast("dict[str, object]", data))


def _record(kind: str, data: dict[str, object]) -> Change:
    match kind:
        case "session":
            return Change(kind, kind, _json(data))
        case "message":
            return Change(f"message/{_id(data, 'id')}", kind, _json(data))
        case "part":
            return Change(f"part/{_id(data, 'messageID')}/{_id(data, 'id')}", kind, _json(data))
        case _ if "partID" in data:
            return Change(f"part/{_id(data, 'messageID')}/{_id(data, 'partID')}", "part", None)
        case _:
            return Change(f"message/{_id(data, 'messageID')}", "message", None)


def _wrong(kind: object) -> ShareRefused:
    return ShareRefused(400, f"the data of an item of type {kind} has a wrong form")


def _id(data: dict[str, object], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not _RECORD_ID.fullmatch(value):
        raise ShareRefused(400, f"an item's {name} is missing or wrong")
    return value


def _json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode()


def _below(change: Change, items: dict[str, Item]) -> list[str]:
    """Return the keys of the parts of a message that is removed."""
    head = f"part/{change.key.removeprefix('message/')}/"
    return [key for key in items if key.startswith(head)] if change.kind == "message" else []


def _encode(key: str, kind: str, data: bytes | None) -> bytes:
    line = _Line(key, kind) if data is None else _Line(key, kind, msgspec.Raw(data))
    return msgspec.json.encode(line) + b"\n"


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        start = file.tell()
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):  # a full disk: what was written of it must not stay
                file.truncate(start)
            raise


def _replace(path: Path, data: bytes) -> None:
    """Write a file through a temporary one, so that it is always complete."""
    temporary = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
