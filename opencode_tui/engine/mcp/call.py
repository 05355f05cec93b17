"""A call of a tool of an MCP server: one that lasts long continues in the background, as a command does that runs there."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.mcp.content import read_result
from opencode_tui.engine.mcp.elicitation import ask_user
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.mcp.server import CALL_S
from opencode_tui.engine.permission.ruleset import disabled
from opencode_tui.engine.tool.process.background import BackgroundCall, BackgroundOutput
from opencode_tui.engine.tool.tool import ToolContext, ToolResult
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.mcp import McpTool
from opencode_tui.schema.error import NotFoundError, ToolError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.setting_defaults import MCP_BACKGROUND_MS

if TYPE_CHECKING:
    from opencode_tui.engine.mcp.servers import McpServers
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.tool.process.background import BackgroundCommands

LONG_CALL_S = 1_800.0
"""Seconds without progress after which a call has failed that may continue there, unless the settings say otherwise."""

READER = "bash_output"
"""The tool with which the model reads the result of such a call; without it no call continues."""


class CallBackground(Struct, frozen=True):
    """What lets long calls continue: after `after_s` seconds they are among `commands`, with an output of their own."""

    commands: "Lazy[BackgroundCommands]"
    make_output: "Callable[[], BackgroundOutput]"
    after_s: float = MCP_BACKGROUND_MS / 1000

    @classmethod
    def of_settings(
        cls,
        after_ms: int | None,
        *,
        commands: "Lazy[BackgroundCommands]",
        make_output: "Callable[[], BackgroundOutput]",
    ) -> Self:
        """Return it for the milliseconds of the settings."""
        return cls(commands, make_output, (MCP_BACKGROUND_MS if after_ms is None else after_ms) / 1000)


def make_output(reserve: Callable[[], Path], secrets: "Secrets") -> "BackgroundOutput":
    """Return an output without the values of keys; a long one is kept in a file that `reserve` names."""
    return BackgroundOutput(reserve, redactor=secrets.stream())


class ServerCall:
    """One call, which may run."""

    def __init__(
        self,
        servers: "McpServers",
        tool: McpTool,
        arguments: JsonObject,
        context: ToolContext,
        background: CallBackground | None,
    ) -> None:
        self._servers = servers
        self._tool = tool
        self._arguments = arguments
        self._context = context
        self._background = background if _may_read(context) else None
        self._about: JsonObject = {"server": tool.server, "tool": tool.name}
        self._timer = asyncio.timeout(None)
        self._questions = 0
        self._output: BackgroundOutput | None = None
        self._progress = ""

    async def run(self) -> ToolResult:
        """Return the result, or where the call continues. Raises ToolError."""
        async with self._context.commands():
            task = asyncio.create_task(self._call(), name=f"call of {self._tool.id}")
            try:
                return await self._wait(task)
            except BaseException:
                task.cancel()
                await run_to_completion(asyncio.wait({task}))
                raise

    async def _wait(self, task: asyncio.Task[ToolResult]) -> ToolResult:
        try:
            async with self._timer:
                self._restart_timer()
                await asyncio.wait({task})
        except TimeoutError:
            if self._background is not None and (started := await self._go_on(task, self._background)) is not None:
                return self._describe_background(started, self._background)
            await asyncio.wait({task})
        return task.result()

    async def _call(self) -> ToolResult:
        limit_s = CALL_S if self._background is None else LONG_CALL_S
        try:
            result = await self._servers.call(
                self._tool.server,
                self._tool.name,
                self._arguments,
                report=self._report,
                elicit=self._elicit,
                limit_s=limit_s,
            )
        except (McpError, NotFoundError) as error:
            raise ToolError(str(error)) from error
        content = read_result(result)
        if result.get("isError"):
            raise ToolError(content.text or f"{self._tool.id} failed without a message")
        return ToolResult(self._tool.id, content.text, self._about, content.attachments)

    def _report(self, text: str | None, share: float | None) -> None:
        shown = text or "working"
        self._progress = f"{shown} {share:.0%}" if share is not None else shown
        if self._output is None:
            self._context.progress(self._progress, self._about)
        else:
            self._output.progress = self._progress

    async def _elicit(self, params: JsonObject, count: int) -> JsonObject:
        """Return the user's answer to a question; while one is open, the call waits for the user and does not continue alone."""
        self._questions += 1
        self._restart_timer()
        try:
            server = self._tool.server
            use_defaults = self._servers.get(server).entry.unattended == "defaults"
            return await ask_user(server, params, self._context.inquire, calls=count, use_defaults=use_defaults)
        finally:
            self._questions -= 1
            self._restart_timer()

    def _restart_timer(self) -> None:
        with suppress(RuntimeError):  # it is over
            after_s = None if self._background is None or self._questions else self._background.after_s
            self._timer.reschedule(None if after_s is None else asyncio.get_running_loop().time() + after_s)

    async def _go_on(self, task: asyncio.Task[ToolResult], background: CallBackground) -> BackgroundCommand | None:
        """Let the call continue in the background; None where too much runs there."""
        words = json.dumps(self._arguments, ensure_ascii=False) if self._arguments else ""
        self._output = background.make_output()
        self._output.progress = self._progress
        call = BackgroundCall(self._tool.id, f"{self._tool.id} {words}".strip(), self._context, self._output, task)
        try:
            return await background.commands.get().adopt(call)
        except ToolError:
            self._output = None
            return None

    def _describe_background(self, started: BackgroundCommand, background: CallBackground) -> ToolResult:
        text = (
            f"{self._tool.id} has not answered in {background.after_s:g} s and goes on in the background as {started.id}. "
            f"You learn when it has ended; wait for its result, read it or stop it with {READER}."
        )
        return ToolResult(self._tool.id, text, {**self._about, "background": started.id})


def _may_read(context: ToolContext) -> bool:
    """Return whether the model of a call could read what continues in the background."""
    rules = context.ask.rules()
    return READER not in context.switched_off and not any(disabled([READER], layer) for layer in rules)
