"""One limit for all agents that a prompt starts, at every depth: how many there are, how many work at once, what they may use.

A request is counted before it is sent, and what it will probably use is reserved while it runs, so that agents that run side by
side pass no limit together. Source: the setting `limits.agents`.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct, field

from opencode_tui.engine.lazy import Lazy
from opencode_tui.schema.error import BudgetError, ToolError

if TYPE_CHECKING:
    from opencode_tui.engine.tool.process.background import BackgroundCommands

PARALLEL = 4
DEPTH = 3
COUNT = 50


class AgentLimits(Struct, frozen=True):
    """The limits of the agents that one prompt starts; None: no limit."""

    parallel: int = PARALLEL
    depth: int = DEPTH
    count: int = COUNT
    requests: int | None = None
    tokens: int | None = None
    minutes: float | None = None


@dataclass(slots=True, eq=False)
class TokenUse:
    """The tokens that a request used, which are known at its end."""

    tokens: int = 0


class AgentTree:
    """The agents that one prompt of a top session started, and what they have used. For one event loop."""

    def __init__(self, limits: AgentLimits, prompt_id: str) -> None:
        self.prompt_id = prompt_id
        self.requests = 0
        self.tokens = 0
        self._limits = limits
        self._reserved = 0
        self._began = time.monotonic()
        self._callers: dict[str, str] = {}
        """The session that started each agent."""
        self._active: dict[str, int] = {}
        """Agents that work, or wait for a place or for others, with the number of their tasks."""
        self._working: set[str] = set()
        """Agents that have a place."""
        self._paused: dict[str, int] = {}
        """For how many agents each agent waits, and needs no place in the meantime."""
        self._freed = asyncio.Event()

    def __contains__(self, agent: str) -> bool:
        """Return whether the session of an agent belongs to this tree."""
        return agent in self._callers

    @property
    def is_active(self) -> bool:
        """Return whether an agent has not ended."""
        return bool(self._active)

    @property
    def seconds_left(self) -> float | None:
        """Return how long the agents may still work; None without a limit."""
        minutes = self._limits.minutes
        return None if minutes is None else max(0.0, minutes * 60 - (time.monotonic() - self._began))

    def admit(self, depth: int) -> None:
        """Raise ToolError when no agent may be started at this depth, which is 1 for one of the top session."""
        limits = self._limits
        if depth > limits.depth:
            raise ToolError(f"agents start others {limits.depth} deep at most (limits.agents.depth); do this yourself")
        if len(self._callers) >= limits.count:
            raise ToolError(
                f"{limits.count} agents were started for this prompt, the most (limits.agents.count); do this yourself"
            )

    def below(self, session_id: str) -> set[str]:
        """Return the agents that a session started, and those that these started."""
        found: set[str] = set()
        size = -1
        while len(found) != size:
            size = len(found)
            found |= {agent for agent, caller in self._callers.items() if caller == session_id or caller in found}
        return found

    @asynccontextmanager
    async def working(self, agent: str, caller: str, *, is_awaited: bool) -> AsyncGenerator[None]:
        """Wait until fewer agents than allowed work, and count as one of them in the context.

        The caller needs no place while it waits for the agent (`is_awaited`), so that agents never wait for each other.
        """
        self._callers.setdefault(agent, caller)
        self._active[agent] = self._active.get(agent, 0) + 1
        if is_awaited:
            self._pause(caller)
        try:
            await self._enter(agent)
            yield
        except asyncio.CancelledError:
            self._leave(agent)
            if is_awaited:
                self._unpause(caller)  # it ends too
            raise
        except BaseException:
            self._leave(agent)
            if is_awaited:
                await self._resume(caller)
            raise
        self._leave(agent)
        if is_awaited:
            await self._resume(caller)

    @contextmanager
    def reserved(self, tokens: int) -> Generator[TokenUse]:
        """Count a request with the tokens that it will probably use; the context sets what it has used. Raises BudgetError."""
        limits, left = self._limits, self.seconds_left
        if limits.requests is not None and self.requests >= limits.requests:
            raise BudgetError(
                f"The agents of this prompt have sent {limits.requests} requests, the most (limits.agents.requests)"
            )
        if limits.tokens is not None and self.tokens + self._reserved + tokens > limits.tokens:
            raise BudgetError(
                f"The agents of this prompt would use more than {limits.tokens} tokens (limits.agents.tokens): "
                f"{self.tokens + self._reserved} are used or being used, the next request needs about {tokens}"
            )
        if left is not None and left <= 0:
            raise BudgetError(self.describe_time())
        self.requests += 1
        self._reserved += tokens
        use = TokenUse()
        try:
            yield use
        finally:
            self._reserved -= tokens
            self.tokens += use.tokens

    def describe_time(self) -> str:
        """Return a sentence about the time that is over."""
        return f"The agents of this prompt have worked for {self._limits.minutes:g} minutes, the most (limits.agents.minutes)"

    async def _enter(self, agent: str) -> None:
        while agent not in self._working and len(self._working) >= self._limits.parallel:
            self._freed.clear()
            await self._freed.wait()
        self._working.add(agent)

    def _leave(self, agent: str) -> None:
        self._active[agent] -= 1
        if not self._active[agent]:
            del self._active[agent]
            self._free(agent)

    def _free(self, agent: str) -> None:
        self._working.discard(agent)
        self._freed.set()

    def _pause(self, caller: str) -> None:
        self._paused[caller] = self._paused.get(caller, 0) + 1
        self._free(caller)

    def _unpause(self, caller: str) -> bool:
        """Return whether the caller waits for no other agent."""
        self._paused[caller] -= 1
        if self._paused[caller]:
            return False
        del self._paused[caller]
        return True

    async def _resume(self, caller: str) -> None:
        if self._unpause(caller) and caller in self._active:
            await self._enter(caller)


class AgentTrees(Struct, frozen=True):
    """The agents of all sessions of a folder. `background` has what agents started and what is not waited for."""

    limits: AgentLimits
    background: "Lazy[BackgroundCommands]"
    _trees: dict[str, AgentTree] = field(default_factory=dict[str, AgentTree])

    def begin(self, root_id: str, prompt_id: str) -> AgentTree:
        """Return the tree of a top session, a new one for a new prompt when none of its agents works any more."""
        tree = self._trees.get(root_id)
        if tree is None or (prompt_id != tree.prompt_id and not tree.is_active):
            tree = self._trees[root_id] = AgentTree(self.limits, prompt_id)
        return tree

    def tree_of(self, agent: str) -> AgentTree | None:
        """Return the tree of an agent's session, None for a session that no agent has."""
        return next((tree for tree in self._trees.values() if agent in tree), None)

    def interrupt(self, session_id: str) -> None:
        """Stop the agents in the background of a session, and what its agents run in the background; returns at once."""
        if self.background.made is None:
            return
        below = {agent for tree in self._trees.values() for agent in tree.below(session_id)}
        self.background.made.interrupt(session_id, below)
