"""The shell snippets of a command's template: run as the bash tool runs commands, with a short patience.

What they print, errors included, stands in the prompt; an exit code other than 0 is no error. Source: reference, section 29.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

TIMEOUT_MS = 60_000
_WAIT_S = 3_600.0


class SnippetShell(Struct, frozen=True):
    """Runs snippets in a folder with the person's environment; `reserve_output` names a file for a long output."""

    environ: Mapping[str, str]
    home: Path
    folder: Path
    reserve_output: Callable[[], Path]
    timeout_ms: int = TIMEOUT_MS

    async def run(self, command: str) -> str:
        """Return what the command printed, of a long output both ends; or a line that says why it could not start."""
        from opencode_tui.engine.tool.process.process import Command, find_shell
        from opencode_tui.engine.tool.process.running_command import (
            CommandOutput,  # only when a command has snippets
            RunningCommand,
        )

        output = CommandOutput(self.reserve_output)
        line = Command(command, self.folder, self.environ, self.timeout_ms, find_shell(self.environ))
        try:
            async with RunningCommand(line, output) as running:
                while (ended := await running.wait(_WAIT_S)) is None:
                    pass
        except OSError as error:
            return f"(`{command}` could not be started in {self.folder}: {error.strerror})"
        text = output.excerpt(is_final=True).for_model(may_delegate=False)
        if ended.reason == "timeout":
            return f"{text.rstrip()}\n(`{command}` was stopped after {self.timeout_ms / 1000:g} s)"
        return text
