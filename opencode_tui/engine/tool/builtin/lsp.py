"""The lsp tool: definitions, references, symbols and diagnostics of language servers."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.lsp.connection import RequestError, ServerGoneError
from opencode_tui.engine.lsp.document import Document, column, line_of, path_of, position, read_text
from opencode_tui.engine.lsp.language_servers import LanguageServers
from opencode_tui.engine.lsp.server import LanguageServer
from opencode_tui.engine.lsp.symbols import flatten, objects, range_of
from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.location import Location, ask_outside, locate
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject

MOST_LINES = 100
"""Most lines of an answer."""

START_S = 30.0
ANSWER_S = 30.0

Operation = Literal[
    "goToDefinition",
    "findReferences",
    "hover",
    "documentSymbol",
    "workspaceSymbol",
    "goToImplementation",
    "prepareCallHierarchy",
    "incomingCalls",
    "outgoingCalls",
    "diagnostics",
]
_AT_POSITION = {
    "goToDefinition": ("textDocument/definition", "definitionProvider"),
    "findReferences": ("textDocument/references", "referencesProvider"),
    "goToImplementation": ("textDocument/implementation", "implementationProvider"),
}
_CALLS = {
    "incomingCalls": ("callHierarchy/incomingCalls", "from"),
    "outgoingCalls": ("callHierarchy/outgoingCalls", "to"),
}

Readable = Callable[[ToolContext, Path], bool]


class LspParameters(Parameters):
    """What to find, and where."""

    operation: Operation
    file_path: str
    line: int | None = Field(default=None, ge=1)
    character: int | None = Field(default=None, ge=1)
    symbol: str | None = None
    query: str | None = None


class LspTool:
    """Asks the language server of a file."""

    name = "lsp"
    parameters = LspParameters

    def __init__(self, *, languages: Lazy[LanguageServers], readable: Readable) -> None:
        self.description = read_description(self.name)
        self._languages = languages
        self._readable = readable

    async def run(self, arguments: LspParameters, context: ToolContext) -> ToolResult:
        """Return the lines that the server found; raises ToolError where there is no server, or it does not answer."""
        location = await locate(arguments.file_path, context)
        await ask_outside(location, context, "read")
        await context.ask("read", location.read_patterns, always=grantable(location.read_patterns))
        await context.ask(
            "lsp", ["*"], always=["*"], metadata={"operation": arguments.operation, "filePath": str(location.path)}
        )
        try:
            server = await self._languages.get().server_for(location.real, limit_s=START_S)
            document = await server.open(location.real)
            if document is None:
                raise ToolError(f"{location.path} does not exist or is no text; give a source file of the project")
            async with asyncio.timeout(ANSWER_S):
                lines = await self._answer(arguments, server, document, context)
        except ServerGoneError as error:
            raise ToolError(
                str(error) or f"the language server of {location.path} ended; try again, or use grep"
            ) from error
        except RequestError as error:
            raise ToolError(f"the language server refused: {error}; use grep instead") from error
        except TimeoutError as error:
            raise ToolError("the language server did not answer in time; try again later, or use grep") from error
        return _result(arguments, location, lines)

    async def _answer(
        self, arguments: LspParameters, server: LanguageServer, document: Document, context: ToolContext
    ) -> list[str]:
        operation, about = arguments.operation, {"textDocument": {"uri": document.uri}}
        if operation == "diagnostics":
            return _errors((await server.diagnose(document)).errors, document, server)
        if operation == "documentSymbol":
            _require(server, "documentSymbolProvider", operation)
            return _symbols(await _ask(server, "textDocument/documentSymbol", about))
        if operation == "workspaceSymbol":
            _require(server, "workspaceSymbolProvider", operation)
            found = await _ask(server, "workspace/symbol", {"query": arguments.query or arguments.symbol or ""})
            return await self._locations([one.get("location") for one in objects(found)], server, context)
        at = {**about, "position": await self._position(arguments, server, document)}
        if operation == "hover":
            _require(server, "hoverProvider", operation)
            return _hover(await _ask(server, "textDocument/hover", at))
        if operation in _AT_POSITION:
            method, capability = _AT_POSITION[operation]
            _require(server, capability, operation)
            found = await _ask(server, method, {**at, "context": {"includeDeclaration": True}})
            locations = cast("list[Any]", found) if isinstance(found, list) else [found]
            return await self._locations(locations, server, context)
        _require(server, "callHierarchyProvider", operation)
        items = objects(await _ask(server, "textDocument/prepareCallHierarchy", at))
        if operation in _CALLS:
            method, end = _CALLS[operation]
            called = [call for item in items for call in objects(await _ask(server, method, {"item": item}))]
            items = [cast("JsonObject", call[end]) for call in called if isinstance(call.get(end), dict)]
        locations = [{"uri": item.get("uri"), "range": item.get("selectionRange")} for item in items]
        return await self._locations(locations, server, context)

    async def _position(self, arguments: LspParameters, server: LanguageServer, document: Document) -> JsonObject:
        if arguments.symbol:
            line, character = await _find(arguments.symbol, arguments.line, server, document)
        elif arguments.line is not None:
            line, character = arguments.line - 1, (arguments.character or 1) - 1
        else:
            raise ToolError(f"{arguments.operation} needs a location; give symbol, or line and character")
        return position(document.text, line, character, server.encoding)

    async def _locations(self, given: Sequence[Any], server: LanguageServer, context: ToolContext) -> list[str]:
        """Return `path:line: text` for locations and links of locations."""
        found: dict[tuple[Path, int], None] = {}
        for one in objects(list(given)):
            path = path_of(str(one.get("uri") or one.get("targetUri") or ""))
            if path is not None:
                found.setdefault((path, line_of(one.get("targetSelectionRange") or one.get("range"))))
        return await asyncio.to_thread(self._show, list(found), context)

    def _show(self, locations: Sequence[tuple[Path, int]], context: ToolContext) -> list[str]:
        texts: dict[Path, list[str]] = {}
        shown: list[str] = []
        for path, line in locations[: MOST_LINES + 1]:
            is_inside = path.is_relative_to(context.worktree) or path.is_relative_to(context.directory)
            if path not in texts:
                read = read_text(path) if is_inside and self._readable(context, path) else None
                texts[path] = read[0].split("\n") if read else []
            text = texts[path][line].strip()[:200] if line < len(texts[path]) else ""
            name = path.relative_to(context.worktree) if path.is_relative_to(context.worktree) else path
            shown.append(f"{name}:{line + 1}: {text}" if text else f"{name}:{line + 1}")
        return shown


async def _find(name: str, line: int | None, server: LanguageServer, document: Document) -> tuple[int, int]:
    """Return the line and character, from 0, of a name: of its definition in the file, else of its first use after `line`."""
    last = re.split(r"[.:#]+", name.strip().removesuffix("()"))[-1]
    lines = document.text.split("\n")
    if line is None and server.can("documentSymbolProvider"):
        found = await _ask(server, "textDocument/documentSymbol", {"textDocument": {"uri": document.uri}})
        for symbol in flatten(objects(found)):
            if str(symbol.get("name")).partition("(")[0] == last:
                span: Any = symbol.get("selectionRange") or cast("JsonObject", symbol.get("location") or {}).get(
                    "range"
                )
                number = line_of(span)
                at = lines[number].find(last) if number < len(lines) else -1
                if at >= 0:
                    return number, at
    pattern = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
    for number in range((line or 1) - 1, len(lines)):
        if match := pattern.search(lines[number]):
            return number, match.start()
    raise ToolError(f"{name} does not occur in {document.path}; give a name that is in the file, or line and character")


async def _ask(server: LanguageServer, method: str, params: JsonObject) -> Any:
    return await server.connection.request(method, params, timeout_s=ANSWER_S)


def _require(server: LanguageServer, capability: str, operation: str) -> None:
    if not server.can(capability):
        raise ToolError(f"the language server {server.found.server.id} cannot do {operation}; use grep instead")


def _symbols(found: Any) -> list[str]:
    rows: list[str] = []
    for one in flatten(objects(found)):
        rows.append(f"{'  ' * int(one['depth'])}{_lines(range_of(one))}: {one.get('name')}")
    return rows


def _lines(span: Any) -> str:
    start = line_of(span)
    end = line_of({"start": span.get("end")}) if isinstance(span, dict) else start
    return f"{start + 1}" if end <= start else f"{start + 1}-{end + 1}"


def _hover(found: Any) -> list[str]:
    contents: Any = cast("JsonObject", found).get("contents") if isinstance(found, dict) else None
    parts = cast("list[Any]", contents) if isinstance(contents, list) else [contents]
    texts = [
        str(cast("JsonObject", one).get("value") or "") if isinstance(one, dict) else str(one or "") for one in parts
    ]
    return "\n".join(text for text in texts if text).splitlines()


def _errors(errors: Sequence[JsonObject], document: Document, server: LanguageServer) -> list[str]:
    lines = document.text.split("\n")
    shown: list[str] = []
    for error in errors:
        line = line_of(error.get("range"))
        text = lines[line] if line < len(lines) else ""
        start: Any = error["range"]["start"]["character"] if isinstance(error.get("range"), dict) else 0
        shown.append(
            f"{line + 1}:{column(text, start, server.encoding) + 1}: {' '.join(str(error.get('message')).split())}"
        )
    return shown


def _result(arguments: LspParameters, location: Location, lines: Sequence[str]) -> ToolResult:
    title = f"{arguments.operation} {arguments.symbol or arguments.query or location.relative}"
    if not lines:
        return ToolResult(title, "Nothing found.", {"count": 0})
    more = [f"… more than {MOST_LINES}; ask for something narrower"] if len(lines) > MOST_LINES else []
    return ToolResult(title, "\n".join([*lines[:MOST_LINES], *more]), {"count": len(lines)})


def make(kit: ToolKit) -> LspTool:
    """Return the tool."""
    return LspTool(languages=kit.editing.languages or Lazy(_no_servers), readable=kit.readable)


def _no_servers() -> LanguageServers:
    raise ToolError("language servers are off here")
