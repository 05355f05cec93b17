"""One source of settings: a file, a variable, or a markdown file of a settings folder, with the positions of its keys."""

import re
from collections.abc import Callable, Mapping, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.config.notice import Notice, config_error, describe, dotted
from opencode_tui.config.settings.fields import all_fields, former_of
from opencode_tui.config.sources import opencode2, opencode2_cli
from opencode_tui.config.sources.jsonc import Document, JsoncError, KeyPath, Position, parse
from opencode_tui.config.sources.newer_form import is_newer_form
from opencode_tui.config.sources.text_file import UnreadableFileError, read_bytes, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    from opencode_tui.config.sources.opencode2 import Converted

Origin = Literal["user", "repository", "administrator"]
"""The owner of a source: settings of a repository need trust, those of the administrator come last."""


@cache
def _former_names() -> Mapping[str, str]:
    """Return the former name of each key that has one."""
    former = {former_of(field): key.rpartition(".")[2] for key, field in all_fields().items()}
    return {one.now: key for one, key in former.items() if one is not None and one.now}


class Layer(Struct, frozen=True):
    """Settings of one source. `source` is an absolute path or a variable's name; paths are relative to `folder`."""

    source: str
    origin: Origin
    folder: Path
    value: JsonObject
    positions: dict[KeyPath, Position] = field(default_factory=dict[KeyPath, Position])
    warnings: tuple[Notice, ...] = ()
    has_placeholders: bool = True
    """Whether `{env:…}` and `{file:…}` are replaced; not in markdown files."""
    written: dict[KeyPath, KeyPath] = field(default_factory=dict[KeyPath, KeyPath])
    """Paths in the text of values that have another name here, because the text has the form of OpenCode 2."""
    fault: str = ""
    """Why the source cannot be read; it has no values then."""
    has_rules: bool = False
    """Whether a source that cannot be read may hold permission rules."""

    def as_written(self, path: KeyPath) -> KeyPath:
        """Return the path that a value has in the text."""
        for end in range(len(path), 0, -1) if self.written else ():
            if path[:end] in self.written:
                return (*self.written[path[:end]], *path[end:])
        return path

    def position(self, path: KeyPath) -> Position | None:
        """Return the position of a key or of its nearest parent; a renamed key is found by its former name."""
        path = self.as_written(path)
        for end in range(len(path), 0, -1):
            inner = path[:end]
            if inner in self.positions:
                return self.positions[inner]
            former = tuple(_former_names().get(part, part) if isinstance(part, str) else part for part in inner)
            if former in self.positions:
                return self.positions[former]
        return None

    def error(self, path: KeyPath, message: str) -> ConfigError:
        """Return the error to raise for a key of this source."""
        return config_error(self.source, self.position(path), dotted(self.as_written(path)), message)

    def notice(self, path: KeyPath, message: str) -> Notice:
        """Return a notice about a key of this source."""
        position = self.position(path)
        return Notice(self.source, dotted(self.as_written(path)), message, position.line if position else None)


class Origins(Struct, frozen=True):
    """Where the values of merged settings come from: the source by dotted key, and each source's layer for its lines.

    `filled` are the top-level keys with a substituted variable or file: their values are never quoted.
    """

    sources: Mapping[str, str]
    layers: Mapping[str, Layer]
    filled: Set[str] = frozenset()

    def quote(self, path: KeyPath, value: str) -> str:
        """Return a value of the merged settings for a message."""
        return "from a variable or file" if path[0] in self.filled else repr(value)

    def notice(self, path: KeyPath, message: str) -> Notice:
        """Return a notice about a value of the merged settings."""
        source, line, written = self._find(path)
        return Notice(source, dotted(written), message, line)

    def error(self, path: KeyPath, message: str) -> ConfigError:
        """Return the error to raise for a value of the merged settings."""
        source, line, written = self._find(path)
        return ConfigError(describe(source or "settings", line, dotted(written), message))

    def _find(self, path: KeyPath) -> tuple[str, int | None, KeyPath]:
        """Return the source of the value at a path, or of its nearest parent, its line there, and its path there."""
        known = (self.sources.get(dotted(path[:end])) for end in range(len(path), 0, -1))
        source = next(filter(None, known), "")
        layer = self.layers.get(source)
        position = layer.position(path) if layer is not None else None
        return source, position.line if position else None, layer.as_written(path) if layer is not None else path


_RULES = re.compile(
    r"""^[\s"'{,-]*(?:permissions?|tools|disallowed_?tools)["']?[ \t]*:""", re.IGNORECASE | re.MULTILINE
)


def unreadable_layer(path: Path, origin: Origin, error: ConfigError) -> Layer:
    """Return a source without values for a file in which something is wrong. Blocks for the file."""
    try:
        text = read_bytes(str(path)).replace(b"\0", b"").decode("utf-8", "replace")
    except (UnreadableFileError, FileNotFoundError):
        text = ""
    return Layer(str(path), origin, path.parent, {}, fault=str(error), has_rules=_RULES.search(text) is not None)


def holds_rules(value: Any) -> bool:
    """Return whether settings hold permission rules."""
    if not isinstance(value, dict):
        return False
    members = cast("JsonObject", value)
    return any(name.lower() in _RULE_KEYS or holds_rules(inner) for name, inner in members.items())


_RULE_KEYS = frozenset({"permission", "permissions", "tools", "disallowedtools", "disallowed_tools"})


def read_layer(path: Path, origin: Origin) -> Layer | None:
    """Return the settings of a file, None when it does not exist. Raises ConfigError. Blocks."""
    try:
        text = read_text(str(path))
    except FileNotFoundError:
        return None
    except UnreadableFileError as error:
        if path.name == MCP_FILE:
            return Layer(str(path), origin, path.parent, {}, warnings=(Notice(str(path), "", str(error)),))
        raise ConfigError(describe(str(path), None, "", str(error))) from None
    if path.name == MCP_FILE:
        return _read_mcp_file(text, path, origin)
    if path.name == CLI_FILE:
        return _read_cli_file(text, path, origin)
    return parse_layer(text, source=str(path), origin=origin, folder=path.parent)


def read_repository_file(path: Path) -> list[Layer]:
    """Return the settings of a file of a repository as a list, without one where it does not exist; a wrong one has a `fault`."""
    try:
        layer = read_layer(path, "repository")
    except ConfigError as error:
        return [unreadable_layer(path, "repository", error)]
    return [] if layer is None else [layer]


PLUGIN_SOURCE = "plugin "
"""How the name of a source begins that is an installed plugin; no path and no variable does."""

MCP_FILE = ".mcp.json"
"""The file of a project in which Claude Code and others keep MCP servers, in a form of their own."""

CLI_FILE = "cli.json"
"""The file of the user's folder in which OpenCode 2 keeps the settings of its screen, in a form of their own."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^{}]*))?\}")


def _read_mcp_file(text: str, path: Path, origin: Origin) -> Layer:
    """Return the servers of such a file as settings. The file is for other programs too: what is wrong in it is a warning."""
    source = str(path)
    empty = Layer(source, origin, path.parent, {})
    try:
        document = parse(text)
    except JsoncError as error:
        warning = Notice(source, "", f"{error}; its MCP servers are left out until you correct it", error.position.line)
        return replace(empty, warnings=(warning,))
    value: Any = document.value
    written: Any = cast("JsonObject", value).get("mcpServers") if isinstance(value, dict) else None
    servers = cast("JsonObject", written) if isinstance(written, dict) else {}
    positions = {
        ("mcp", *key[1:]): position for key, position in document.positions.items() if key[:1] == ("mcpServers",)
    }
    layer = replace(empty, positions=positions)
    found: JsonObject = {}
    warnings: list[Notice] = []
    for name, entry in servers.items():
        if (problem := _find_problem(name, entry)) is None:
            found[name] = _with_variables(_server_of(cast("JsonObject", entry)))
        else:
            warnings.append(layer.notice(("mcp", name), f"{problem}; the server is left out until you correct it"))
    return replace(layer, value={"mcp": found} if found else {}, warnings=tuple(warnings))


def _read_cli_file(text: str, path: Path, origin: Origin) -> Layer:
    """Return what such a file sets of our screen."""
    source = str(path)
    document = _parse(text, source)
    if not isinstance(document.value, dict):
        raise ConfigError(f"{source} line 1: expected an object; put the settings between {{ and }}")
    layer = Layer(source, origin, path.parent, cast("JsonObject", document.value), document.positions)
    visit(layer.value, layer.error)
    return _converted(layer, opencode2_cli.convert(layer.value, layer.error))


def _find_problem(name: str, entry: Any) -> str | None:
    """Return why an entry is no server."""
    if not isinstance(entry, dict):
        return "expected an object"
    given = cast("JsonObject", entry)
    try:
        visit({name: given}, lambda path, message: ConfigError(message))
    except ConfigError as error:
        return str(error)
    texts = ("url",) if "url" in given else ("command",)
    wrong = [(key, "a text") for key in texts if not isinstance(given.get(key), str)]
    wrong += [(key, "a list of texts") for key in ("args",) if not _has_only_texts(given.get(key, []), list)]
    wrong += [
        (key, "an object of texts") for key in ("env", "headers") if not _has_only_texts(given.get(key, {}), dict)
    ]
    return f"`{wrong[0][0]}` must be {wrong[0][1]}" if wrong else None


def _has_only_texts(value: Any, kind: type[list[Any]] | type[dict[str, Any]]) -> bool:
    if not isinstance(value, kind):
        return False
    members = cast("JsonObject", value).values() if isinstance(value, dict) else cast("list[Any]", value)
    return all(isinstance(one, str) for one in members)


def _server_of(entry: JsonObject) -> JsonObject:
    if "url" in entry:
        headers = {"headers": entry["headers"]} if entry.get("headers") else {}
        return {"type": "remote", "url": entry["url"], **headers}
    own = {"environment": entry["env"]} if entry.get("env") else {}
    return {"type": "local", "command": [entry["command"], *entry.get("args", [])], **own}


def _with_variables(value: Any) -> Any:
    """Return the value with `${NAME}` as our `{env:NAME}`, with its default if it has one."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: f"{{env:{match[0][2:-1]}}}", value)
    if isinstance(value, dict):
        return {name: _with_variables(inner) for name, inner in cast("JsonObject", value).items()}
    return [_with_variables(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def parse_layer(text: str, *, source: str, origin: Origin, folder: Path) -> Layer:
    """Return the settings in a text. Raises ConfigError, which never quotes the text."""
    document = _parse(text, source)
    if not isinstance(document.value, dict):
        raise ConfigError(f"{source} line 1: expected an object; put the settings between {{ and }}")
    return _layer(document, source=source, origin=origin, folder=folder)


def parse_value(text: str, *, key: str, source: str, folder: Path) -> Layer:
    """Return settings of one key, whose value is in an environment variable. Raises ConfigError."""
    document = _parse(text, source)
    positions = {(key, *path): position for path, position in document.positions.items()}
    wrapped = Document({key: document.value}, positions, document.repetitions)
    return _layer(wrapped, source=source, origin="user", folder=folder)


def _parse(text: str, source: str) -> Document:
    try:
        return parse(text)
    except JsoncError as error:
        raise ConfigError(f"{source}: {error.position}: {error}") from None


def _layer(document: Document, *, source: str, origin: Origin, folder: Path) -> Layer:
    repeated = tuple(
        Notice(source, dotted(again.path), "duplicate key; the last one wins", again.position.line)
        for again in document.repetitions
    )
    layer = Layer(source, origin, folder, cast("JsonObject", document.value), document.positions, repeated)
    visit(layer.value, layer.error)
    return in_own_form(layer)


def in_own_form(layer: Layer) -> Layer:
    """Return a layer with what it has in the form of OpenCode 2 in the form of OpenCode 1. Raises ConfigError."""
    if not is_newer_form(layer.value):
        return layer

    return _converted(layer, opencode2.convert(layer.value, layer.error))


def _converted(layer: Layer, newer: "Converted") -> Layer:
    notices = tuple(layer.notice(path, message) for path, message in newer.notes)
    return replace(layer, value=newer.value, written=newer.written, warnings=(*layer.warnings, *notices))


_FREE_FORM = {"options", "initialization", "variants"}


def visit(value: Any, fail: Callable[[KeyPath, str], ConfigError], path: KeyPath = ()) -> None:
    """Raise the error that `fail` returns for the first null or control character; free-form options may contain null."""
    if isinstance(value, dict):
        for key, inner in cast("JsonObject", value).items():
            if _has_control_character(key) or "\n" in key:
                raise fail((*path, key), "control character in key; remove it")
            visit(inner, fail, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            visit(inner, fail, (*path, index))
    elif value is None and not _FREE_FORM.intersection(path):
        raise fail(path, "null has no effect; remove it")
    elif isinstance(value, str) and _has_control_character(value):
        raise fail(path, "control character in string; remove it")


def _has_control_character(text: str) -> bool:
    return not text.isprintable() and any(_is_control(character) for character in text)


def _is_control(character: str) -> bool:
    code = ord(character)
    return (code < 0x20 and character not in "\t\n\r") or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
