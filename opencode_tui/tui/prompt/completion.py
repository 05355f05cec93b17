"""Completion of commands, files, symbols, agents and resources in the prompt."""

import os
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import unquote, urlsplit

from opencode_tui.client.client import Client
from opencode_tui.schema.api.catalog import AgentSummary
from opencode_tui.schema.api.keybinds import BY_ID
from opencode_tui.schema.ranking import ranked
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.prompt.file_names import LIMIT, FileNames
from opencode_tui.tui.prompt.slash import SLASH, completion_names

if TYPE_CHECKING:
    from opencode_tui.schema.api.folder import CommandSummary
    from opencode_tui.schema.api.language import Symbol
    from opencode_tui.schema.api.mcp import McpResource

SYMBOL_LETTERS = 2
"""Letters from which symbols are looked for."""

MOST_SYMBOLS, BEFORE_SYMBOLS = 5, 3
"""Most symbols in a list, and the rows before them."""


_AT = re.compile(r"(?:^|\s)@(?P<query>[^\s@]*)$")
_SLASH = re.compile(r"^/(?P<query>[^\s/]*)$")


@dataclass(frozen=True, slots=True)
class Trigger:
    """The text to complete at the cursor: `/com` or `@src/pa`; `length` counts its characters with the sign."""

    kind: Literal["command", "reference"]
    query: str
    length: int


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion: `insert` replaces the text and is unsafe; the shown texts are safe."""

    insert: str
    shown: str
    note: str = ""


def trigger(before_cursor: str, *, is_first_line: bool) -> Trigger | None:
    """Return the text before the cursor that can be completed, None if there is none."""
    slash = _SLASH.match(before_cursor) if is_first_line else None
    if slash is not None:
        return Trigger("command", slash["query"], len(slash["query"]) + 1)
    at = _AT.search(before_cursor)
    return Trigger("reference", at["query"], len(at["query"]) + 1) if at is not None else None


class Completer:
    """Finds completions through the engine; reads commands, agents and resources once for each list that opens."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._files = FileNames(client)
        self._commands: Sequence[CommandSummary] | None = None
        self.own_commands: Set[str] = frozenset()
        """The names of the user's and the project's commands when they were last read."""
        self._agents: Sequence[AgentSummary] | None = None
        self._resources: Sequence[McpResource] | None = None

    def reset(self) -> None:
        """Make the next list read the names again: trust in the folder adds commands, an MCP server adds resources."""
        self._commands = self._agents = self._resources = None

    async def find(self, wanted: Trigger) -> Sequence[Completion]:
        """Return the completions, best first."""
        if wanted.kind == "command":
            return await self._find_commands(wanted.query)
        agents = await self._find_agents(wanted.query)
        files = [Completion(f"@{name} ", screen_line(name)) for name in await self._files.find(wanted.query)]
        resources = await self._find_resources(wanted.query)
        if not wanted.query:
            return [*files[:6], *agents, *resources]
        named = [one for one in (*agents, *resources) if one.shown.casefold().startswith(wanted.query.casefold())]
        return [*named, *files, *(one for one in (*agents, *resources) if one not in named)]

    async def find_symbols(self, wanted: Trigger) -> Sequence[Completion]:
        """Return symbols of the project that match, as language servers that run know them; none starts for it."""
        if wanted.kind != "reference" or len(wanted.query) < SYMBOL_LETTERS or not wanted.query.isidentifier():
            return ()
        found = await self._client.languages.symbols(wanted.query)
        named = [(one, name) for one in found if (name := self._file_of(one)) is not None]
        often = Counter((one.name, name) for one, name in named)
        completions = [_symbol_completion(one, name, is_alone=often[one.name, name] == 1) for one, name in named]
        best = sorted((one for one in completions if one is not None), key=lambda one: _symbol_rank(wanted.query, one))
        return list({one.insert: one for one in reversed(best)}.values())[::-1][:MOST_SYMBOLS]

    def _file_of(self, symbol: "Symbol") -> str | None:
        """Return the name of a symbol's file below the folder, None for another one."""
        parts = urlsplit(symbol.location.uri)
        path = Path(os.path.normpath(unquote(parts.path)))
        if parts.scheme != "file" or not path.is_relative_to(self._client.directory):
            return None
        return str(path.relative_to(self._client.directory))

    async def read_commands(self) -> Sequence["CommandSummary"]:
        """Read the commands, unless the list that is open has read them."""
        if self._commands is None:
            self._commands = await self._client.catalog.commands()
            self.own_commands = {one.name for one in self._commands if one.source == "command" and not one.built_in}
        return self._commands

    async def _find_commands(self, query: str) -> list[Completion]:
        commands = await self.read_commands()
        built_in = [
            Completion(f"/{name}", f"/{name}", BY_ID[action_id].name)
            for name, action_id in completion_names(query).items()
            if name not in self.own_commands
        ]
        own = [
            Completion(
                f"/{one.name} ", screen_line(f"/{one.name}"), screen_line(" ".join((one.description or "").split()))
            )
            for one in commands
            if not (one.built_in and one.name in SLASH)
        ]
        known = [*own, *built_in]
        return [known[at] for at, _ in ranked(query, [one.shown[1:] for one in known])]

    async def _find_agents(self, query: str) -> list[Completion]:
        if self._agents is None:
            self._agents = [
                one for one in await self._client.catalog.agents() if one.mode != "primary" and not one.hidden
            ]
        agents = self._agents
        found = ranked(query, [one.name for one in agents])
        return [Completion(f"@{agents[at].name} ", screen_line(f"{agents[at].name}"), "agent") for at, _ in found]

    async def _find_resources(self, query: str) -> list[Completion]:
        """Return resources of MCP servers, by server and address or by their names; none starts for it."""
        if self._resources is None:
            self._resources = await self._client.mcp.resources()
        known = self._resources
        found = ranked(query, [f"{one.client}:{one.uri} {one.name}" for one in known])[:LIMIT]
        return [_resource_completion(known[at]) for at, _ in found]


def with_symbols(found: Sequence[Completion], symbols: Sequence[Completion]) -> Sequence[Completion]:
    """Return the completions with symbols, which come later: after the first rows, so that what Enter chooses stays."""
    return [*found[:BEFORE_SYMBOLS], *symbols, *found[BEFORE_SYMBOLS:]]


def _symbol_completion(one: "Symbol", file: str, *, is_alone: bool) -> Completion | None:
    """Return the completion of a symbol of a file; by its lines where the file has several of that name."""
    name = one.name.partition("(")[0]
    first, last = _lines(one.location.range)
    fragment = f"#{name}" if is_alone or last <= first else f"#L{first}-{last}"
    if not name.isidentifier() or '"' in file or "\n" in file:
        return None
    insert = f'@"{file}"{fragment} ' if _UNQUOTED.search(file) else f"@{file}{fragment} "
    return Completion(insert, screen_line(name), screen_line(f"{file}:{first}"))


def _lines(given: JsonObject) -> tuple[int, int]:
    """Return the first and last line, from 1, of a range of the language server protocol."""
    lines: list[int] = []
    for name in ("start", "end"):
        place = given.get(name)
        line = cast("JsonObject", place).get("line") if isinstance(place, dict) else 0
        lines.append(line + 1 if isinstance(line, int) else 1)
    return lines[0], lines[1]


def _symbol_rank(query: str, one: Completion) -> tuple[bool, bool, int]:
    name, wanted = one.shown, query.casefold()
    return name != query, not name.casefold().startswith(wanted), len(name)


def _resource_completion(one: "McpResource") -> Completion:
    reference = f"{one.client}:{one.uri}"
    is_plain = not _UNQUOTED.search(reference)
    note = "resource" if one.name == one.uri else one.name
    return Completion(f"@{reference} " if is_plain else f'@"{reference}" ', screen_line(reference), screen_line(note))


_UNQUOTED = re.compile(r"""[\s`,;"'<>|]|[.:!?)\]}…]$""")
"""What ends a reference without quotation marks."""
