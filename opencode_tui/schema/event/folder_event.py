"""Events of a folder's programs: background commands, terminals, worktrees, language servers, MCP servers, watched files.

They are apart from the events of sessions because defining a record costs a quarter of a millisecond.
"""

from typing import Literal

from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.pty import Pty
from opencode_tui.schema.record import Record


class BackgroundUpdated(Record):
    """A background command started or ended."""

    type: Literal["background.updated"] = "background.updated"
    info: BackgroundCommand


class PtyCreated(Record):
    """A terminal of the server was started."""

    type: Literal["pty.created"] = "pty.created"
    info: Pty


class PtyUpdated(Record):
    """A terminal has another title or size."""

    type: Literal["pty.updated"] = "pty.updated"
    info: Pty


class PtyExited(Record):
    """The program of a terminal has ended."""

    type: Literal["pty.exited"] = "pty.exited"
    id: str
    exit_code: int


class PtyDeleted(Record):
    """A terminal was removed."""

    type: Literal["pty.deleted"] = "pty.deleted"
    id: str


class FileWatcherUpdated(Record):
    """A tool created, changed or deleted a file; after `file.edited`. Patterns of `watcher.ignore` leave files out."""

    type: Literal["file.watcher.updated"] = "file.watcher.updated"
    file: str
    event: Literal["add", "change", "unlink"]


class WorktreeReady(Record):
    """A new worktree has its files, and its start commands have run; an event of its own folder."""

    type: Literal["worktree.ready"] = "worktree.ready"
    name: str
    branch: str


class WorktreeFailed(Record):
    """The files of a worktree could not be written, or a start command did not run or failed."""

    type: Literal["worktree.failed"] = "worktree.failed"
    message: str


class LspUpdated(Record):
    """A language server was started, stopped or ended."""

    type: Literal["lsp.updated"] = "lsp.updated"


class LspDiagnostics(Record):
    """A language server sent the diagnostics of a file; `path` is absolute."""

    type: Literal["lsp.client.diagnostics"] = "lsp.client.diagnostics"
    server_id: str
    path: str


class McpToolsChanged(Record):
    """The lists of an MCP server changed; they are used from the next user message on."""

    type: Literal["mcp.tools.changed"] = "mcp.tools.changed"
    server: str


class McpBrowserOpenFailed(Record):
    """No browser could be opened for a sign-in to an MCP server; the user can open the address elsewhere."""

    type: Literal["mcp.browser.open.failed"] = "mcp.browser.open.failed"
    mcp_name: str
    url: str


class UpdateAvailable(Record):
    """A newer version of this program was published; nothing was installed."""

    type: Literal["installation.update-available"] = "installation.update-available"
    version: str


FolderEvent = (
    BackgroundUpdated
    | PtyCreated
    | PtyUpdated
    | PtyExited
    | PtyDeleted
    | FileWatcherUpdated
    | WorktreeReady
    | WorktreeFailed
    | LspUpdated
    | LspDiagnostics
    | McpToolsChanged
    | McpBrowserOpenFailed
    | UpdateAvailable
)
