"""What a plugin brings, in lines for its review, and what an update changes. Nothing of it is made safe for a terminal. Blocks."""

import difflib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from opencode_tui.config.installed.package import Document, Package
from opencode_tui.config.installed.store import InstalledStore
from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.engine.plugin.install import Prepared
from opencode_tui.engine.plugin.trees import Entry
from opencode_tui.schema.api.plugin import InstalledPlugin
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject

_SNIPPET = re.compile(r"!`([^`\n]+)`")
_TEXTS = (".md", ".txt")
_TEXT_NAMES = frozenset({"license", "notice"})
_DESCRIBED = frozenset(
    {
        "plugin.json",
        "mcp.json",
        ".mcp.json",
        ".claude-plugin/plugin.json",
        ".claude-plugin/marketplace.json",
        "hooks/hooks.json",
    }
)
"""Files whose effect is a line of its own."""
_OWN_VARIABLES = frozenset({"PLUGIN_ROOT", "PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"})
"""Variables that this program sets for every server."""
_LISTED_FILES = 20
_DIFF_LINES = 400
_COMPARED_LINES = 2_000
"""Lines of one file that are compared; the comparison is quadratic."""
_LINE = 160
"""Most characters of a description; what is run is never cut."""


def describe(prepared: Prepared) -> Iterator[str]:
    """Yield the lines of a review: what it is, what it brings, what of it runs, what is left out."""
    package, record = prepared.package, prepared.record
    facts = ", ".join(filter(None, [package.form, package.license]))
    yield f"{package.name}{f' {package.version}' if package.version else ''}  ({facts})"
    if package.description:
        yield f"  {_short(package.description)}"
    where = f"{record.source}{f', folder {record.folder}' if record.folder not in ('', '.') else ''}"
    yield f"  from {where}{f', commit {record.commit}' if record.commit else ', as the folder is now'}"
    yield from describe_parts(package)
    programs = [one.path for one in find_programs(package, prepared.files)]
    if programs:
        shown = ", ".join(programs[:_LISTED_FILES])
        more = len(programs) - _LISTED_FILES
        yield f"  files that are not only text: {shown}{f' and {more} more' if more > 0 else ''}"
    for problem in package.problems:
        yield f"  left out: {problem}"


def list_installed(store: InstalledStore) -> Iterator[InstalledPlugin]:
    """Yield the installed plugins by name; of one that cannot be read the reason is its problem. Raises ConfigError."""
    for one in store.all():
        try:
            package = store.read(one)
        except ConfigError as error:
            version, parts, problems = "", [], [str(error)]
        else:
            version, problems = package.version, list(package.problems)
            parts = [line.strip() for line in describe_parts(package)]
        yield InstalledPlugin(
            name=one.name,
            version=version,
            source=one.source,
            commit=one.commit,
            is_on=store.is_on(one.name),
            parts=parts,
            problems=problems,
        )


def describe_parts(package: Package) -> Iterator[str]:
    """Yield a line for each part of a package, with what it runs or reaches."""
    if not any((package.skills, package.commands, package.agents, package.hooks, package.servers)):
        yield "  brings nothing that this program can use"
    for folder in package.skills:
        values, _ = _head(folder / "SKILL.md")
        yield f"  skill    {values.get('name', folder.name)}: {_short(str(values.get('description', '')))}"
    for document in package.commands:
        yield from _document("command", f"/{package.name}:{document.name}", document)
    for document in package.agents:
        yield from _document("agent", f"{package.name}:{document.name}", document)
    yield from describe_running(package)


def describe_running(package: Package) -> Iterator[str]:
    """Yield a line for each hook and MCP server: its whole command line, or its address."""
    for event, groups in package.hooks.items():
        for group in cast("list[JsonObject]", groups):
            for hook in cast("list[JsonObject]", group["hooks"]):
                when = f"{event} {group['matcher']}" if group.get("matcher") else event
                yield f"  hook     {when} runs: {hook['command']}"
    for name, server in package.servers.items():
        label = f"  server   {package.name}:{name}"
        if server["type"] == "local":
            names = sorted(cast("Mapping[str, str]", server.get("environment") or {}))
            own = [f"{one}={server['environment'][one]}" for one in names if one not in _OWN_VARIABLES]
            where = f" in {server['cwd']}" if server.get("cwd") else ""
            yield f"{label} runs{where}: {' '.join([*map(shlex.quote, own), shlex.join(server['command'])])}"
        else:
            headers = cast("Mapping[str, str]", server.get("headers") or {})
            given = f" with the headers {', '.join(f'{one}: {headers[one]}' for one in headers)}" if headers else ""
            yield f"{label} connects to {server['url']}{given}"


def _document(kind: str, name: str, document: Document) -> Iterator[str]:
    values, body = _head(document.path)
    yield f"  {kind:<8} {name}: {_short(str(values.get('description') or ''))}".rstrip(": ")
    if kind == "command":
        for command in _SNIPPET.findall(body):
            yield f"           its use runs, by your rules: {command}"


def _head(path: Path) -> tuple[Mapping[str, Any], str]:
    try:
        matter = split_front_matter(read_text(str(path)))
    except (OSError, UnreadableFileError, FrontMatterError):
        return {}, ""
    return matter.values, matter.body


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def find_programs(package: Package, files: Sequence[Entry]) -> list[Entry]:
    """Return the files that may be run, or read by what runs.

    These are all but texts and files that lines describe. One of those counts too where a hook or a server names it.
    """
    lines = "\n".join(describe_running(package))
    return [one for one in files if not _is_read_only_by_people(one) or one.path.rpartition("/")[2] in lines]


def _is_read_only_by_people(entry: Entry) -> bool:
    name = entry.path.rpartition("/")[2].lower()
    is_text = name.endswith(_TEXTS) or name in _TEXT_NAMES
    return not entry.is_executable and (is_text or entry.path in _DESCRIBED)


def runs_otherwise(old: Package, before: Sequence[Entry], new: Package, after: Sequence[Entry]) -> bool:
    """Return whether an update changes something that runs: a hook, a server, the snippet of a command, a program."""
    return _running(old, before) != _running(new, after)


def _running(package: Package, files: Sequence[Entry]) -> object:
    snippets = [(one.name, _SNIPPET.findall(_head(one.path)[1])) for one in package.commands]
    found = find_programs(package, files)
    programs = sorted((one.path, one.data, one.is_executable, one.is_link) for one in found)
    return package.hooks, package.servers, [one for one in snippets if one[1]], programs


def describe_change(before: Sequence[Entry], after: Sequence[Entry]) -> Iterator[str]:
    """Yield the difference of two versions: each changed file, and the changed lines of texts, up to a limit."""
    old, new = ({one.path: one for one in files} for files in (before, after))
    lines: list[str] = []
    for path in sorted(old.keys() | new.keys()):
        one, other = old.get(path), new.get(path)
        if one == other:
            continue
        yield f"  {'added  ' if one is None else 'removed' if other is None else 'changed'}  {path}{_kind(one, other)}"
        texts = [_text(entry) for entry in (one, other)]
        if texts[0] is not None and texts[1] is not None and len(lines) <= _DIFF_LINES:
            old_lines, new_lines = ((text or "").splitlines()[:_COMPARED_LINES] for text in texts)
            lines += difflib.unified_diff(old_lines, new_lines, f"{path} installed", f"{path} new", lineterm="", n=2)
    yield from lines[:_DIFF_LINES]
    if len(lines) > _DIFF_LINES:
        yield "(and more lines)"


def _kind(one: Entry | None, other: Entry | None) -> str:
    if other is not None and other.is_link:
        return f" (a link to {os.fsdecode(other.data)})"
    is_now = other is not None and other.is_executable
    return " (can be run now)" if is_now and not (one is not None and one.is_executable) else ""


def _text(entry: Entry | None) -> str | None:
    """Return the text of a file, empty if there is none, None for what is not text."""
    if entry is None:
        return ""
    if entry.is_link or b"\0" in entry.data:
        return None
    try:
        return entry.data.decode()
    except UnicodeDecodeError:
        return None
