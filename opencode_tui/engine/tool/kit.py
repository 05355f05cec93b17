"""What the built-in tools are made of: each module in `builtin` makes its tool of a `ToolKit`."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.skill.skills import Skills
from opencode_tui.engine.tool.tool import ToolContext

if TYPE_CHECKING:
    from opencode_tui.engine.format.formatted import FormatEdit, Formatted
    from opencode_tui.engine.format.formatters import Formatters
    from opencode_tui.engine.lsp.change import EditCheck, EditReport, FileChange
    from opencode_tui.engine.lsp.language_servers import LanguageServers
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.sandbox.sandbox import Sandbox
    from opencode_tui.engine.tool.edit.edit_permission import EditPermission
    from opencode_tui.engine.tool.edit.file_editor import FileEditor
    from opencode_tui.engine.tool.files.files import WorktreeFiles
    from opencode_tui.engine.tool.files.read_guard import ReadGuard
    from opencode_tui.engine.tool.files.transaction import Change
    from opencode_tui.engine.tool.process.background import BackgroundCommands
    from opencode_tui.engine.tool.process.running_command import CommandOutput
    from opencode_tui.engine.tool.search.search import FileSearch, Readable
    from opencode_tui.engine.tool.search_service import SearchService
    from opencode_tui.engine.tool.todo_store import SessionTodos

ExtendEnvironment = Callable[[Mapping[str, str], Path, ToolContext], Awaitable[Mapping[str, str]]]
"""Returns the environment of a call's command that starts in a folder."""

DirectoryInstructions = Callable[[Path, ToolContext], Awaitable[Sequence[tuple[Path, str]]]]
"""Returns the instruction files (path, text) of a path's folders that the session has not received yet."""


class StoredOutput(Struct, frozen=True):
    """A completed call and its output; `is_cleared` when the model no longer sees the output."""

    call_id: str
    tool: str
    title: str
    output: str
    is_cleared: bool


ReadOutputs = Callable[[str], Awaitable[Sequence[StoredOutput]]]
"""Returns the completed calls of a session, by its id, oldest first."""


class Excerpt(Struct, frozen=True):
    """A passage of a session's earlier messages: its author, its time (ms since 1970), and its call if it has one."""

    who: str
    text: str
    message_id: str
    time: int
    call_id: str = ""


SearchHistory = Callable[[str, str], Awaitable[Sequence[Excerpt]]]
"""Returns the passages with words that the model no longer sees of a session, given its id and the words, the best first."""


class Editing:
    """What tools that read and edit files share, each part made once; `languages` are the language servers, None where off."""

    def __init__(
        self,
        *,
        edited: "Callable[[Change], None]",
        protected: Collection[Path] = (),
        languages: "Lazy[LanguageServers] | None" = None,
        formatters: "Lazy[Formatters] | None" = None,
        read_only: Path | None = None,
    ) -> None:
        """`edited` is called for every change of a file; every edit in the folders `protected` needs approval.

        `formatters` format edits, None where they are off; `read_only` is a work tree in which nothing is edited.
        """
        self._read_only = read_only
        self.languages = languages
        self._edited = edited
        self._protected = protected
        self._formatters = formatters

    @cached_property
    def stamps(self) -> "ReadGuard":
        """The files that calls have read, with their states then."""
        from opencode_tui.engine.tool.files.read_guard import ReadGuard

        return ReadGuard()

    @cached_property
    def files(self) -> "WorktreeFiles":
        """The files that tools write."""
        from opencode_tui.engine.tool.files.files import WorktreeFiles

        return WorktreeFiles(edited=self._edited)

    @cached_property
    def permission(self) -> "EditPermission":
        """Which edits need approval."""
        from opencode_tui.engine.tool.edit.edit_permission import EditPermission

        return EditPermission(self._protected, self._read_only)

    @cached_property
    def editor(self) -> "FileEditor":
        """What edits one file."""
        from opencode_tui.engine.tool.edit.file_editor import FileEditor

        return FileEditor(
            files=self.files,
            stamps=self.stamps,
            permission=self.permission,
            check=self.check,
            format_edit=self.format_edit,
        )

    @cached_property
    def format_edit(self) -> "FormatEdit":
        """What formats an edit, nothing where formatters are off."""
        from opencode_tui.engine.format.formatted import keep

        formatters = self._formatters
        if formatters is None:
            return keep

        async def format_edit(path: Path, before: str | None, after: str) -> "Formatted":
            return await formatters.get().format(path, before, after)

        return format_edit

    @cached_property
    def check(self) -> "EditCheck":
        """What finds the errors that an edit brought, nothing where language servers are off."""
        from opencode_tui.engine.lsp.change import check_nothing

        languages = self.languages
        if languages is None:
            return check_nothing

        async def check(changes: "Sequence[FileChange]", session_id: str) -> "EditReport":
            return await languages.get().after_edit(changes, session_id)

        return check

    @cached_property
    def after_read(self) -> Callable[[Path], None] | None:
        """What a language server learns of a file that was read, None where they are off."""
        languages = self.languages
        if languages is None:
            return None

        def after_read(path: Path) -> None:
            languages.get().after_read(path)

        return after_read


class ShellEnvironment(Struct, frozen=True):
    """The environment of the commands of tools: the user's variables and home, and names for files with full outputs.

    `secrets` are what commands do not get and outputs do not show. `sandbox` confines the commands that the user has not approved;
    without it all run on the host. `may` returns whether an agent may use a tool at all, both by name. `extend` is what plugins
    add to the environment. `background` are the commands that outlive their calls; without it there are none. `shell` is the bash
    that the user prefers, `limits` what each command of a model may use.
    """

    environ: Mapping[str, str]
    home: Path
    reserve_output: Callable[[], Path]
    secrets: "Lazy[Secrets]"
    sandbox: "Lazy[Sandbox] | None" = None
    may: Callable[[str, str], bool] = lambda _agent, _tool: True
    extend: ExtendEnvironment | None = None
    background: "Lazy[BackgroundCommands] | None" = None
    shell: str | None = None
    limits: Limits = NO_LIMITS

    async def variables(self, folder: Path, context: ToolContext) -> Mapping[str, str]:
        """Return the environment of a call's command that starts in a folder."""
        environ = self.secrets.get().without_keys(self.environ)
        return environ if self.extend is None else await self.extend(environ, folder, context)

    def new_output(self) -> "CommandOutput":
        """Return what collects the output of a command, without secrets."""
        from opencode_tui.engine.tool.process.running_command import CommandOutput  # with the first command

        return CommandOutput(self.reserve_output, redactor=self.secrets.get().stream())

    def runs_on_host(self, context: ToolContext) -> bool:
        """Return whether a call's command needs neither approval nor the sandbox: the user typed it, and the agent may edit."""
        return context.by_user and (self.sandbox is None or self.may(context.agent, "edit"))

    def may_delegate(self, agent: str) -> bool:
        """Return whether an agent may start others, for the advice on long outputs."""
        return self.may(agent, "task")


class ToolKit(Struct, frozen=True, dict=True):
    """What the built-in tools of a folder are made of.

    `readable` returns whether a call may read a file without asking, so that a search does not show what read would ask for;
    `instructions` finds the rules files near a file that is read; `read_outputs` returns what earlier calls gave,
    `search_history` finds words in what the model no longer sees; `find_search` returns the service that searches the web, None
    without a key, and may block.
    """

    directory: Path
    environ: Mapping[str, str]
    editing: Editing
    shell: ShellEnvironment
    readable: "Readable"
    instructions: DirectoryInstructions
    todos: "SessionTodos"
    skills: Skills
    read_outputs: ReadOutputs
    search_history: SearchHistory
    find_search: "Callable[[], SearchService | None]" = lambda: None

    @cached_property
    def search(self) -> "FileSearch":
        """What finds files and texts."""
        from opencode_tui.engine.tool.search.search import FileSearch

        return FileSearch(self.directory, self.environ)
