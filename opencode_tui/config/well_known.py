"""Settings that a server provides at `/.well-known/opencode`, only for users who accepted it or whose administrator named it.

`opencode-tui auth login URL` shows what they set, then stores them, one record an address in `well-known/`; a token for them is in
auth.json. A start reads the record, never the server: it is fetched again in the background. What starts programs, sends data
elsewhere or relaxes permissions has an effect only as it was accepted; a change of it waits for a review. Managed settings can name
addresses too (`experimental.well_known`): theirs count without a review, while they are named.
Source: docs/internals/settings.md#order.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Set
from itertools import takewhile
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from opencode_tui import network
from opencode_tui.config.merge import Merged, without
from opencode_tui.config.notice import dotted
from opencode_tui.config.redact import redact_settings
from opencode_tui.config.sources.jsonc import JsoncError, KeyPath, parse
from opencode_tui.config.sources.layer import Layer, visit
from opencode_tui.config.sources.migrate import migrate
from opencode_tui.config.sources.text_file import MAX_BYTES, UnreadableFileError, read_text
from opencode_tui.config.trust.gate import Gated, RepositoryFolder, find_gated
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths

FETCH_S = 3.0
"""Seconds that a server has for its settings."""

_PATH = "/.well-known/opencode"
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Provided(Struct, frozen=True):
    """What a server provides: settings, and the command that prints a token for a variable in them."""

    settings: JsonObject
    command: tuple[str, ...] = ()
    variable: str = ""


class Accepted(Struct, frozen=True):
    """The settings of an address: as the user accepted them, and as they were fetched last.

    Those `by_administrator` were accepted by no one: they count while the managed settings name the address.
    """

    url: str
    settings: JsonObject
    accepted: JsonObject
    by_administrator: bool = False


def describe_review(url: str) -> str:
    """Return what is to be done about changed settings of an address."""
    return (
        "have changed; what starts programs, sends data elsewhere or relaxes permissions is used as you accepted it "
        f"until you review the change with `opencode-tui auth login {url}`"
    )


def clean_address(text: str) -> str:
    """Return an address without the slash at its end. Raises ConfigError unless it is https, or http on this machine."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        raise ConfigError(f"{text!r} is not an address; give one like https://example.com") from None
    if parts.username or parts.password or parts.query or parts.fragment or not host:
        raise ConfigError(f"{text!r} is not the address of a server; give one like https://example.com")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOCAL):
        raise ConfigError(f"{text!r}: settings are fetched over https only; give an address that begins with https://")
    return text.rstrip("/")


async def fetch(url: str) -> Provided:
    """Return what a server provides; takes 3 s at most. Raises ConfigError."""
    import asyncio
    import importlib

    httpx = await asyncio.to_thread(importlib.import_module, "httpx")  # takes as long as many frames
    address = f"{url}{_PATH}"
    data = bytearray()
    options = await asyncio.to_thread(network.client_options, address)
    try:
        async with (
            asyncio.timeout(FETCH_S),
            httpx.AsyncClient(timeout=FETCH_S, **options) as http,
            http.stream("GET", address, headers={"accept": "application/json"}) as answer,
        ):
            if answer.status_code != 200:
                raise ConfigError(f"{address} answered {answer.status_code}; check the address")
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > MAX_BYTES:
                    raise ConfigError(f"{address} is larger than {MAX_BYTES >> 10} KiB; it cannot be used")
    except (httpx.HTTPError, TimeoutError) as error:
        reason = network.explain(str(error) or type(error).__name__, address)
        raise ConfigError(f"{address} cannot be fetched ({reason}); check the address and the connection") from None
    return _parse(bytes(data), address)


def _parse(data: bytes, address: str) -> Provided:
    try:
        value: Any = parse(data.decode()).value
    except (UnicodeDecodeError, JsoncError):
        raise ConfigError(f"{address} is not JSON; check the address") from None
    document = cast("JsonObject", value) if isinstance(value, dict) else {}
    settings, auth = document.get("config", {}), document.get("auth", {})
    if not isinstance(settings, dict) or not isinstance(auth, dict):
        raise ConfigError(f"{address} has no settings in `config`; check the address")
    known = cast("JsonObject", auth)
    command, variable = known.get("command", []), known.get("env", "")
    words = list[Any](cast("list[Any]", command)) if isinstance(command, list) else [command]
    if (
        not all(isinstance(word, str) for word in words)
        or not isinstance(variable, str)
        or bool(words) != bool(variable)
    ):
        raise ConfigError(f"{address}: `auth` needs a `command`, a list of strings, and `env`, the name of a variable")
    visit([settings, words, variable], Layer(address, "user", Path(), {}).error)
    return Provided(cast("JsonObject", settings), tuple(words), variable)


class AcceptedStore:
    """The records of accepted addresses."""

    def __init__(self, *, paths: Paths) -> None:
        self._paths = paths

    def all(self) -> Iterator[Accepted]:
        """Yield the readable records by address. Blocks; one call of the system when there are none."""
        try:
            names = sorted(os.listdir(self._paths.well_known))
        except FileNotFoundError:
            return
        for name in names:
            if name.endswith(".json") and (record := self._read(self._paths.well_known / name)) is not None:
                yield record

    def find(self, url: str) -> Accepted | None:
        """Return the record of an address. Blocks."""
        return self._read(self._file(url))

    def accept(self, url: str, settings: JsonObject) -> None:
        """Store the settings of an address as accepted by the user. Raises StorageError. Blocks."""
        self._write(Accepted(url, settings, settings))

    def follow(self, url: str, settings: JsonObject) -> bool:
        """Store the settings of an address that the managed settings name; return whether they differ from those before.

        What the user accepted there stays, in case the address is not named any more. Raises StorageError. Blocks.
        """
        known = self.find(url)
        if known is not None and not known.by_administrator:
            return self.refresh(known, settings)
        if known is not None and known.settings == settings:
            return False
        self._write(Accepted(url, settings, settings, by_administrator=True))
        return True

    def refresh(self, known: Accepted, settings: JsonObject) -> bool:
        """Store newer settings of an accepted address; return whether they differ. Raises StorageError. Blocks."""
        if settings == known.settings or self.find(known.url) is None:
            return False
        self._write(Accepted(known.url, settings, known.accepted))
        return True

    def remove(self, url: str) -> bool:
        """Delete the record of an address; return whether there was one. Raises StorageError. Blocks."""
        try:
            os.unlink(self._file(url))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"{self._file(url)} cannot be deleted ({error.strerror}); delete it") from error
        return True

    def gated(self, settings: JsonObject) -> list[Gated]:
        """Return the settings that have an effect only as they were accepted."""
        folder = self._paths.well_known
        return find_gated(migrate(settings), RepositoryFolder(folder, folder, self._paths.home))

    def describe(self, url: str, provided: Provided) -> Iterator[str]:
        """Yield lines for the user: each setting with its effect, secrets redacted, and the command for the token."""
        effects = {dotted(one.path): one.effect for one in self.gated(provided.settings)}
        yield f"{url} sets:" if provided.settings else f"{url} sets nothing"
        for path, value in _leaves(redact_settings(provided.settings), ()):
            outer = [effects[name] for end in range(len(path), 0, -1) if (name := dotted(path[:end])) in effects]
            inner = [effect for name, effect in effects.items() if name.startswith(f"{dotted(path)}[")]
            effect = next(iter([*outer, *inner]), "")
            yield f"  {dotted(path)}: {json.dumps(value, ensure_ascii=False)}{f'  ({effect})' if effect else ''}"
        if provided.command:
            yield f"The variable {provided.variable} gets what this command prints: {shlex.join(provided.command)}"

    def needs_review(self, record: Accepted) -> bool:
        """Return whether those settings differ between what was accepted and what was fetched last."""
        return self._fingerprint(record.settings) != self._fingerprint(record.accepted)

    def usable(self, record: Accepted) -> JsonObject:
        """Return the (migrated) settings fetched last, but those that need a review as they were accepted."""
        newer = migrate(record.settings)
        if not self.needs_review(record):
            return newer
        waiting = {_section(one.path) for one in self.gated(record.settings)}
        kept = waiting | {_section(one.path) for one in self.gated(record.accepted)}
        merged = Merged()
        merged.add(_only(migrate(record.accepted), (), kept), record.url)
        merged.add(without(newer, list(waiting)), record.url)
        return merged.value

    def _fingerprint(self, settings: JsonObject) -> str:
        return json.dumps([[dotted(one.path), one.effect, one.value] for one in self.gated(settings)], sort_keys=True)

    def _file(self, url: str) -> Path:
        return self._paths.well_known / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> Accepted | None:
        try:
            loaded: Any = json.loads(read_text(str(path)))
            by_administrator = loaded.get("by") == "administrator"
            return Accepted(loaded["url"], dict(loaded["settings"]), dict(loaded["accepted"]), by_administrator)
        except (FileNotFoundError, UnreadableFileError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def _write(self, record: Accepted) -> None:
        path = self._file(record.url)
        content: JsonObject = {"url": record.url, "settings": record.settings, "accepted": record.accepted}
        content |= {"by": "administrator"} if record.by_administrator else {}
        data = json.dumps(content, indent=2)
        try:
            AtomicWriter(FileSystem()).write(str(path), data.encode(), durable=True)
        except OSError as error:
            raise StorageError(f"{path} cannot be written ({error.strerror}); free some space and try again") from error


def _leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value that is not an object, and empty objects."""
    if isinstance(value, dict) and value:
        for key, inner in cast("JsonObject", value).items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _section(path: KeyPath) -> KeyPath:
    """Return the path of the value that is replaced whole: a list, or all rules, whose order matters."""
    if path[0] == "permission":
        return path[:1]
    if path[0] == "agent" and path[2:3] == ("permission",):
        return path[:3]
    return tuple(takewhile(lambda part: isinstance(part, str), path))


def _only(settings: JsonObject, path: KeyPath, wanted: Set[KeyPath]) -> JsonObject:
    """Return the values at these paths, in their order."""
    kept: JsonObject = {}
    for key, value in settings.items():
        here = (*path, key)
        if here in wanted or (not isinstance(value, dict) and any(one[: len(here)] == here for one in wanted)):
            kept[key] = value
        elif isinstance(value, dict) and (inner := _only(cast("JsonObject", value), here, wanted)):
            kept[key] = inner
    return kept
