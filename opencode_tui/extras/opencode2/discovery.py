"""The files by which programs find OpenCode 2's server on this machine: its address, and its password.

Both are in OpenCode's own folder of states, for its user only. A server that takes their place writes them when it listens and
removes what it wrote when it ends. Blocks for some milliseconds.
"""

import json
import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.json_text import load_json
from opencode_tui.server.lazy_app import OpenCode2Access
from opencode_tui.storage.paths import ensure
from opencode_tui.storage.safe_folder import OpenFolder, open_folder

VERSION = "1.18.18"
"""The version of OpenCode that the API is compatible with: its programs end a server of another version."""

ADDRESS, PASSWORD = "server.json", "password"
_LIMIT = 64 * 1024


def state_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Return OpenCode's folder of states."""
    given = environ.get("XDG_STATE_HOME", "")
    return (Path(given) if os.path.isabs(given) else home / ".local" / "state") / "opencode"


def choose_password(folder: Path, given: str | None) -> str:
    """Return the password that OpenCode's programs send: that of the file, else the given one, else a new one.

    Raises ConfigError when the file has another one than the given, and when a server is registered that runs.
    """
    ensure(folder)
    with _opened(folder) as opened:
        process = _running(opened)
        if process:
            raise ConfigError(
                f"{folder / ADDRESS}: OpenCode's server runs already, as process {process}; stop it first"
            )
        known = _read(opened, PASSWORD)
        if known and given is not None and known != given:
            raise ConfigError(f"{folder / PASSWORD} has another password than the given one; remove one of the two")
    return known or given or secrets.token_urlsafe(32)


class Access(Struct, frozen=True):
    """How OpenCode 2's programs find a server of this user, by files in its folder of states."""

    folder: Path

    def choose_password(self, given: str | None) -> str:
        """Return the password that they send. Raises ConfigError."""
        return choose_password(self.folder, given)

    def registered(self, url: str, password: str) -> AbstractContextManager[None]:
        """Have the files during the context. Raises ConfigError when they cannot be written."""
        return registered(self.folder, url, password)


def open_access(environ: Mapping[str, str], home: Path) -> OpenCode2Access:
    """Return how OpenCode 2's programs find a server of this user."""
    return Access(state_folder(environ, home))


@contextmanager
def registered(folder: Path, url: str, password: str) -> Generator[None]:
    """Have the files during the context. Raises ConfigError when they cannot be written."""
    name = secrets.token_hex(16)
    record = json.dumps({"id": name, "version": VERSION, "url": url, "pid": os.getpid()})
    with _opened(folder) as opened:
        is_new = not _read(opened, PASSWORD)
        if is_new:
            _write(opened, PASSWORD, password)
        _write(opened, ADDRESS, record)
    try:
        yield
    finally:
        with _opened(folder) as opened:
            if _read(opened, ADDRESS) == record:
                opened.remove(ADDRESS)
            if is_new and _read(opened, PASSWORD) == password:
                opened.remove(PASSWORD)


def _running(folder: OpenFolder) -> int:
    """Return the process of the registered server, 0 when there is none."""
    with suppress(ValueError, TypeError, KeyError, OSError):
        process = int(load_json(_read(folder, ADDRESS))["pid"])
        os.kill(process, 0)
        return process
    return 0


@contextmanager
def _opened(folder: Path) -> Generator[OpenFolder]:
    try:
        with open_folder(folder) as opened:
            yield opened
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror or error}; --as-opencode2 needs this folder") from error


def _read(folder: OpenFolder, name: str) -> str:
    try:
        return folder.read(name, _LIMIT)[0].decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def _write(folder: OpenFolder, name: str, text: str) -> None:
    temporary = f"{name}.{secrets.token_hex(8)}.tmp"
    descriptor = folder.create(temporary, 0o600)
    try:
        rest = memoryview(text.encode())
        while rest:
            rest = rest[folder.write(descriptor, rest) :]
    finally:
        folder.close(descriptor)
    folder.rename(temporary, name)
