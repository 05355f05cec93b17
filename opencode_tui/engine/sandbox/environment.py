"""The environment of commands without keys, and the removal of keys from what commands print.

Commands get no variable that holds a key, wherever they run: those of providers, those whose names say so, and those with the value
of a key in the settings. Inside the sandbox they get no variable that names a socket or an agent either.
Source: docs/internals/sandbox.md#environment.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.settings.fields import is_secret, present_fields
from opencode_tui.engine.provider.known_provider import KNOWN
from opencode_tui.redaction.cover import COVER
from opencode_tui.redaction.names import is_secret_option, is_secret_variable
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.record import JsonObject


class SettingKeys(Struct, frozen=True):
    """Keys in the settings: the variables of providers, and values."""

    variables: frozenset[str]
    values: frozenset[str]


def find_setting_keys(settings: JsonObject) -> SettingKeys:
    """Return the keys in resolved settings.

    They are those of providers, their models and MCP servers, in options, headers and variables, and all single secrets.
    """
    variables: set[str] = set()
    values: set[str] = set()
    for provider in _objects(settings.get("provider")):
        variables.update(provider.get("env") or ())
        for owner in (provider, *_objects(provider.get("models"))):
            options: JsonObject = owner.get("options") or {}
            headers: JsonObject = {**(owner.get("headers") or {}), **(options.get("headers") or {})}
            for name, value in (*options.items(), *headers.items()):
                if isinstance(value, str) and is_secret_option(name):
                    values.add(value.rpartition(" ")[2])
    for server in _objects(settings.get("mcp")):
        own: JsonObject = {**(server.get("environment") or {}), **(server.get("headers") or {})}
        values |= {
            value.rpartition(" ")[2] for name, value in own.items() if isinstance(value, str) and is_secret_option(name)
        }
    values |= {value for _, field, value in present_fields(settings) if is_secret(field) and isinstance(value, str)}
    return SettingKeys(frozenset(variables), frozenset(values))


def _objects(value: Any) -> list[JsonObject]:
    members = cast("JsonObject", value).values() if isinstance(value, dict) else ()
    return [cast("JsonObject", member) for member in members if isinstance(member, dict)]


MIN_SECRET_CHARS = 8
"""Shorter values are not removed from outputs: they occur in other words."""

_OWN = frozenset({"OPENCODE_SERVER_PASSWORD", "OPENCODE_CONFIG_CONTENT"})
_SOCKET_NAME = re.compile(
    r"SSH_(?:AUTH_SOCK|AGENT_PID|ASKPASS.*|CONNECTION|CLIENT|TTY)|DBUS_.*|DOCKER_.*|CONTAINER_HOST|BUILDKIT_HOST|PODMAN_.*|KUBECONFIG|"
    r"XDG_RUNTIME_DIR|XDG_SESSION_.*|DISPLAY|WAYLAND_.*|XAUTHORITY|SESSION_MANAGER|GPG_AGENT_INFO|GNOME_.*|GNUPGHOME|TMUX(?:_.*)?|STY|"
    r"NVIM(?:_.*)?|VSCODE_.*|GIT_ASKPASS|KITTY_.*|WEZTERM_.*|ALACRITTY_.*|ITERM_SESSION_ID|PULSE_.*|SWAYSOCK|I3SOCK|HYPRLAND_.*|"
    r"NOTIFY_SOCKET|LISTEN_(?:FDS|PID|FDNAMES)|JOURNAL_STREAM|BROWSER|CREDENTIALS_DIRECTORY|.*_SOCK(?:ET)?"
)
_ADDRESS_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_PLAIN_WORD = re.compile(r"[A-Za-z]{1,11}|\d{1,11}|[/~.][\w./-]*")
"""Values such as `postgres`, `disabled` or a path: removing them would spoil outputs."""


class Secrets:
    """The keys of the user: the variables that commands do not get, and the values that no output shows."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        variables: Iterable[str] = (),
        values: Iterable[str] = (),
        stored: Callable[[], Sequence[str]] = tuple,
        passed: Collection[str] = (),
    ) -> None:
        """`variables` and `values` are those of the settings; variables in `passed` are given to commands.

        `stored` returns the keys that are stored now, and is called at each use. Raises what it raises.
        """
        self._stored = stored
        self._last = stored()
        named = {*_OWN, *variables, *(name for provider in KNOWN for name in provider.variables)}
        of_settings = {value for value in (*values, *self._last) if len(value) >= MIN_SECRET_CHARS}
        found = set(of_settings)
        withheld: set[str] = set()
        for name, value in environ.items():
            is_key = name in named or is_secret_variable(name)
            if is_key or value in of_settings:
                withheld.add(name)
            if is_key and name != "OPENCODE_CONFIG_CONTENT" and len(value) >= MIN_SECRET_CHARS:
                found |= set() if _PLAIN_WORD.fullmatch(value) else {value}
        self._withheld = (withheld | _OWN) - set(passed)
        self._passed = frozenset(passed)
        self._values = tuple(sorted(found, key=len, reverse=True))

    def without_keys(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a command outside the sandbox."""
        return {name: value for name, value in environ.items() if name not in self._withheld}

    def confined(self, environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a command inside: without keys and sockets, with the variables `own`."""
        kept = {
            name: value
            for name, value in self.without_keys(environ).items()
            if name in self._passed
            or not (_SOCKET_NAME.fullmatch(name) or (_ADDRESS_WITH_PASSWORD.search(value) and "\n" not in value))
        }
        return {**kept, **own}

    def redact(self, text: str) -> str:
        """Return the text with the values of keys replaced."""
        return _redact(text, self._current())

    def redact_value(self, value: Any) -> Any:
        """Return a JSON value with the values of keys replaced in all its texts; the same object where there are none."""
        values = self._current()
        return _redact_value(value, values) if values else value

    def stream(self) -> "StreamRedactor":
        """Return a redactor for the output of one command, with the keys that are known when it starts."""
        return StreamRedactor(tuple(os.fsencode(value) for value in self._current()))

    def _current(self) -> tuple[str, ...]:
        """Return the values, those of keys that were stored in the meantime with them, the longest first."""
        try:
            stored = self._stored()
        except OpencodeError:  # the file was damaged in the meantime: what was known is still removed
            return self._values
        if stored != self._last:
            found = {*self._values, *(value for value in stored if len(value) >= MIN_SECRET_CHARS)}
            self._values, self._last = tuple(sorted(found, key=len, reverse=True)), stored
        return self._values


def _redact(text: str, values: Iterable[str]) -> str:
    for value in values:
        if value in text:
            text = text.replace(value, COVER)
    return text


def _redact_value(value: Any, values: Collection[str]) -> Any:
    if isinstance(value, str):
        return _redact(value, values)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {_redact(key, values): _redact_value(inner, values) for key, inner in members}
    if isinstance(value, list):
        return [_redact_value(inner, values) for inner in cast("list[Any]", value)]
    return value


class StreamRedactor:
    """Replaces the values of keys in an output that comes in pieces, also where a value is split over several."""

    def __init__(self, values: tuple[bytes, ...] = ()) -> None:
        self._values = values
        self._longest = max(map(len, values), default=0)
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on: all but an end that may be the beginning of a value."""
        if not self._values:
            return data
        data = self._replaced(self._kept + data)
        start = self._open_end(data)
        self._kept = data[start:]
        return data[:start]

    def finish(self) -> bytes:
        """Return the rest, once the output is over."""
        rest, self._kept = self._kept, b""
        return rest

    def _replaced(self, data: bytes) -> bytes:
        for value in self._values:
            if value in data:
                data = data.replace(value, COVER.encode())
        return data

    def _open_end(self, data: bytes) -> int:
        """Return where the longest end begins that a value begins with."""
        first = len(data)
        for value in self._values:
            at = data.find(value[:1], max(0, len(data) - len(value) + 1))
            while 0 <= at < first:
                if value.startswith(data[at:]):
                    first = at
                at = data.find(value[:1], at + 1)
        return first
