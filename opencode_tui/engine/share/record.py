"""The record of a shared session, `share/{sessionID}`: the only place with its secret; and which servers the user knows."""

import json
import os
from pathlib import Path
from typing import cast

from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import Record, absent


class ShareRecord(Record):
    """A share. `server` is the address that it was created at; `removes`: the server understands removed items.

    `behind`: not everything was sent, or the process ended before it could say so. `ended`: the user has taken the session
    back, but the server was not reached; nothing is sent any more.
    """

    id: str
    url: str
    secret: str
    server: str
    removes: bool | None = absent()
    behind: bool | None = absent()
    ended: bool | None = absent()


class KnownServers:
    """The servers that the user has shared to, in the state folder. Blocks."""

    def __init__(self, state: Path) -> None:
        self._path = state / "share-servers.json"

    def has(self, server: str) -> bool:
        """Return whether the user has shared to a server."""
        return server in self._read()

    def add(self, server: str) -> None:
        """Record that the user has shared to a server; a failure only means that it is explained again."""
        known = self._read()
        if server in known:
            return
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(sorted({*known, server})), encoding="utf-8")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _read(self) -> set[str]:
        try:
            found: object = load_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return set()
        return (
            {one for one in cast("list[object]", found) if isinstance(one, str)} if isinstance(found, list) else set()
        )
