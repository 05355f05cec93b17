"""The bash_output tool: reads and stops what runs in the background: commands of bash, and calls of MCP servers."""

from collections.abc import Sequence

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.process.background import BackgroundCommands
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.api.background import BackgroundText
from opencode_tui.schema.record import JsonObject

LONGEST_WAIT_S = 600


class BashOutputParameters(Parameters):
    """Which command, and what to wait for."""

    id: str
    wait: float | None = None
    filter: str | None = None
    stop: bool | None = None


class BashOutputTool:
    """Reads background commands."""

    name = "bash_output"
    parameters = BashOutputParameters

    def __init__(self, *, background: Lazy[BackgroundCommands]) -> None:
        self.description = read_description(self.name)
        self._background = background

    async def run(self, arguments: BashOutputParameters, context: ToolContext) -> ToolResult:
        """Return what is new, filtered, and the state. Raises NotFoundError."""
        words = arguments.filter or ""
        context.progress(arguments.id, {})
        new = await self._background.get().read_new(
            context.session_id,
            arguments.id,
            wait_s=min(arguments.wait or 0, LONGEST_WAIT_S),
            words=words,
            stop=bool(arguments.stop),
        )
        text = new.text
        shown = _filtered(text.text, words)
        facts = "\n".join(("<bash_metadata>", *_facts(text, new.messages), "</bash_metadata>"))
        metadata: JsonObject = {
            "output": shown,
            "background": text.command.id,
            "state": text.command.state,
            "exit": text.command.exit_code,
            "truncated": bool(text.skipped),
        }
        if text.command.limit is not None:
            metadata["limit"] = text.command.limit.to_dict()
        if text.command.tool is not None:
            metadata |= {"tool": text.command.tool, "failed": bool(text.command.failed)}
            if text.command.state == "exited" and not text.command.failed:
                del metadata["exit"]  # a call has none, and this one was not stopped
        output = f"{shown.rstrip()}\n\n{facts}" if shown.strip() else facts
        title = f"{text.command.id} {text.command.command}"
        return ToolResult(title=title, output=output, metadata=metadata, attachments=list(new.attachments))


def _filtered(text: str, words: str) -> str:
    """Return the lines that contain the words, upper and lower case alike."""
    if not words:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if words.casefold() in line.casefold())


def _facts(text: BackgroundText, messages: Sequence[str]) -> list[str]:
    command = text.command
    if command.is_running:
        state = "still runs."
    elif command.limit is not None:
        state = f"was {command.limit.words}."
    elif command.tool is not None and command.state == "exited":
        state = "failed." if command.failed else "has ended."
    elif command.state == "stopped" or command.exit_code is None:
        state = "was stopped."
    else:
        state = f"ended with exit code {command.exit_code}."
    facts = [f"{command.id} {state}"]
    if text.skipped:
        where = f"; the full output is in {text.path}" if text.path else ""
        facts.append(f"{text.skipped} bytes before this are not shown{where}.")
    return [*facts, *(message for message in messages if not message.startswith("Exit code"))]


def make(kit: ToolKit) -> BashOutputTool:
    """Return the tool."""
    assert kit.shell.background is not None
    return BashOutputTool(background=kit.shell.background)
