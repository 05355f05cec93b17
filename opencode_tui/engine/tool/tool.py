"""The interfaces of tools: a tool, its parameters and result, and the context of a call."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.snapshot.record.call import CallChanges
from opencode_tui.schema.api.question import Question
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.record import JsonObject, Record

if TYPE_CHECKING:
    from opencode_tui.engine.project.branch_files import BranchFile
    from opencode_tui.engine.snapshot.scan.lost_files import LostPath

_CHECKED_ONLY = (
    *("default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)
"""What a call is checked against and no request says: a call that does not fit is answered with what is wrong."""


def _without_checks(schema: JsonObject) -> None:
    for parameter in schema.get("properties", {}).values():
        for branch in (parameter, *parameter.get("anyOf", ())):
            for key in _CHECKED_ONLY:
                branch.pop(key, None)


class Parameters(Record):
    """The base of every tool's parameters: camel-case names as the model writes them, unknown ones ignored.

    The schema for the model is without defaults and bounds; a description names those that matter to it.
    """

    unknown = "ignore"
    adjust_schema = staticmethod(_without_checks)

    def present(self) -> JsonObject:
        """Return the values by the names of their fields here, without those that are None."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


P = TypeVar("P", bound=Parameters)


class Ask(Protocol):
    """Asks whether a call may do something; returns when it may, raises PermissionRefused when not."""

    def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        always: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        must_ask: Collection[str] = (),
    ) -> Awaitable[None]:
        """Wait for the decision; `always` are the patterns that an `always` reply would allow from now on.

        The patterns in `must_ask` are allowed only by a rule that names them word for word, not by one with wildcards.
        """
        ...

    def query(self, query: Query) -> Awaitable[bool]:
        """Wait for the decision about a query; its session and call are filled in.

        Return whether the user allowed only the host that it names, to be reached from inside the sandbox.
        """
        ...

    def is_always_outside(self, query: Query) -> Awaitable[bool]:
        """Return whether the user always lets the commands of a query run outside the sandbox."""
        ...

    def rules(self) -> Sequence[Ruleset]:
        """Return the rulesets that must all allow the call: the session's and its parents'."""
        ...


AskUser = Callable[[Sequence[Question]], Awaitable[list[list[str]]]]
"""Returns the labels that the user chose, a list for each question; raises QuestionDismissedError or ToolError."""


class SubagentTask(Struct, frozen=True):
    """Work for another agent: `task_id` is the session of an earlier task to continue.

    With `is_isolated` it works in a worktree of its own, as an earlier task does that did so before.
    """

    agent: str
    description: str
    prompt: str
    task_id: str | None = None
    command: str | None = None
    is_isolated: bool = False


class SubagentResult(Struct, frozen=True):
    """The result of a subagent: its session, its model as `provider/model`, its last text, the tools that it ran.

    `changes` says what it changed in a worktree of its own; empty where it had none. `work` is for the metadata of the call.
    """

    session_id: str
    model: str
    text: str
    tools: tuple[str, ...] = ()
    changes: str = ""
    work: Mapping[str, Any] = {}


class SubagentBranch(Struct, frozen=True):
    """The changes of an agent that worked in a worktree of its own: a branch, and its files."""

    branch: str
    files: "tuple[BranchFile, ...]"


class SubagentStart(Struct, frozen=True):
    """A subagent that runs in the background: its session, its model as `provider/model`, its ID there.

    `work` is for the metadata of the call.
    """

    session_id: str
    model: str
    id: str
    work: Mapping[str, Any] = {}


class Subagents(Protocol):
    """Starts agents in child sessions."""

    def available(self, caller: str) -> Sequence[tuple[str, str]]:
        """Return name and description of the agents that this agent may start."""
        ...

    def is_invited(self, agent: str) -> bool:
        """Return whether the user's newest request names the agent, so that no permission is needed."""
        ...

    async def run(self, assignment: SubagentTask, context: "ToolContext") -> SubagentResult:
        """Run the agent to its end and return the result; a cancel interrupts it. Raises ToolError with the cause of a failure."""
        ...

    async def start(self, assignment: SubagentTask, context: "ToolContext") -> SubagentStart:
        """Start the agent in the background, where the background commands are, and return it. Raises ToolError."""
        ...

    async def changes(self, task_id: str, context: "ToolContext") -> SubagentBranch:
        """Return what an agent changed in its worktree, to apply it. Raises ToolError where there is nothing."""
        ...

    async def applied(self, task_id: str) -> None:
        """Record that the session has the changes of an agent."""
        ...

    async def hand_over(self, agent: str, text: str) -> None:
        """Store a request for another agent, by its name, which continues the session after this step."""
        ...


class ToolContext(Struct, frozen=True):
    """The context of one call. `progress` (title, metadata) shows on the screen while the call runs; it does not block.

    `subagents` is None where no agent can be started, `inquire` where the user cannot be asked, `watch`, which records its
    changes of files, where none is changed. `around_commands` is what takes the place of `watch.commands` in the background.
    `by_user`: the user typed the call, so it needs no approval. `origins` are the work trees that this one is a copy of. Tools in
    `switched_off` do not run.
    """

    session_id: str
    message_id: str
    call_id: str
    agent: str
    directory: Path
    worktree: Path
    ask: Ask
    progress: Callable[[str | None, dict[str, Any]], None]
    subagents: Subagents | None = None
    inquire: AskUser | None = None
    watch: CallChanges | None = None
    around_commands: Callable[[], AbstractAsyncContextManager[None]] | None = None
    by_user: bool = False
    origins: Sequence[Path] = ()
    switched_off: Collection[str] = ()

    def commands(self, lost: "Sequence[LostPath]" = ()) -> AbstractAsyncContextManager[None]:
        """Return the context in which the call must start programs and foreign code, entered directly before they start.

        `lost` are paths that they are about to discard, which undo is to bring back; in the background they are not kept.
        """
        if self.around_commands is not None:
            return self.around_commands()
        return nullcontext() if self.watch is None else self.watch.commands(lost)


class ToolResult(Struct, frozen=True):
    """The result of a call: `output` for the model, `title` and `metadata` for the screen.

    `attachments` are file parts without ids: `{type: "file", mime, url, filename?}` with a data URL. A tool that sets
    `metadata.truncated` has kept its output within the limits itself.
    """

    title: str
    output: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    attachments: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class Tool(Protocol, Generic[P]):
    """A tool. `run` raises ToolError with a text for the model; after a cancel nothing of it may keep running."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def description(self) -> str:
        """The description for the model."""
        ...

    @property
    def parameters(self) -> type[P]:
        """The model of its input."""
        ...

    async def run(self, arguments: P, context: ToolContext) -> ToolResult:
        """Run the tool and return its result."""
        ...


class ToolFile(Struct, frozen=True):
    """What a tool's file says to the model: the description and the JSON schema of the parameters, None where it has none."""

    description: str
    parameters: JsonObject | None


TOOL_FILES = Path(__file__).parent / "builtin"
RULE = "\n\n---\n"
"""Between the description and the parameters, which `python -m tests.support.source.tool_specs` writes."""


def read_tool_file(name: str) -> ToolFile:
    """Return what the file of a built-in tool says; blocks for one small file."""
    text = (TOOL_FILES / f"{name}.md").read_text("utf-8")
    description, _, parameters = text.partition(RULE)
    return ToolFile(description.strip(), json.loads(parameters) if parameters else None)


def read_description(name: str) -> str:
    """Return a tool's description; blocks for one small file."""
    return read_tool_file(name).description
