"""A file of secrets, `{name: {…}}`: mode 0600, written atomically under the lock of the store.

A damaged file is an error and is left unchanged. No message contains what is in it.
"""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths

_SAFE_MODE = 0o600


class SecretFile:
    """One such file. `kind` is what its entries are, for messages. All methods block for a small file."""

    def __init__(self, path: Path, *, kind: str, paths: Paths) -> None:
        self.path = path
        self._kind = kind
        self._paths = paths
        self._known: tuple[tuple[int, ...], dict[str, JsonObject]] | None = None

    def current(self) -> dict[str, JsonObject]:
        """Return the entries as stored now, not to be changed; reads the file only when it changed. Raises as `read`."""
        try:
            status = os.stat(self.path)
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            version = ()
        if self._known is None or self._known[0] != version:
            self._known = version, self.read()[0]
        return self._known[1]

    def read(self) -> tuple[dict[str, JsonObject], str | None]:
        """Return the entries, and one line about a mode that was corrected; raises ConfigError when damaged."""
        try:
            text = read_text(str(self.path))
        except FileNotFoundError:
            return {}, None
        except UnreadableFileError as error:
            raise ConfigError(f"{self.path}: {error}") from None
        return self._parse(text), self._restrict_mode()

    def change(self, change: Callable[[dict[str, JsonObject]], None]) -> None:
        """Change the entries under the lock of the store. Raises as `read`, and StorageError if the file cannot be written."""
        with Locks(self._paths).store():
            entries = dict(self.read()[0])
            before = dict(entries)
            change(entries)
            if entries != before:
                self._write(entries)

    def _parse(self, text: str) -> dict[str, JsonObject]:
        try:
            loaded: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            line = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ConfigError(f"{self.path}{line}: not valid JSON; fix or move it (left unchanged)") from None
        if not isinstance(loaded, dict) or not all(
            isinstance(entry, dict) for entry in cast("JsonObject", loaded).values()
        ):
            raise ConfigError(f"{self.path}: expected an object of {self._kind}; fix or move it (left unchanged)")
        return cast("dict[str, JsonObject]", loaded)

    def _restrict_mode(self) -> str | None:
        path = os.path.realpath(self.path)
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if not mode & 0o077:
            return None
        try:
            os.chmod(path, _SAFE_MODE)
        except OSError as error:
            return f"{path} has mode {mode:04o}, so others can read your keys, and it cannot be set to 0600 ({error.strerror})"
        return f"{path} had mode {mode:04o}, so others could read your keys; permissions tightened (0600)"

    def _write(self, entries: dict[str, JsonObject]) -> None:
        data = json.dumps(entries, indent=2).encode()
        try:
            AtomicWriter(FileSystem()).write(os.path.realpath(self.path), data, durable=True)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written, and is unchanged: {cause_of(error)}") from error
