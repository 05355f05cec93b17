"""Symbols: those of the project by parts of their names, and the place of one in a document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.engine.lsp.connection import RequestError, ServerGoneError
from opencode_tui.engine.lsp.document import line_of, path_of
from opencode_tui.engine.lsp.server import LanguageServer
from opencode_tui.schema.api.language import Symbol
from opencode_tui.schema.record import JsonObject

MOST_SYMBOLS = 20
KINDS = frozenset((5, 6, 10, 11, 12, 13, 14, 23))
"""Class, method, enum, interface, function, variable, constant, struct. Source: OpenCode 1.1.65."""

_ANSWER_S = 2.0
_MOST_READ = 500


class FoundSymbol(Struct, frozen=True):
    """A symbol in a document: its kind, and the range of its whole definition as the server gave it."""

    name: str
    kind: int
    range: JsonObject

    @property
    def lines(self) -> tuple[int, int]:
        """Its first and last line, from 1; a range that ends at the beginning of a line does not contain it."""
        end = self.range.get("end")
        first, last = line_of(self.range) + 1, line_of({"start": end}) + 1
        is_before = isinstance(end, dict) and cast("JsonObject", end).get("character") == 0 and last > first
        return first, last - is_before


def objects(given: Any) -> list[JsonObject]:
    """Return the objects of a list that a server sent; none for another form."""
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    return [cast("JsonObject", one) for one in listed if isinstance(one, dict)]


def flatten(symbols: Sequence[JsonObject], depth: int = 0) -> list[JsonObject]:
    """Return the symbols of a document with those inside each after it; `depth` is added to each."""
    return [
        inner
        for one in symbols
        for inner in ({**one, "depth": depth}, *flatten(objects(one.get("children")), depth + 1))
    ]


def range_of(symbol: JsonObject) -> Any:
    """Return the range of a symbol of a document, in either form that servers send."""
    return symbol.get("range") or cast("JsonObject", symbol.get("location") or {}).get("range")


async def search(server: LanguageServer, query: str, worktree: Path) -> list[Symbol]:
    """Return symbols of the work tree that match, as the server ranks them; none when it does not answer in time."""
    if not server.can("workspaceSymbolProvider"):
        return []
    try:
        answer = await server.connection.request("workspace/symbol", {"query": query}, timeout_s=_ANSWER_S)
    except (ServerGoneError, RequestError, TimeoutError):
        return []
    found = [Symbol.of(one) for one in objects(answer)[:_MOST_READ]]
    return [one for one in found if one is not None and one.kind in KINDS and _is_below(one, worktree)][:MOST_SYMBOLS]


async def find_in(server: LanguageServer, path: Path, *, name: str, line: int | None) -> FoundSymbol | None:
    """Return the symbol of a file that begins at a line (from 1), else the first of this name; None without one.

    Raises ServerGoneError, RequestError, TimeoutError.
    """
    document = await server.open(path)
    if document is None or not server.can("documentSymbolProvider"):
        return None
    about = {"textDocument": {"uri": document.uri}}
    answer = await server.connection.request("textDocument/documentSymbol", about, timeout_s=_ANSWER_S)
    symbols = [one for one in flatten(objects(answer)) if isinstance(range_of(one), dict)]
    at_line = [one for one in symbols if line is not None and line - 1 in _first_lines(one)]
    named = [one for one in symbols if name and _plain(str(one.get("name"))) == name]
    chosen = next((one for one in at_line if one in named), None) or next(iter(at_line or named), None)
    if chosen is None:
        return None
    kind = chosen.get("kind")
    return FoundSymbol(str(chosen.get("name")), kind if isinstance(kind, int) else 0, range_of(chosen))


def _plain(name: str) -> str:
    return name.partition("(")[0].strip()


def _first_lines(symbol: JsonObject) -> tuple[int, int]:
    """Return the line where a symbol begins, and that of its name: decorators come before it."""
    whole = range_of(symbol)
    return line_of(whole), line_of(symbol.get("selectionRange") or whole)


def _is_below(symbol: Symbol, worktree: Path) -> bool:
    path = path_of(symbol.location.uri)
    return path is not None and path.is_relative_to(worktree)
