"""Commands, calls of MCP servers, and agents that run in the background of a session."""

from typing import Literal

from opencode_tui.schema.api.limit import ReachedLimit
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

BackgroundState = Literal["running", "exited", "stopped"]


AGENT_TOOL = "task"
"""The tool that starts agents."""


class BackgroundCommand(Record):
    """A background command, or the call of a `tool`: of an MCP server, or `task` for an agent; times in ms since 1970.

    `session_id` is the session that owns it, the top one where a subagent started it; `message_id` and `call_id` are those of the
    call. `line` is the last line of its output that is not blank, `exit_code` absent for one that was stopped. `undone` are
    protected files whose changes were undone at its end because nobody decided about them, relative to the worktree; `limit` is
    what it reached. A call is `failed` where its output is an error; it has no exit code.
    """

    id: str
    session_id: str
    message_id: str
    call_id: str
    command: str
    description: str
    directory: FilePath
    state: BackgroundState
    started: int
    ended: int | None = absent()
    exit_code: int | None = absent()
    line: str = ""
    undone: list[str] | None = absent()
    limit: ReachedLimit | None = absent()
    tool: str | None = absent()
    failed: bool | None = absent()

    @property
    def noun(self) -> str:
        """Return what it is, in words."""
        return "background agent" if self.is_agent else "background command" if self.tool is None else "background call"

    @property
    def is_agent(self) -> bool:
        """Return whether it is an agent at work."""
        return self.tool == AGENT_TOOL

    @property
    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return self.state == "running"

    def format_undone(self) -> str:
        """Return a line for the user about the protected files whose changes were undone; empty without such files."""
        if not self.undone:
            return ""
        return (
            f"{self.id} ended before you could approve its changes of protected files, so they were undone; what replaced a "
            f"file is kept as NAME.not-approved: {', '.join(self.undone)}"
        )


class BackgroundText(Record):
    """A part of the output of a background command.

    `position` is where the next read begins, in bytes; `skipped` bytes before the text are not in memory any more, but in the file
    `path` if that is present.
    """

    command: BackgroundCommand
    text: str
    position: int
    skipped: int = 0
    path: str | None = absent()
