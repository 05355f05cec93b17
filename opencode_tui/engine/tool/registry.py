"""The tools of an instance by name: their schemas for the model, the validation of its input, and their construction."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.sandbox.limits import NO_LIMITS, Limits
from opencode_tui.engine.skill.skills import Skills
from opencode_tui.engine.tool.parameter_schema import describe, parse
from opencode_tui.engine.tool.tool import Parameters, Tool, ToolContext, ToolResult
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.model import Model

if TYPE_CHECKING:
    from opencode_tui.engine.format.formatted import FormatEdit, Formatted
    from opencode_tui.engine.format.formatters import Formatters
    from opencode_tui.engine.lsp.change import EditCheck, EditReport, FileChange
    from opencode_tui.engine.lsp.language_servers import LanguageServers
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.sandbox.sandbox import Sandbox
    from opencode_tui.engine.tool.builtin.bash import ExtendEnvironment
    from opencode_tui.engine.tool.builtin.read import DirectoryInstructions
    from opencode_tui.engine.tool.builtin.recall import StoredOutputs
    from opencode_tui.engine.tool.builtin.todo import TodoStore
    from opencode_tui.engine.tool.edit.edit_permission import EditPermission
    from opencode_tui.engine.tool.edit.file_editor import FileEditor
    from opencode_tui.engine.tool.files.files import WorktreeFiles
    from opencode_tui.engine.tool.files.read_guard import ReadGuard
    from opencode_tui.engine.tool.files.transaction import Change
    from opencode_tui.engine.tool.process.background import BackgroundCommands
    from opencode_tui.engine.tool.search.search import FileSearch, Readable
    from opencode_tui.engine.tool.search_service import SearchService


# Built-in tools that are loaded on their first call. A turn calls few tools; loading all takes a third of the time to the first
# request. Their descriptions and schemas are in `specs.json`, which a test compares with the tools themselves.

SPECS = Path(__file__).with_name("specs.json")


def read_specs() -> dict[str, ToolSpec]:
    """Return what the model sees of each built-in tool, by name in its order; blocks for one file."""
    stored: dict[str, dict[str, Any]] = json.loads(SPECS.read_bytes())
    return {name: ToolSpec(name, one["description"], one["parameters"]) for name, one in stored.items()}


class LazyTool:
    """A tool that is imported and built on first use."""

    def __init__(self, spec: ToolSpec, tool: Lazy[Tool[Any]]) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self._tool = tool

    @property
    def parameters(self) -> type[Parameters]:
        """The parameters' model; loads the tool."""
        return self._tool.get().parameters

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """Run the tool and return its result."""
        return await self._tool.get().run(arguments, context)


AnyTool = Tool[Any]
"""A tool with its own type of parameters, which `validate` returns."""


class InnerCall(Struct, frozen=True):
    """The tool that another one calls, and its arguments, which the outer call has as its argument `arguments`."""

    tool: AnyTool
    arguments: dict[str, Any]


class LateTools(Protocol):
    """Tools of a turn that come and go with other programs."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that rules can switch off, in order."""
        ...

    def specs(self, is_enabled: Callable[[str], bool]) -> tuple[ToolSpec, ...]:
        """Return what the model sees of those that are enabled, in order."""
        ...

    def inventory(self, is_enabled: Callable[[str], bool]) -> Mapping[str, ToolSpec]:
        """Return all enabled tools of other programs by name, also those that the model sees by a search only."""
        ...


class LateToolSource(Protocol):
    """Finds tools that come and go with other programs."""

    async def of_turn(self, session_id: str, message_id: str, model: Model) -> LateTools:
        """Return those of the turn that a user message started; the same ones until its end."""
        ...

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of this name, None for an unknown one."""
        ...

    async def find_inner(self, name: str, arguments: Mapping[str, Any]) -> "InnerCall | None":
        """Return the call that a call of this name makes, None where it makes none; may wait."""
        ...


class ToolRegistry:
    """Holds tools in the order in which the model sees them; names are unique, a later tool replaces an earlier one.

    `find_useless` returns the names of those that can do nothing here, which the model does not see; it is called once, when they
    are first listed, and may block for a few lookups.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool],
        find_late: Callable[[], LateToolSource | None] = lambda: None,
        *,
        find_useless: Callable[[], Collection[str]] | None = None,
    ) -> None:
        """`find_late` returns the source of tools that come and go, None where there is none."""
        self._find_late = find_late
        self._tools = {tool.name: tool for tool in tools}
        self._find_useless = find_useless
        self._useless: Collection[str] = ()
        self._specs: dict[str, ToolSpec] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of this name, or of its lower-case form, or None."""
        found = self._tools.get(name) or self._tools.get(name.lower())
        late = self._find_late() if found is None else None
        return found if late is None else late.get(name)

    async def find_inner(self, name: str, arguments: Mapping[str, Any]) -> InnerCall | None:
        """Return the call that a call of this name makes, None where it makes none. May wait for seconds."""
        late = None if name in self._tools else self._find_late()
        return None if late is None else await late.find_inner(name, arguments)

    def late(self) -> LateToolSource | None:
        """Return the source of tools that come and go, None where there is none."""
        return self._find_late()

    def hide_useless(self) -> None:
        """Look for the tools that can do nothing here, the first time only. Blocks for a few lookups."""
        find = self._find_useless
        if find is not None:
            self._useless = find()
            self._find_useless = None

    def specs(self, enabled: Callable[[str], bool]) -> tuple[ToolSpec, ...]:
        """Return what the model sees of the tools whose names are enabled, in order; made once per tool."""
        self.hide_useless()
        return tuple(
            self._spec(tool) for name, tool in self._tools.items() if name not in self._useless and enabled(name)
        )

    def validate(self, tool: AnyTool, written: Mapping[str, Any]) -> Parameters | str:
        """Return the tool's parameters, or a text for the model that names the wrong fields and the right form."""
        parsed = parse(tool.parameters, written)
        if isinstance(parsed, Parameters):
            return parsed
        from opencode_tui.engine.tool.wrong_call import describe_misfit  # most calls fit

        return describe_misfit(tool.name, parsed, self._spec(tool).parameters)

    def describe_unknown(self, name: str, switched_off: Collection[str]) -> str:
        """Return the answer to a call of a tool that does not exist; no tool in `switched_off` is suggested."""
        from opencode_tui.engine.tool.wrong_call import describe_unknown  # most calls name a tool

        return describe_unknown(name, self.specs(lambda one: one not in switched_off))

    def _spec(self, tool: AnyTool) -> ToolSpec:
        if isinstance(tool, LazyTool):
            return tool.spec
        if tool.name not in self._specs:
            self._specs[tool.name] = ToolSpec(tool.name, tool.description, describe(tool.parameters))
        return self._specs[tool.name]


class ToolDependencies(Struct, frozen=True):
    """The collaborators of the built-in tools.

    `edited` is called for every change of a file by one of them; `may_delegate` says whether the agent of that name may start
    others, `may_edit` whether it may change files;
    `readable` says whether a call may read a file without asking, so that a search does not show what read would ask for;
    `instructions` finds the rules files near a file that is read; `outputs` are what earlier calls gave; `extend_environment` is
    what plugins add to the environment of commands, which get none of the keys in `secrets` and run in `sandbox`, those that
    outlive their calls in `background`; `protected` are folders in which every edit
    needs approval; `languages` are the language servers and `formatters` format edits, None where they are off;
    `shell` is the bash that the user prefers, `limits` what each command may use.
    """

    environ: Mapping[str, str]
    home: Path
    directory: Path
    truncator: Truncator
    todos: "TodoStore"
    edited: "Callable[[Change], None]"
    may_delegate: Callable[[str], bool]
    may_edit: Callable[[str], bool]
    readable: "Readable"
    instructions: "DirectoryInstructions"
    skills: Skills
    outputs: "StoredOutputs"
    secrets: "Lazy[Secrets]"
    sandbox: "Lazy[Sandbox]"
    background: "Lazy[BackgroundCommands]"
    extend_environment: "ExtendEnvironment | None" = None
    protected: Collection[Path] = ()
    languages: "Lazy[LanguageServers] | None" = None
    formatters: "Lazy[Formatters] | None" = None
    shell: str | None = None
    limits: Limits = NO_LIMITS
    find_search: "Callable[[], SearchService | None]" = lambda: None
    """Returns the service that searches the web, None without a key; may block."""


def built_in_tools(dependencies: ToolDependencies) -> list[Tool[Any]]:
    """Return the tools in the order in which the model sees them."""
    factory = ToolFactory(dependencies)
    tools: list[Tool[Any]] = [
        LazyTool(spec, Lazy(partial(factory.make, name)))
        for name, spec in read_specs().items()
        if name != "lsp" or dependencies.languages is not None
    ]
    if dependencies.skills.all():
        from opencode_tui.engine.tool.builtin.skill import (  # its description lists the skills, so it is made at once
            SkillTool,
        )

        tools.append(SkillTool(skills=dependencies.skills))
    return tools


def _no_servers() -> "LanguageServers":
    raise ToolError("language servers are off here")


class ToolFactory:
    """Makes the tools; shared collaborators are made once."""

    def __init__(self, dependencies: ToolDependencies) -> None:
        self._dependencies = dependencies

    def make(self, name: str) -> Tool[Any]:
        """Return a new tool of that name; imports its module."""
        make: Callable[[], Tool[Any]] = getattr(self, f"_make_{name}")
        return make()

    @cached_property
    def _stamps(self) -> "ReadGuard":
        from opencode_tui.engine.tool.files.read_guard import ReadGuard

        return ReadGuard()

    @cached_property
    def _files(self) -> "WorktreeFiles":
        from opencode_tui.engine.tool.files.files import WorktreeFiles

        return WorktreeFiles(edited=self._dependencies.edited)

    @cached_property
    def _edit_permission(self) -> "EditPermission":
        from opencode_tui.engine.tool.edit.edit_permission import EditPermission

        return EditPermission(self._dependencies.protected)

    @cached_property
    def _editor(self) -> "FileEditor":
        from opencode_tui.engine.tool.edit.file_editor import FileEditor

        return FileEditor(
            files=self._files,
            stamps=self._stamps,
            permission=self._edit_permission,
            check=self._edit_check,
            format_edit=self._format_edit,
        )

    @cached_property
    def _format_edit(self) -> "FormatEdit":
        from opencode_tui.engine.format.formatted import keep

        formatters = self._dependencies.formatters
        if formatters is None:
            return keep

        async def format_edit(path: Path, before: str | None, after: str) -> "Formatted":
            return await formatters.get().format(path, before, after)

        return format_edit

    @cached_property
    def _edit_check(self) -> "EditCheck":
        from opencode_tui.engine.lsp.change import check_nothing

        languages = self._dependencies.languages
        if languages is None:
            return check_nothing

        async def check(changes: "Sequence[FileChange]", session_id: str) -> "EditReport":
            return await languages.get().after_edit(changes, session_id)

        return check

    @cached_property
    def _search(self) -> "FileSearch":
        from opencode_tui.engine.tool.search.search import FileSearch

        return FileSearch.installed(self._dependencies.directory, self._dependencies.environ)

    def _make_bash(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.bash import BashTool, ShellEnvironment

        given = self._dependencies
        shell = ShellEnvironment(
            environ=given.environ,
            home=given.home,
            reserve_output=given.truncator.reserve,
            extend=given.extend_environment,
            secrets=given.secrets.get(),
            sandbox=given.sandbox.get(),
            limits=given.limits,
            may_edit=given.may_edit,
            background=given.background,
            shell=given.shell,
        )
        return BashTool(shell=shell, may_delegate=given.may_delegate)

    def _make_bash_output(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.bash_output import BashOutputTool

        return BashOutputTool(background=self._dependencies.background)

    def _make_read(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.read import ReadTool

        return ReadTool(stamps=self._stamps, instructions=self._dependencies.instructions, after_read=self._after_read)

    @cached_property
    def _after_read(self) -> Callable[[Path], None] | None:
        languages = self._dependencies.languages
        if languages is None:
            return None

        def after_read(path: Path) -> None:
            languages.get().after_read(path)

        return after_read

    def _make_glob(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.glob import GlobTool

        return GlobTool(search=self._search, readable=self._dependencies.readable)

    def _make_grep(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.grep import GrepTool

        return GrepTool(search=self._search, readable=self._dependencies.readable)

    def _make_list(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.list import ListTool

        return ListTool(search=self._search)

    def _make_edit(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.edit import EditTool

        return EditTool(editor=self._editor)

    def _make_multiedit(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.multiedit import MultieditTool

        return MultieditTool(editor=self._editor)

    def _make_write(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.write import WriteTool

        return WriteTool(editor=self._editor)

    def _make_apply_patch(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool

        return ApplyPatchTool(
            files=self._files,
            stamps=self._stamps,
            permission=self._edit_permission,
            check=self._edit_check,
            format_edit=self._format_edit,
        )

    def _make_lsp(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.lsp import LspTool

        given = self._dependencies
        languages = given.languages or Lazy(_no_servers)
        return LspTool(languages=languages, readable=given.readable)

    def _make_webfetch(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool

        return WebfetchTool()

    def _make_websearch(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.websearch import WebsearchTool

        return WebsearchTool(self._dependencies.find_search)

    def _make_task(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.task import TaskTool

        return TaskTool()

    def _make_todowrite(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.todo import TodowriteTool

        return TodowriteTool(store=self._dependencies.todos)

    def _make_todoread(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.todo import TodoreadTool

        return TodoreadTool(store=self._dependencies.todos)

    def _make_question(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.question import QuestionTool

        return QuestionTool()

    def _make_plan_exit(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.plan_exit import PlanExitTool

        return PlanExitTool()

    def _make_recall(self) -> Tool[Any]:
        from opencode_tui.engine.tool.builtin.recall import RecallTool

        return RecallTool(outputs=self._dependencies.outputs)
