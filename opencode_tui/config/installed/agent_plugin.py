"""Packages of the Agent Plugins specification 1.0.0, https://github.com/agentplugins/agent-plugins-spec.

The section numbers are those of the specification; `docs/plugins.md` has the table of its requirements with their tests.
"""

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from opencode_tui.config.installed.package import (
    AGENT_PLUGINS,
    MANIFEST,
    Package,
    PackageError,
    Place,
    expand,
    find_skills,
    is_path,
    is_regular,
    read_object,
)
from opencode_tui.schema.record import JsonObject

VERSIONS = ("1.0.0",)
"""The versions of the specification that are supported; the schemas of a package must name the same one."""

_TEXTS = ("version", "description", "homepage", "repository", "license")
_AUTHOR = frozenset({"name", "email", "url"})
_FIELDS = frozenset({"$schema", "name", "author", "keywords", "extensions", *_TEXTS})
_NAME = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OF_THE_CLIENT = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "keep-alive", "te"),
        *("trailer", "transfer-encoding", "upgrade", "last-event-id", "mcp-protocol-version", "mcp-session-id"),
    }
)
"""The headers, in lower case, that implement HTTP and MCP: what a client sets goes before what a package has (7.2.1)."""

_RESERVED = ("PLUGIN_ROOT", "PLUGIN_DATA")
_STDIO = frozenset({"type", "command", "args", "env", "cwd"})
_REMOTE = frozenset({"type", "url", "headers"})
SERVERS = "mcp.json"


def read(place: Place) -> Package:
    """Return the package. Raises PackageError for a manifest that the specification rejects. Blocks."""
    problems: list[str] = []
    manifest = read_object(place, place.root / MANIFEST)
    version = _check_manifest(manifest, problems)
    skills = find_skills(place, place.root / "skills", problems, is_strict=True)
    return Package(
        name=manifest["name"],
        form=f"Agent Plugins {version}",
        place=place,
        version=manifest.get("version", ""),
        description=manifest.get("description", ""),
        license=manifest.get("license", ""),
        skills=skills,
        servers=_read_servers(place, version, problems),
        problems=problems,
    )


def _check_manifest(manifest: JsonObject, problems: list[str]) -> str:
    """Return the version of the specification (5.2 to 5.5, 8.1). Raises PackageError."""
    version = _version_of(manifest.get("$schema"), "plugin", MANIFEST)
    name = manifest.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PackageError(
            f"{MANIFEST}: `name` must have 1 to 64 of a-z, 0-9, - and ., begin and end with a letter or digit, "
            "and have no -- or .."
        )
    problems += [f"{MANIFEST}: the field `{key}` is unknown, and ignored" for key in manifest if key not in _FIELDS]
    for key in _TEXTS:
        if not isinstance(manifest.get(key, ""), str):
            raise PackageError(f"{MANIFEST}: `{key}` must be a text")
    author: Any = manifest.get("author", {})
    if not isinstance(author, dict):
        raise PackageError(f"{MANIFEST}: `author` must be an object")
    for key, value in cast("JsonObject", author).items():
        if key not in _AUTHOR or not isinstance(value, str):
            raise PackageError(f"{MANIFEST}: `author` may have only the texts `name`, `email` and `url`, not `{key}`")
    keywords: Any = manifest.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(one, str) for one in cast("list[Any]", keywords)):
        raise PackageError(f"{MANIFEST}: `keywords` must be a list of texts")
    _check_extensions(manifest.get("extensions", {}), problems)
    return version


def _check_extensions(extensions: Any, problems: list[str]) -> None:
    if not isinstance(extensions, dict):
        problems.append(f"{MANIFEST}: `extensions` is not an object, and ignored")
        return
    for namespace, value in cast("JsonObject", extensions).items():
        if not isinstance(value, dict):
            raise PackageError(f"{MANIFEST}: `extensions.{namespace}` must be an object")


def _version_of(schema: Any, kind: str, file: str) -> str:
    """Return the version that a `$schema` names. Raises PackageError for any other than a supported one."""
    known = {f"{AGENT_PLUGINS}schemas/{version}/{kind}.schema.json": version for version in VERSIONS}
    if isinstance(schema, str) and schema in known:
        return known[schema]
    is_what = "is missing" if schema is None else f"is {schema!r}"
    raise PackageError(f"{file}: `$schema` {is_what}; it names the version of Agent Plugins: {', '.join(known)}")


def _read_servers(place: Place, version: str, problems: list[str]) -> JsonObject:
    """Return the servers as settings (7.2); without MCP where the file is wrong, without a server that is wrong."""
    path = place.root / SERVERS
    if not os.path.lexists(path):
        return {}
    try:
        if place.contains(path) and not is_regular(path):
            raise PackageError(f"{SERVERS} is not a regular file")
        document = read_object(place, path)
        declared = _version_of(document.get("$schema"), "mcp", SERVERS)
        if declared != version:
            raise PackageError(f"{SERVERS} is for Agent Plugins {declared}, {MANIFEST} for {version}")
        if more := sorted(document.keys() - {"$schema", "mcpServers"}):
            raise PackageError(f"{SERVERS}: the field `{more[0]}` is unknown")
        servers: Any = document.get("mcpServers")
        if not isinstance(servers, dict):
            raise PackageError(f"{SERVERS}: `mcpServers` must be an object")
    except PackageError as error:
        problems.append(f"{error}; there are no MCP servers")
        return {}
    found: JsonObject = {}
    for name, entry in cast("JsonObject", servers).items():
        try:
            found[name] = _server(place, entry)
        except PackageError as error:
            problems.append(f"{SERVERS}: {name}: {error}; the server is left out")
    return found


def _server(place: Place, entry: Any) -> JsonObject:
    """Return a server as a setting (7.2.1). Raises PackageError."""
    if not isinstance(entry, dict):
        raise PackageError("expected an object")
    given = cast("JsonObject", entry)
    match given.get("type"):
        case "stdio":
            return _local(place, _closed(given, _STDIO))
        case "streamable-http":
            return _remote(_closed(given, _REMOTE))
        case "sse":
            _remote(_closed(given, _REMOTE))
            raise PackageError("the transport `sse` is not supported")
        case None:
            raise PackageError("`type` is missing")
        case other:
            raise PackageError(f"`type` is {other!r}, none of stdio, streamable-http and sse")


def _closed(entry: JsonObject, fields: frozenset[str]) -> JsonObject:
    if more := sorted(entry.keys() - fields):
        raise PackageError(f"the field `{more[0]}` is not one of its type")
    return entry


def _local(place: Place, entry: JsonObject) -> JsonObject:
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise PackageError("`command` must be a text")
    if "/" in command:
        command = str(_own_path(place, command, "command"))
    elif command in (".", "..") or any(one.isspace() or one in "\\\0" for one in command):
        raise PackageError(
            "`command` must be one program, its name or a path that begins with ./; arguments are `args`"
        )
    arguments: Any = entry.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(one, str) for one in cast("list[Any]", arguments)):
        raise PackageError("`args` must be a list of texts")
    given = _texts(entry.get("env", {}), "env")
    for name in given:
        if name in _RESERVED:
            raise PackageError(f"`env` may not contain {name}")
        if not name or "=" in name:
            raise PackageError(f"`env` has {name!r}, which is no name of a variable")
    variables = place.variables
    own = {name: expand(value, variables) for name, value in given.items()} | variables
    return {
        "type": "local",
        "command": [command, *(expand(one, variables) for one in cast("list[str]", arguments))],
        "environment": own,
        "cwd": str(_folder(place, entry.get("cwd", "./"))),
    }


def _own_path(place: Place, written: str, field: str) -> Path:
    """Return a path relative to the root as one of the installed package (4.1). Raises PackageError."""
    if not written.startswith("./"):
        raise PackageError(f"`{field}` is a path, which must begin with ./")
    if not is_path(written):
        raise PackageError(f"`{field}` has a character that no path may have")
    path = Path(os.path.normpath(place.root / written))
    if not (path == place.root or path.is_relative_to(place.root)) or not place.contains(path):
        raise PackageError(f"`{field}` leads out of the plugin's folder")
    return place.final / path.relative_to(place.root)


def _folder(place: Place, written: Any) -> Path:
    """Return the folder that a server starts in. Raises PackageError."""
    if not isinstance(written, str):
        raise PackageError("`cwd` must be a text")
    if not is_path(written):
        raise PackageError("`cwd` has a character that no path may have")
    if written.startswith("./"):
        return _own_path(place, expand(written, place.variables), "cwd")
    for name, real, final in (
        ("PLUGIN_ROOT", place.root, place.final),
        ("PLUGIN_DATA", Path(os.path.realpath(place.data)), place.data),
    ):
        opening = f"${{{name}}}"
        if written == opening or written.startswith(f"{opening}/"):
            rest = expand(written[len(opening) :], place.variables).lstrip("/")
            path = Path(os.path.normpath(real / rest))
            led = Path(os.path.realpath(path))
            if any(not (one == real or one.is_relative_to(real)) for one in (path, led)):
                raise PackageError(f"`cwd` leads out of {opening}")
            return final / path.relative_to(real)
    raise PackageError("`cwd` must begin with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}")


def _remote(entry: JsonObject) -> JsonObject:
    url = entry.get("url")
    if not isinstance(url, str):
        raise PackageError("`url` must be a text")
    _check_address(url)
    headers = _texts(entry.get("headers", {}), "headers")
    seen: set[str] = set()
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value) or value != value.strip():
            raise PackageError(f"`headers`: {name!r} is no valid header")
        if name.lower() in seen:
            raise PackageError(f"`headers` has {name!r} twice")
        seen.add(name.lower())
    kept = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CLIENT}
    return {"type": "remote", "url": url, **({"headers": kept} if kept else {})}


def _check_address(url: str) -> None:
    """Raise PackageError unless it is https, or http on this machine, without a user and a fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_wrong = parts.scheme not in ("http", "https") or not host or parts.port == 0
    except ValueError:
        raise PackageError("`url` is not an address") from None
    if is_wrong or any(one.isspace() or not one.isprintable() for one in url):
        raise PackageError("`url` must be an address that begins with https://")
    if "@" in parts.netloc or "#" in url:
        raise PackageError("`url` may not contain a user or a fragment")
    if parts.scheme == "http" and not _is_loopback(host):
        raise PackageError("`url` must begin with https:// unless it is on this machine")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _texts(value: Any, field: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in cast("JsonObject", value).values()):
        raise PackageError(f"`{field}` must be an object of texts")
    return cast("dict[str, str]", value)
