"""`@` references in a prompt: existing files and folders become attachments, names of agents become agent parts.

`@SERVER:URI` refers to a resource of an MCP server.

`@src/a.py`, `@~/notes.md`, `@"a name with spaces.txt"`, with a range of lines `@a.py#L10-20` or `@a.py#L10`, or with a symbol
`@a.py#parse`. An `@` after a word character or a backtick is not a reference (addresses, decorators in code). Each name counts
once.
Source: docs/internals/loop.md#references.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.config.sources.project_file import find_objection
from opencode_tui.engine.session.request.attachment import file_input
from opencode_tui.schema.api.request import AgentInput, FileInput, PromptPart, TextInput
from opencode_tui.schema.session.part import AgentSource, FilePartSource, SourceText

if TYPE_CHECKING:
    from opencode_tui.schema.api.mcp import McpResource

_REFERENCE = re.compile(
    r'(?<![\w`@])@(?:"(?P<quoted>[^"\n]+)"(?P<lines>#L?\d+(?:-L?\d+)?|#[^\W\d]\w*)?|(?P<plain>(?!@)[^\s`,;"\'<>|]+))'
)
_LINES = re.compile(r"#L?(\d+)(?:-L?(\d+))?$")
_SYMBOL = re.compile(r"#([^\W\d]\w*)$")
_TRAILING = ".:!?)]}…"
_EXPRESSION = re.compile(r"\{([^{}]+)\}")
_MOST_EXPRESSIONS = 8
"""Expressions of a template that are compared; the time grows with their number."""

MAX_REFERENCES = 100
"""Maximum references in one text; a text with more is data."""


class ReferenceScope(Struct, frozen=True):
    """How names are resolved: paths relative to the first of `folders` that has them, `~/` to home.

    `agents` are the known agents, `resources` returns those of MCP servers, `templates` those with a part that the user writes
    (`uri` is the template, RFC 6570). With `is_confined`, for texts that the user did not
    write, a path must be relative and resolve, with links followed, into one of those folders, and not to a file of secrets, and
    no resource is meant.
    """

    folders: Sequence[Path]
    home: Path
    agents: Sequence[str]
    is_confined: bool = False
    resources: "Callable[[], Sequence[McpResource]]" = tuple
    templates: "Callable[[], Sequence[McpResource]]" = tuple


class Reference(Struct, frozen=True):
    """An `@` in a text: its name, its position, and the range of lines, `(start, end)`, end None for the rest, or a symbol."""

    name: str
    value: str
    start: int
    lines: tuple[int, int | None] | None = None
    symbol: str = ""


def find_references(text: str) -> list[Reference]:
    """Return the possible references of a text, each name once, in order; nothing is looked up."""
    found: dict[str, Reference] = {}
    for match in _REFERENCE.finditer(text):
        if match["quoted"] is not None:
            written = match["quoted"] + (match["lines"] or "")
            value = match.group()
        else:
            written = match["plain"].rstrip(_TRAILING)
            value = f"@{written}"
        reference = _reference(written, value, match.start())
        if reference.name:
            found.setdefault(reference.value, reference)
        if len(found) == MAX_REFERENCES:
            break
    return list(found.values())


def expand_prompt(text: str, place: ReferenceScope) -> list[PromptPart]:
    """Return the text as a part, followed by the parts of its references. Blocks on the disk."""
    return [TextInput.trusted(text=text), *expand_references(text, place)]


def expand_references(text: str, place: ReferenceScope, *, with_source: bool = True) -> list[FileInput | AgentInput]:
    """Return the parts of a text's references, without the text. Blocks on the disk.

    `with_source` adds the position of each in the text.
    """
    parts: list[FileInput | AgentInput] = []
    for reference in find_references(text):
        part = _file(reference, place) or _agent(reference, place) or _resource(reference, place)
        if part is not None:
            parts.append(part if with_source else part.changed(source=None))
    return parts


def _reference(written: str, value: str, start: int) -> Reference:
    match = _LINES.search(written)
    if match is None and (named := _SYMBOL.search(written)) is not None:
        return Reference(written[: named.start()], value, start, symbol=named[1])
    if match is None:
        return Reference(written, value, start)
    first, last = int(match[1]), match[2]
    return Reference(written[: match.start()], value, start, (first, int(last) if last else first))


def _file(reference: Reference, place: ReferenceScope) -> FileInput | None:
    for path, is_whole in _candidates(reference, place):
        try:
            given = file_input(path) if path.exists() else None
        except (OSError, ValueError):  # not a valid file name
            continue
        if given is not None:
            url = given.url
            if reference.lines is not None and given.mime == "text/plain":
                start, end = reference.lines
                url = f"{url}?start={start}&end={end}"
            span = SourceText(value=reference.value, start=reference.start, end=reference.start + len(reference.value))
            source = FilePartSource(type="file", path=str(path), text=span)
            if reference.symbol and not is_whole and given.mime == "text/plain":
                source = FilePartSource(type="symbol", path=str(path), text=span, name=reference.symbol)
            name = _written(reference) if is_whole else reference.name
            return given.changed(filename=name, url=url, source=source)
    return None


def _written(reference: Reference) -> str:
    return reference.value[1:].strip('"')


def _candidates(reference: Reference, place: ReferenceScope) -> Iterator[tuple[Path, bool]]:
    """Yield the paths that may be meant, and whether each is all that was written."""
    names = [(reference.name, reference.lines is None and not reference.symbol)]
    if not names[0][1] and reference.value.startswith("@") and "#" in reference.value:
        whole = (_written(reference), True)  # a file whose name ends like a range or a symbol
        names = [whole, *names] if reference.symbol else [*names, whole]
    for name, is_whole in names:
        if place.is_confined:
            found = [folder / name for folder in place.folders if _stays(folder, name, place)]
        elif name == "~" or name.startswith("~/"):
            found = [place.home / name[2:]]
        else:
            found = [folder / name for folder in place.folders]
        yield from ((path, is_whole) for path in found)


def _stays(folder: Path, name: str, place: ReferenceScope) -> bool:
    """Return whether a text that the user did not write may attach this path."""
    if "\0" in name or name.startswith("~") or Path(name).is_absolute():
        return False
    return any(find_objection(folder / name, root.resolve()) is None for root in place.folders)


def _agent(reference: Reference, place: ReferenceScope) -> AgentInput | None:
    if reference.name not in place.agents:
        return None
    end = reference.start + len(reference.value)
    return AgentInput(name=reference.name, source=AgentSource(value=reference.value, start=reference.start, end=end))


def _resource(reference: Reference, place: ReferenceScope) -> FileInput | None:
    if place.is_confined or ":" not in reference.name:
        return None
    for one in place.resources():
        if f"{one.client}:{one.uri}" == reference.name:
            return _attached(one, one.uri, reference)
    for one in place.templates():
        uri = reference.name.removeprefix(f"{one.client}:")
        if uri != reference.name and _fits(uri, one.uri):
            return _attached(one, uri, reference)
    return None


def _attached(resource: "McpResource", uri: str, reference: Reference) -> FileInput:
    span = SourceText(value=reference.value, start=reference.start, end=reference.start + len(reference.value))
    source = FilePartSource(type="resource", client_name=resource.client, uri=uri, text=span)
    return FileInput(mime=resource.mime_type or "text/plain", filename=resource.name, url=uri, source=source)


def _fits(uri: str, template: str) -> bool:
    """Return whether a template (RFC 6570) may stand for an address; the server decides what it holds."""
    parts = _EXPRESSION.split(template)
    if len(parts) == 1 or len(parts) > 2 * _MOST_EXPRESSIONS + 1:
        return False
    written = [re.escape(part) for part in parts[::2]]
    forms = [
        "[^ ]*"
        if expression[:1] in ("?", "&", "#", ";")
        else "[^ ]+"
        if "*" in expression or expression[:1] in ("+", "/")
        else "[^/ ]+"
        for expression in parts[1::2]
    ]
    pattern = "".join(one for pair in zip(written, [*forms, ""], strict=True) for one in pair)
    return re.fullmatch(pattern, uri) is not None
