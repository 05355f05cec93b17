"""What can be completed at the cursor: a slash command at the beginning, a file or an agent behind `@`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from opencode_tui.client.client import Client
from opencode_tui.schema.catalog import AgentSummary, CommandSummary
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.fuzzy import ranked
from opencode_tui.tui.keymap import BY_ID
from opencode_tui.tui.prompt.file_names import FileNames
from opencode_tui.tui.slash import offered

_AT = re.compile(r"(?:^|\s)@(?P<query>[^\s@]*)$")
_SLASH = re.compile(r"^/(?P<query>[^\s/]*)$")


@dataclass(frozen=True, slots=True)
class Trigger:
    """What is being written: `/com` or `@src/pa`; `length` counts its letters with the sign."""

    kind: Literal["command", "reference"]
    query: str
    length: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What would be written in its place, with what is shown; both are safe but for `insert`."""

    insert: str
    shown: str
    note: str = ""


def trigger(before_cursor: str, *, is_first_line: bool) -> Trigger | None:
    """What stands before the cursor to be completed; None when there is nothing."""
    slash = _SLASH.match(before_cursor) if is_first_line else None
    if slash is not None:
        return Trigger("command", slash["query"], len(slash["query"]) + 1)
    at = _AT.search(before_cursor)
    return Trigger("reference", at["query"], len(at["query"]) + 1) if at is not None else None


class Completer:
    """Asks the engine for what there is; commands and agents once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._files = FileNames(client)
        self._commands: Sequence[CommandSummary] | None = None
        self._agents: Sequence[AgentSummary] | None = None

    async def find(self, wanted: Trigger) -> Sequence[Completion]:
        """What could be meant, best first."""
        if wanted.kind == "command":
            return await self._find_commands(wanted.query)
        agents = await self._find_agents(wanted.query)
        files = [Completion(f"@{name} ", screen_line(name)) for name in await self._files.find(wanted.query)]
        return [*agents, *files] if wanted.query else [*files[:6], *agents]

    async def _find_commands(self, query: str) -> list[Completion]:
        if self._commands is None:
            self._commands = await self._client.catalog.commands()
        built_in = [Completion(f"/{name}", f"/{name}", BY_ID[action_id].name) for name, action_id in offered().items()]
        own = [
            Completion(
                f"/{one.name} ", screen_line(f"/{one.name}"), screen_line(" ".join((one.description or "").split()))
            )
            for one in self._commands
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
