"""The system prompt: two segments, so that a provider can cache the first.

The first is the agent's own prompt, the same in every call; the second is what may change: environment, instruction files, the
message's own `system`. Source: seeds 001 and 004; reference, section 25.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.agent.agents import AgentInfo, read_prompt
from opencode_tui.engine.session.request.instruction import Instructions, RemoteInstructions
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.model import Model

LayerKind = Literal["agent", "environment", "instruction", "message", "form", "plugin"]
"""The source of a layer: the agent, the folder, an instruction file, the request, the form of its answer, a plugin."""

INSTRUCTION_HEAD = "Instructions from: "
"""Precedes the path or address of an instruction block."""


class SystemLayer(Struct, frozen=True):
    """A piece of the system prompt; `name` identifies it among its kind, such as the path of an instruction file."""

    kind: LayerKind
    name: str
    text: str


def system_prompt(layers: Sequence[SystemLayer]) -> tuple[str, ...]:
    """Return the two segments of these layers, the agent's and all others; empty segments are dropped."""
    agent = "\n\n".join(layer.text.strip() for layer in layers if layer.kind == "agent")
    rest = "\n\n".join(layer.text for layer in layers if layer.kind != "agent" and layer.text.strip())
    return tuple(segment for segment in (agent, rest) if segment)


def environment(*, model: Model, directory: Path, worktree: Path, is_git: bool, now: int) -> str:
    """Return the environment block for the model; `now` in milliseconds since 1970."""
    today = datetime.fromtimestamp(now / 1000).strftime("%a %b %d %Y")
    lines = [
        f"You run on the model {model.ref}.",
        "<env>",
        f"  Working directory: {directory}",
        f"  Workspace root: {worktree}",
        f"  Git repository: {'yes' if is_git else 'no'}",
        f"  Platform: {sys.platform}",
        f"  Today's date: {today}",
        "</env>",
    ]
    return "\n".join(lines)


class SystemPrompts(Struct, frozen=True):
    """Builds the system prompt of a step for the instance of one folder.

    Reads the instruction files for each step, so that an edit applies at once.
    """

    directory: Path
    worktree: Path
    is_git: bool
    clock: Clock
    instructions: Instructions
    remote: RemoteInstructions

    async def layers(self, *, agent: AgentInfo, model: Model) -> list[SystemLayer]:
        """Return the layers that every request of this agent has, in order."""
        blocks = await asyncio.to_thread(self.instructions.blocks, self.directory, self.worktree)
        blocks += await self.remote.blocks()
        about = environment(
            model=model,
            directory=self.directory,
            worktree=self.worktree,
            is_git=self.is_git,
            now=self.clock(),
        )
        return [
            SystemLayer("agent", agent.name, agent.prompt or read_prompt("default")),
            SystemLayer("environment", str(self.directory), about),
            *(SystemLayer("instruction", _origin(block), block) for block in blocks),
        ]


def _origin(block: str) -> str:
    return block.partition("\n")[0].removeprefix(INSTRUCTION_HEAD)
