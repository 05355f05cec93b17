"""Expand a file in a prompt: its text as the read tool shows it, or its bytes as a data URL, always with the part itself.

Its content decides, not its name: a pointer of Git LFS or an error page that is named as a picture is text. A file that cannot be
read becomes a line that says so; the prompt is sent. Source: docs/internals/loop.md#prompts.
"""

import asyncio
import base64
import json
import mimetypes
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit, urlunsplit

from msgspec import Struct

from opencode_tui.config.sources.project_file import find_objection
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.tool.files.media_type import as_it_is, media_type
from opencode_tui.engine.tool.files.text_format import is_binary, presentable
from opencode_tui.engine.tool.registry import ToolRegistry
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.api.request import FileInput
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import AnyPart, FilePart, FilePartSource, TextPart
from opencode_tui.storage.safe_folder import open_folder

if TYPE_CHECKING:
    from opencode_tui.engine.lsp.symbols import FoundSymbol
    from opencode_tui.engine.mcp.content import Content

TEXT, FOLDER = "text/plain", "application/x-directory"
_TEXT_ENDINGS = ("json", "xml", "yaml", "toml", "javascript", "typescript", "x-sh", "sql", "x-httpd-php")
MAX_BYTES = 20 * 1024 * 1024
"""Maximum size of an attachment in bytes."""


def file_input(path: Path) -> FileInput:
    """Return the input for a local file or folder, with its kind guessed from its name. Blocks on the disk."""
    if path.is_dir():
        mime = FOLDER
    else:
        guessed = mimetypes.guess_type(path.name)[0] or TEXT
        is_media = guessed == "application/pdf" or (guessed.startswith("image/") and guessed != "image/svg+xml")
        mime = guessed if is_media else TEXT
    return FileInput(mime=mime, filename=path.name, url=path.absolute().as_uri())


class Attachments(Struct, frozen=True):
    """Expands the files of prompts for the instance of one folder."""

    tools: ToolRegistry
    identifier: Identifier
    directory: Path
    worktree: Path
    read_resource: "Callable[[str, str], Awaitable[Content]]"
    find_symbol: "Callable[[Path, str, int | None], Awaitable[FoundSymbol | None]] | None" = None
    """Returns the symbol of a file that has a name, or begins at a line, from 1, if it is known; never raises.

    Without a symbol the attachment has the lines of its address.
    """

    async def expand(self, given: FileInput, message: UserMessage) -> list[AnyPart]:
        """Return the parts for one attachment, in order; stores nothing."""
        if _is_text(given.mime):
            given = given.changed(mime=TEXT)
        try:
            return await self._expand(given, message)
        except (OpencodeError, OSError, ValueError) as error:  # ValueError: an invalid address or invalid data
            note = f"Attachment {given.filename or given.url[:200]} could not be read: {error}"
            is_sent = given.mime != TEXT and given.url.startswith("data:")
            kept = [] if is_sent else [self._part(message, given, given.url, given.mime)]
            return [self._note(message, note), *kept]

    async def _expand(self, given: FileInput, message: UserMessage) -> list[AnyPart]:
        source = given.source
        if source is not None and source.type == "resource" and source.client_name and source.uri:
            return await self._expand_resource(given, message, source.client_name, source.uri)
        address = urlsplit(given.url)
        if address.scheme == "file":
            return await self._expand_file(given, message, Path(os.fsdecode(unquote_to_bytes(address.path))))
        if address.scheme != "data":
            _check_supported(given)
        if address.scheme == "data" and given.mime != TEXT:
            await asyncio.to_thread(_check_base64, given.url)
        if address.scheme != "data" or given.mime != TEXT:
            return [self._part(message, given, given.url, given.mime)]
        text = _decode_text(given.url)
        return [
            self._note(message, f"Called the Read tool with the following input: {_call(given.filename or 'text')}"),
            self._note(message, text),
            self._part(message, given, given.url, given.mime),
        ]

    async def _expand_resource(self, given: FileInput, message: UserMessage, server: str, uri: str) -> list[AnyPart]:
        content = await self.read_resource(server, uri)
        head = f"Read the resource {uri} of the MCP server {server}:"
        files = [self._part(message, given, one["url"], one["mime"]) for one in content.attachments]
        kept = [] if files else [self._part(message, given, given.url, TEXT)]
        return [self._note(message, head), self._note(message, content.text), *files, *kept]

    async def _expand_file(self, given: FileInput, message: UserMessage, path: Path) -> list[AnyPart]:
        objection = await asyncio.to_thread(self._find_objection, path)
        if objection is not None:
            raise OpencodeError(f"{objection}; name that file itself to attach it")
        is_folder = await asyncio.to_thread(path.is_dir)
        content = b"" if is_folder or given.mime in (TEXT, FOLDER) else await asyncio.to_thread(self._content, path)
        if not content or (media_type(content) is None and not is_binary(content)):
            if given.source is not None and given.source.type == "symbol":
                given = await self._locate(given, given.source, path)
            arguments = {"filePath": str(path), **_line_range(given)}
            text = presentable(await self._read(message, arguments))
            mime = FOLDER if is_folder else TEXT
            return [
                self._note(message, f"Called the Read tool with the following input: {json.dumps(arguments)}"),
                self._note(message, text),
                self._part(message, given, given.url, mime),
            ]
        data = f"data:{given.mime};base64,{base64.b64encode(content).decode('ascii')}"
        return [
            self._note(message, f"Called the Read tool with the following input: {_call(str(path))}"),
            self._part(message, given, data, given.mime),
        ]

    async def _locate(self, given: FileInput, source: FilePartSource, path: Path) -> FileInput:
        """Return the part of a symbol with the lines of its whole definition; the whole file where they are not known."""
        address = urlsplit(given.url)
        start, end = _written_lines(given)
        if start is not None and start != end:
            return given
        found = None if self.find_symbol is None else await self.find_symbol(path, source.name or "", start)
        if found is not None:
            start, end = found.lines
            kind = {"kind": found.kind} if found.kind else {}
            source = source.changed(name=source.name or found.name, range=found.range, **kind)
        elif start is not None:
            end = _last_line(source.range) or end
        else:  # not a place that OpenCode's records could hold
            source = source.changed(type="file", name=None)
        query = "" if start is None else f"start={start}&end={end}"
        return given.changed(url=urlunsplit(address._replace(query=query)), source=source)

    def _find_objection(self, path: Path) -> str | None:
        """Return why a file of the project is not what its name says: a repository chooses where its links lead."""
        written = Path(os.path.normpath(path))
        if not written.is_relative_to(self.worktree) or os.path.realpath(path) == str(written):
            return None
        return find_objection(path, self.worktree)

    def _content(self, path: Path) -> bytes:
        """Return the content of a file, none of a pipe. What is read is checked itself: its name may lead elsewhere by now."""
        written, real = Path(os.path.normpath(path)), Path(os.path.realpath(path))
        if written.is_relative_to(self.worktree) and real != written and (found := find_objection(real, self.worktree)):
            raise OpencodeError(f"{found}; name that file itself to attach it")
        with open_folder(real.parent) as folder:
            data, status = folder.read(real.name, MAX_BYTES + 1)
        if max(len(data), status.st_size) > MAX_BYTES:
            raise OpencodeError(f"{path} has {status.st_size} bytes; at most {MAX_BYTES} can be attached")
        return data

    async def _read(self, message: UserMessage, arguments: dict[str, Any]) -> str:
        tool = self.tools.get("read")
        if tool is None:
            raise OpencodeError("the read tool is switched off")
        valid = self.tools.validate(tool, arguments)
        if isinstance(valid, str):
            raise OpencodeError(valid)
        return (await tool.run(valid, self._context(message))).output

    def _context(self, message: UserMessage) -> ToolContext:
        return ToolContext(
            session_id=message.session_id,
            message_id=message.id,
            call_id="attachment",
            agent=message.agent,
            directory=self.directory,
            worktree=self.worktree,
            ask=_Allowed(),
            progress=lambda _title, _metadata: None,
        )

    def _note(self, message: UserMessage, text: str) -> TextPart:
        return TextPart(
            id=self.identifier.ascending("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=text,
            synthetic=True,
        )

    def _part(self, message: UserMessage, given: FileInput, url: str, mime: str) -> FilePart:
        mime, url = (mime, url) if mime in (TEXT, FOLDER) else as_it_is(mime, url)
        return FilePart(
            id=given.id or self.identifier.ascending("prt"),
            session_id=message.session_id,
            message_id=message.id,
            mime=mime,
            filename=given.filename,
            url=url,
            source=given.source,
        )


class _Allowed:
    """Allows to read a file that the user named."""

    async def __call__(self, *_: object, **__: object) -> None:
        """Return at once."""

    async def query(self, query: Query) -> bool:
        """Return at once."""
        return False

    async def is_always_outside(self, query: Query) -> bool:
        """Return no."""
        return False

    def rules(self) -> Sequence[Ruleset]:
        """Return no rules."""
        return ()


def _is_text(mime: str) -> bool:
    """Return whether a MIME type is text for the model, pictures that are text (SVG) included."""
    return mime.startswith("text/") or mime.endswith(_TEXT_ENDINGS)


def _call(name: str) -> str:
    return json.dumps({"filePath": name})


def _decode_text(url: str) -> str:
    head, _, data = url.partition(",")
    payload = base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    return payload.decode("utf-8", "replace")


def _check_base64(url: str) -> None:
    """Raise ValueError when a provider could not read the data."""
    head, _, data = url.partition(",")
    if not head.endswith(";base64") or not base64.b64decode(data, validate=True):
        raise ValueError("its data is not base64")


def _check_supported(given: FileInput) -> None:
    """Raise OpencodeError for an attachment whose content cannot be read, so that the user and the model know."""
    if given.mime == TEXT:
        raise OpencodeError("text can be attached by a file: or data: address only")


def _line_range(given: FileInput) -> dict[str, int]:
    """Return the arguments of the read tool for the lines in an address."""
    start, end = _written_lines(given)
    if start is None:
        return {}
    offset = max(start, 1)
    return {"offset": offset, "limit": end - offset + 1} if end is not None and end >= offset else {"offset": offset}


def _written_lines(given: FileInput) -> tuple[int | None, int | None]:
    """Return the first and the last line in an address, from 1, None where it has none."""
    query = parse_qs(urlsplit(given.url).query)
    start, end = (query.get(name, [""])[0] for name in ("start", "end"))
    return (int(start), int(end) if end.isdigit() else None) if start.isdigit() else (None, None)


def _last_line(symbol_range: dict[str, Any] | None) -> int | None:
    """Return the last line (1-based) of a language server protocol range (0-based), None for another form."""
    try:
        line = (symbol_range or {})["end"]["line"]
    except (KeyError, TypeError):
        return None
    return line + 1 if isinstance(line, int) else None
