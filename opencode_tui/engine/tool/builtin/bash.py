"""The bash tool: runs a command and returns the beginning and end of its output. Source: docs/internals/tools.md#bash."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import asdict, replace

from opencode_tui.engine.permission.command_decision import CommandPlan
from opencode_tui.engine.sandbox.limits import NO_LIMITS
from opencode_tui.engine.tool.builtin.bash_permission import ON_HOST, ask_for_command
from opencode_tui.engine.tool.builtin.bash_run import MAX_TIMEOUT_MS, CommandRun, Ran
from opencode_tui.engine.tool.kit import ShellEnvironment, ToolKit
from opencode_tui.engine.tool.process.background import BackgroundOutput, BackgroundStart
from opencode_tui.engine.tool.process.process import (
    NO_TIMEOUT_MS,
    Command,
    Ended,
    describe_failed_start,
    find_shell,
)
from opencode_tui.engine.tool.process.running_command import CommandOutput, RunningCommand
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import UNLISTED, Field
from opencode_tui.schema.session.sandbox import KEY
from opencode_tui.schema.session.tool_state import KEPT_LINES

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.scan.lost_files import LostPath

DEFAULT_TIMEOUT_MS = 120_000
_LEAST_MS = 1_000
_FRAME_S = 1 / 15
"""Pause between two updates of the output on the screen. Source: docs/internals/screen.md#output."""


class BashParameters(Parameters):
    """The command to run."""

    command: str
    timeout: int | None = None
    workdir: str | None = None
    description: str = Field(default="", description="in 5 to 10 words")
    background: bool | None = None
    timeout_ms: Annotated[int | None, UNLISTED] = None
    """`timeout` under the name that other agents have for it, of any size."""


_SHOWN_PATH = 200


class BashTool:
    """Runs commands."""

    name = "bash"
    parameters = BashParameters

    def __init__(self, shell: ShellEnvironment) -> None:
        self.description = read_description(self.name)
        self._shell = shell

    async def run(self, arguments: BashParameters, context: ToolContext) -> ToolResult:
        """Return the command's output; an exit code other than 0 is not an error, nor is a timeout."""
        folder = _folder(arguments, context)
        timeout_ms = _timeout_ms(arguments)
        _check_text(arguments.command)
        is_background = bool(arguments.background) and self._shell.background is not None
        plan, lost = await self._approved(arguments.command, folder, context, is_background=is_background)
        environ = await self._shell.variables(folder, context)
        command = Command(
            arguments.command,
            folder,
            environ,
            NO_TIMEOUT_MS if is_background else timeout_ms,
            find_shell(environ, folder, self._shell.shell),
            is_watched=is_background,
            limits=NO_LIMITS if context.by_user else self._shell.limits,
        )
        run = CommandRun(
            command,
            plan,
            sandbox=None if self._shell.sandbox is None else self._shell.sandbox.get(),
            make_output=self._shell.new_output,
            follow=lambda command, output: _follow(command, output, arguments, context),
            context=context,
            lost=lost,
        )
        if is_background:
            return await self._start(run, arguments)
        return self._result(await run.run(), arguments, context.agent)

    async def _start(self, run: CommandRun, arguments: BashParameters) -> ToolResult:
        """Start the command in the background and return its id."""
        request = BackgroundStart(
            command=arguments.command,
            description=arguments.description,
            directory=run.command.folder,
            context=run.context,
            output=BackgroundOutput(self._shell.reserve_output, redactor=self._shell.secrets.get().stream()),
            run=run.in_background,
        )
        assert self._shell.background is not None
        started = await self._shell.background.get().start(request)
        metadata = {"output": "", "description": arguments.description, "background": started.id, "truncated": False}
        text = f"Started in the background as {started.id}. Read its output or stop it with bash_output."
        if run.plan.runs == "sandbox" and run.plan.tier == "bubblewrap":
            text += " Its ports can be reached only by what it starts itself, because it is confined."
        return ToolResult(title=_title(arguments), output=text, metadata=metadata)

    async def _approved(
        self, command: str, folder: Path, context: ToolContext, *, is_background: bool
    ) -> "tuple[CommandPlan, Sequence[LostPath]]":
        """Return how the command may run, and what it would discard. Raises PermissionRefused."""
        if self._shell.runs_on_host(context):
            return ON_HOST, ()
        sandbox = None if self._shell.sandbox is None else self._shell.sandbox.get()
        tier = "none" if sandbox is None else (await sandbox.status()).tier
        if context.by_user:
            return replace(ON_HOST, runs="sandbox", read_only=True, tier=tier), ()
        return await ask_for_command(
            command,
            folder=folder,
            home=self._shell.home,
            context=context,
            tier=tier,
            environ=self._shell.environ,
            is_background=is_background,
            is_shared=sandbox is not None and sandbox.is_shared,
            is_hidden=None if sandbox is None else sandbox.hides,
        )

    def _result(self, ran: Ran, arguments: BashParameters, agent: str) -> ToolResult:
        ended, excerpt = ran.ended, ran.output.excerpt(is_final=True)
        messages = ran.lines(_timeout_ms(arguments))
        text = excerpt.for_model(may_delegate=self._shell.may_delegate(agent))
        metadata = {
            "output": excerpt.preview(),
            "exit": ended.exit_code,
            "description": arguments.description,
            "truncated": excerpt.removed is not None,
            KEY: ran.sandbox.to_dict(),
        }
        if ended.limit is not None:
            metadata["limit"] = ended.limit.to_dict()
        if (kept := excerpt.kept()) is not None:
            metadata[KEPT_LINES] = asdict(kept)
        if excerpt.path is not None:
            metadata["outputPath"] = str(excerpt.path)
        if messages:
            block = "\n".join(("<bash_metadata>", *messages, "</bash_metadata>"))
            text = f"{text.rstrip()}\n\n{block}" if text.strip() else block
        return ToolResult(title=_title(arguments), output=text, metadata=metadata)


async def _follow(command: Command, output: CommandOutput, arguments: BashParameters, context: ToolContext) -> Ended:
    """Run the command and show its output while it grows. Raises ToolError when it cannot be started."""
    title = _title(arguments)
    context.progress(title, {"output": "", "description": arguments.description})
    seen = 0
    try:
        async with RunningCommand(command, output) as running:
            while (ended := await running.wait(_FRAME_S)) is None:
                if output.size != seen:
                    seen = output.size
                    preview = output.excerpt(is_final=False).preview()
                    context.progress(title, {"output": preview, "description": arguments.description})
    except OSError as error:
        raise ToolError(describe_failed_start(command, error)) from error
    return ended


def _folder(arguments: BashParameters, context: ToolContext) -> Path:
    """Return the real path of the folder to start in. Raises ToolError when there is none."""
    written = arguments.workdir or "."
    if "\0" in written:
        raise ToolError("workdir holds a NUL character; give the path of a folder")
    folder = Path(os.path.realpath(os.path.join(context.directory, os.path.expanduser(written))))
    if not os.path.isdir(folder):
        shown = written if len(written) <= _SHOWN_PATH else f"{written[:_SHOWN_PATH]}…"
        raise ToolError(f"workdir {shown!r} is not a folder; pass an existing one, or omit it for {context.directory}")
    return folder


def _timeout_ms(arguments: BashParameters) -> int:
    """Return the time limit; a `timeout` below a second is one in seconds, as other agents count. Raises ToolError."""
    written = arguments.timeout
    in_seconds = written is not None and 0 < written < _LEAST_MS
    timeout_ms = written * 1_000 if in_seconds and written is not None else written or arguments.timeout_ms
    if timeout_ms is None:
        timeout_ms = DEFAULT_TIMEOUT_MS if written is None else written
    if timeout_ms <= 0:
        raise ToolError(
            f"timeout is {timeout_ms}; give a number of milliseconds above 0, or none for {DEFAULT_TIMEOUT_MS}"
        )
    return min(timeout_ms, MAX_TIMEOUT_MS)


def _check_text(command: str) -> None:
    if not command.strip():
        raise ToolError("command is empty; give a command line")
    if "\0" in command:
        raise ToolError("command holds a NUL character, which cannot be passed to a shell; write it as an escape")


def _title(arguments: BashParameters) -> str:
    return arguments.description or arguments.command.strip().split("\n")[0]


def make(kit: ToolKit) -> BashTool:
    """Return the tool."""
    return BashTool(kit.shell)
