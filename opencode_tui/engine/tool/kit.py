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
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.schema.error import ToolError

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


class ToolDependencies(Struct, frozen=True):
    """The collaborators of the built-in tools.

    `edited` is called for every change of a file by one of them; `may_delegate` says whether the agent of that name may start
    others, `may_edit` whether it may change files;
    `readable` says whether a call may read a file without asking, so that a search does not show what read would ask for;
    `instructions` finds the rules files near a file that is read; `read_outputs` returns what earlier calls gave;
    `extend_environment` is what plugins add to the environment of commands, which get none of the keys in `secrets` and run in
    `sandbox`, those that outlive their calls in `background`; `protected` are folders in which every edit needs approval;
    `languages` are the language servers and `formatters` format edits, None where they are off; `shell` is the bash that the user
    prefers, `limits` what each command may use.
    """

    environ: Mapping[str, str]
    home: Path
    directory: Path
    truncator: Truncator
    todos: "SessionTodos"
    edited: "Callable[[Change], None]"
    may_delegate: Callable[[str], bool]
    may_edit: Callable[[str], bool]
    readable: "Readable"
    instructions: DirectoryInstructions
    skills: Skills
    read_outputs: ReadOutputs
    secrets: "Lazy[Secrets]"
    sandbox: "Lazy[Sandbox]"
    background: "Lazy[BackgroundCommands]"
    extend_environment: ExtendEnvironment | None = None
    protected: Collection[Path] = ()
    languages: "Lazy[LanguageServers] | None" = None
    formatters: "Lazy[Formatters] | None" = None
    shell: str | None = None
    limits: Limits = NO_LIMITS
    find_search: "Callable[[], SearchService | None]" = lambda: None
    """Returns the service that searches the web, None without a key; may block."""


class ToolKit:
    """The collaborators that tools share, each made once; `given` are those of the instance."""

    def __init__(self, given: ToolDependencies) -> None:
        self.given = given

    @cached_property
    def stamps(self) -> "ReadGuard":
        """The files that calls have read, with their states then."""
        from opencode_tui.engine.tool.files.read_guard import ReadGuard

        return ReadGuard()

    @cached_property
    def files(self) -> "WorktreeFiles":
        """The files that tools write."""
        from opencode_tui.engine.tool.files.files import WorktreeFiles

        return WorktreeFiles(edited=self.given.edited)

    @cached_property
    def edit_permission(self) -> "EditPermission":
        """Which edits need approval."""
        from opencode_tui.engine.tool.edit.edit_permission import EditPermission

        return EditPermission(self.given.protected)

    @cached_property
    def editor(self) -> "FileEditor":
        """What edits one file."""
        from opencode_tui.engine.tool.edit.file_editor import FileEditor

        return FileEditor(
            files=self.files,
            stamps=self.stamps,
            permission=self.edit_permission,
            check=self.edit_check,
            format_edit=self.format_edit,
        )

    @cached_property
    def format_edit(self) -> "FormatEdit":
        """What formats an edit, nothing where formatters are off."""
        from opencode_tui.engine.format.formatted import keep

        formatters = self.given.formatters
        if formatters is None:
            return keep

        async def format_edit(path: Path, before: str | None, after: str) -> "Formatted":
            return await formatters.get().format(path, before, after)

        return format_edit

    @cached_property
    def edit_check(self) -> "EditCheck":
        """What finds the errors that an edit brought, nothing where language servers are off."""
        from opencode_tui.engine.lsp.change import check_nothing

        languages = self.given.languages
        if languages is None:
            return check_nothing

        async def check(changes: "Sequence[FileChange]", session_id: str) -> "EditReport":
            return await languages.get().after_edit(changes, session_id)

        return check

    @cached_property
    def search(self) -> "FileSearch":
        """What finds files and texts."""
        from opencode_tui.engine.tool.search.search import FileSearch

        return FileSearch(self.given.directory, self.given.environ)

    @cached_property
    def after_read(self) -> Callable[[Path], None] | None:
        """What a language server learns of a file that was read, None where they are off."""
        languages = self.given.languages
        if languages is None:
            return None

        def after_read(path: Path) -> None:
            languages.get().after_read(path)

        return after_read

    @property
    def languages(self) -> "Lazy[LanguageServers]":
        """The language servers; a call of a tool that needs them fails where they are off."""
        return self.given.languages or Lazy(_no_servers)


def _no_servers() -> "LanguageServers":
    raise ToolError("language servers are off here")
