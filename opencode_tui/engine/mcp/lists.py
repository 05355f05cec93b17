"""What an MCP server provides (tools, prompts, resources), cached in a file so that a request need not wait for the server.

The cache has one file for each settings entry, named by its hash: a changed entry is another server. A damaged or missing file
costs the time to start the server, nothing else.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import ensure

logger = logging.getLogger(__name__)

_LAYOUT = 2
"""Increased when the format of the files changes, so that older files are replaced."""

MAX_TOOLS = 1_000
"""Most members of each list; the rest is left out."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_KEPT = ("name", "title", "description", "inputSchema", "execution", "arguments", "uri", "uriTemplate", "mimeType")


class McpError(OpencodeError):
    """A server cannot be used; the text names it, says why and what to do."""


class McpSignInError(McpError):
    """A server needs a sign-in first. `challenge` is the header with which it said so, None where a sign-in is no way."""

    def __init__(self, message: str, challenge: str | None = None) -> None:
        super().__init__(message)
        self.challenge = challenge


class McpRegistrationError(McpError):
    """An authorization server registers no clients by itself: the settings must name one."""


class ConnectionLost(Exception):
    """The connection to a server ended during a request."""


class SessionEnded(ConnectionLost):
    """A remote server does not know the session any more: it has not run the request, so that a new session may."""


class ServerLists(Struct, frozen=True):
    """The lists of a server, each member as the protocol writes it; `instructions` are the server's text about itself.

    `faults` are lines about what of its answers is left out, or used otherwise than it is written.
    """

    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    prompts: list[JsonObject] = field(default_factory=list[JsonObject])
    resources: list[JsonObject] = field(default_factory=list[JsonObject])
    templates: list[JsonObject] = field(default_factory=list[JsonObject])
    instructions: str = ""
    faults: list[str] = field(default_factory=list[str])


def clean_list(members: Sequence[JsonObject], key: str = "name") -> list[JsonObject]:
    """Return the members with the fields that are used, by name, each once, without control characters."""
    found: dict[str, JsonObject] = {}
    for member in members[:MAX_TOOLS]:
        if isinstance(member.get(key), str):
            kept = {name: clean(member[name]) for name in _KEPT if member.get(name) is not None}
            found.setdefault(kept[key], kept)
    return [found[name] for name in sorted(found)]


def clean(value: Any) -> Any:
    """Return a JSON value of a server with all control characters but tabs and line ends removed from its texts."""
    if isinstance(value, str):
        return value if value.isprintable() else _CONTROL.sub("", value)
    if isinstance(value, dict):
        return {str(clean(key)): clean(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [clean(inner) for inner in cast("list[Any]", value)]
    return value


class CachedLists(Struct, frozen=True):
    """Lists from the cache, and when they were written, in milliseconds since 1970."""

    lists: ServerLists
    time: int


class ListCache:
    """The cached lists of all servers."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def read(self, entry: JsonObject) -> CachedLists | None:
        """Return the cached lists of a server, None without usable ones. Blocks for one file."""
        try:
            stored: Any = load_json(self._path(entry).read_bytes())
            if stored["layout"] != _LAYOUT:
                return None
            lists = ServerLists(
                tools=stored["tools"],
                prompts=stored["prompts"],
                resources=stored["resources"],
                templates=stored["templates"],
                instructions=stored["instructions"],
                faults=stored["faults"],
            )
            return CachedLists(lists, int(stored["time"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("the cached lists of an MCP server are not used: %s", error)
            return None

    def write(self, entry: JsonObject, lists: ServerLists) -> int:
        """Store the lists of a server and return the time; a failure is logged. Blocks."""
        now = self._clock()
        stored = {
            "layout": _LAYOUT,
            "time": now,
            "tools": lists.tools,
            "prompts": lists.prompts,
            "resources": lists.resources,
            "templates": lists.templates,
            "instructions": lists.instructions,
            "faults": lists.faults,
        }
        try:
            ensure(self._folder)
            AtomicWriter(FileSystem()).write(os.fspath(self._path(entry)), json.dumps(stored).encode())
        except OSError as error:
            logger.warning("the lists of an MCP server are not cached: %s", error)
        return now

    def _path(self, entry: JsonObject) -> Path:
        digest = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{digest}.json"
