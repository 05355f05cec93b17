"""The tools: one row each. Every table over names of tools, on the screen, in settings and in the engine, is made from these rows.

A new tool is its row here, `engine/tool/builtin/NAME.py` and `NAME.md`. What a row leaves out has a default that suits a tool
about which nothing is known, such as one of a plugin.
"""

from typing import Literal

from msgspec import Struct

Argument = Literal["", "file", "folder", "pattern", "glob", "address", "patch", "agent", "question", "todos"]
"""What a call is about: one of its arguments, "" for the first text among those that usually say it."""

Result = Literal[
    "lines",
    "plain",
    "command",
    "background",
    "text",
    "matches",
    "diff",
    "patch",
    "file",
    "todos",
    "kept_todos",
    "agent",
    "answers",
    "rows",
]
"""How a completed call is shown: by the number of its lines, by nothing, or in a form of its own.

"todos" is a new list, "kept_todos" one that was only read. "rows" is for a form that a tool makes itself: its call reports them in
its metadata as `rows`, each an object with a `text`, and if it has them a `status` (of a todo) and a `detail`.
"""

Kind = Literal["read", "edit", "search", "execute", "fetch", "switch_mode", "other"]
"""The kind of a tool in the Agent Client Protocol."""

Role = Literal["search", "plan"]
"""What only one tool does: search the web, unless the provider does it; ask whether a finished plan should be built."""

Need = Literal["", "languages", "search", "skills"]
"""What a tool is useless without: language servers, a search service, a skill."""


EditForm = Literal["replace", "patch"]
"""How a model changes files: it quotes the text to replace, or it writes patches. It sees the tools of its family's form."""


class Words(Struct, frozen=True):
    """A permission in words: the question, what the agent needs approval to do, that as a noun, and the key for once."""

    title: str
    action: str
    noun: str
    once: str = "allow once"


class ToolRow(Struct, frozen=True, kw_only=True):
    """A tool as all layers know it.

    `shown` is its name on screens. A running call is described by `activity`, if that is the same for every call, or by `verb`
    and what it is about. `counted` is the key of the number of its results in its metadata, with their noun. `permission` is the
    one that it needs, if that has another name, `words` those of its own permission. A tool whose permission `has_patterns` can
    have rules for some calls. The agents in `only_for` have it, and no others; the agent `explore` has it if it `explores`.
    `aliases` are names that other agents have for it, without case and separators (source: their published tool lists);
    `claude` is Claude Code's name in hooks, `imported` are more names in sessions of Claude Code and Codex.
    """

    name: str
    shown: str
    verb: str = ""
    activity: str = ""
    argument: Argument = ""
    result: Result = "plain"
    counted: tuple[str, str] | None = None
    kind: Kind = "other"
    role: Role | None = None
    needs: Need = ""
    permission: str = ""
    words: Words | None = None
    has_patterns: bool = True
    only_for: tuple[str, ...] = ()
    explores: bool = False
    asks_user: bool = False
    """Whether a running call waits for the user, and works on nothing."""
    form: EditForm | None = None
    """The form of editing whose tool it is: a model of another form does not see it, but may call it."""
    is_listed: bool = True
    """Whether requests list it; else it is for those who know its name, such as a session that has used it."""
    may_change_unseen: bool = False
    """Whether it can change files whose state was not recorded before, so that undo misses them if the program ends meanwhile."""
    aliases: tuple[str, ...] = ()
    claude: str = ""
    imported: tuple[str, ...] = ()

    @property
    def edits(self) -> bool:
        """Whether it changes files under the permission for it."""
        return "edit" in (self.name, self.permission)

    @property
    def is_by_path(self) -> bool:
        """Whether a call is about one path."""
        return self.argument in ("file", "folder")

    @property
    def is_summed_up(self) -> bool:
        """Whether what a call is about says all that matters of its arguments."""
        return self.argument in ("file", "folder", "pattern", "glob", "address", "patch")

    @property
    def shows_changes(self) -> bool:
        """Whether a completed call shows the lines that it changed."""
        return self.result in ("file", "diff", "patch")


TOOLS = (
    ToolRow(
        name="bash",
        shown="Bash",
        verb="Running",
        result="command",
        kind="execute",
        words=Words("Run this command?", "run this", "this command", "run once"),
        explores=True,
        may_change_unseen=True,
        aliases=(
            *("shell", "sh", "exec", "execcommand", "terminal", "runshellcommand", "runterminalcmd", "executecommand"),
            *("runcommand", "runcommands", "run", "command", "localshell", "python", "ipython", "runinterminal"),
            *("executebash", "shellcommand", "runipython", "runpython", "runbash", "bashcommand", "powershell"),
        ),
        claude="Bash",
        imported=("exec_command", "shell", "shell_command", "local_shell", "container.exec"),
    ),
    ToolRow(
        name="bash_output",
        shown="Output",
        activity="Reading a background command",
        result="background",
        permission="bash",
        may_change_unseen=True,
        aliases=(
            "killshell",
            "killbash",
            "taskoutput",
            "taskstop",
            "writestdin",
            "readterminal",
            "getterminaloutput",
            "monitor",
        ),
    ),
    ToolRow(
        name="read",
        shown="Read",
        verb="Reading",
        argument="file",
        result="text",
        kind="read",
        words=Words("Read this file?", "read", "reading this file", "read once"),
        aliases=(
            "view",
            "cat",
            "open",
            "readfile",
            "openfile",
            "viewfile",
            "getfile",
            "readmanyfiles",
            "readfiles",
            "fileread",
        ),
        claude="Read",
    ),
    ToolRow(
        name="glob",
        shown="Glob",
        verb="Looking for",
        activity="Searching",
        argument="glob",
        counted=("count", "file"),
        kind="search",
        explores=True,
        aliases=("find", "filesearch", "findfiles", "findfile"),
        claude="Glob",
    ),
    ToolRow(
        name="grep",
        shown="Grep",
        verb="Searching for",
        activity="Searching",
        argument="pattern",
        result="matches",
        counted=("matches", "match"),
        kind="search",
        explores=True,
        aliases=(
            *("search", "rg", "ripgrep", "grepsearch", "searchfiles", "searchfilecontent", "codesearch", "searchcode"),
        ),
        claude="Grep",
    ),
    ToolRow(
        name="list",
        shown="List",
        verb="Listing",
        activity="Searching",
        argument="folder",
        counted=("count", "entry"),
        kind="read",
        explores=True,
        aliases=("ls", "listdir", "listdirectory", "listfiles", "tree", "readfolder"),
        claude="LS",
    ),
    ToolRow(
        name="edit",
        shown="Edit",
        verb="Editing",
        argument="file",
        result="diff",
        kind="edit",
        form="replace",
        words=Words("Edit this file?", "edit", "edits", "edit once"),
        aliases=(
            *("strreplace", "strreplaceeditor", "strreplacebasededit", "replace", "searchreplace", "editfile"),
            *("replaceinfile", "strreplacefile", "insert", "editor", "texteditor", "searchandreplace"),
        ),
        claude="Edit",
    ),
    ToolRow(
        name="multiedit",
        shown="Edit",
        verb="Editing",
        argument="file",
        result="diff",
        kind="edit",
        form="replace",
        permission="edit",
        aliases=("multieditfile", "multireplace"),
        claude="MultiEdit",
    ),
    ToolRow(
        name="write",
        shown="Write",
        verb="Writing",
        argument="file",
        result="file",
        kind="edit",
        form="replace",
        permission="edit",
        aliases=("create", "writefile", "createfile", "writetofile", "newfile", "savefile"),
        claude="Write",
    ),
    ToolRow(
        name="apply_patch",
        shown="Patch",
        activity="Applying a patch",
        argument="patch",
        result="patch",
        kind="edit",
        form="patch",
        permission="edit",
        aliases=("patch", "applydiff", "diff"),
        imported=("apply_patch",),
    ),
    ToolRow(
        name="webfetch",
        shown="Fetch",
        verb="Fetching",
        activity="Fetching a page",
        argument="address",
        result="lines",
        kind="fetch",
        words=Words("Fetch this page?", "fetch pages", "fetching pages", "fetch once"),
        explores=True,
        aliases=("fetch", "fetchurl", "curl", "httpget", "browse", "readurl", "fetchwebpage"),
        claude="WebFetch",
    ),
    ToolRow(
        name="websearch",
        shown="Search",
        activity="Searching",
        counted=("count", "result"),
        kind="fetch",
        role="search",
        needs="search",
        words=Words("Search the web for this?", "search the web", "searching the web", "search once"),
        explores=True,
        imported=("web_search_call",),
    ),
    ToolRow(
        name="task",
        shown="Task",
        argument="agent",
        result="agent",
        words=Words("Start this agent?", "start agents", "starting agents"),
        aliases=("agent", "subagent", "spawnagent", "delegate", "dispatchagent"),
        claude="Task",
        imported=("Agent",),
    ),
    ToolRow(
        name="todowrite",
        shown="Todo",
        activity="Planning",
        argument="todos",
        result="todos",
        has_patterns=False,
        aliases=(
            "updateplan",
            "todo",
            "todos",
            "updatetodolist",
            "settodos",
            "writetodos",
            "settodolist",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
        ),
        claude="TodoWrite",
        imported=("update_plan",),
    ),
    ToolRow(
        name="todoread",
        shown="Todo",
        activity="Planning",
        argument="todos",
        result="kept_todos",
        has_patterns=False,
        is_listed=False,  # the newest list is in the conversation: as the last call of todowrite, or after a summary
    ),
    ToolRow(
        name="question",
        shown="Ask",
        activity="Waiting for your answer",
        asks_user=True,
        argument="question",
        result="answers",
        has_patterns=False,
        only_for=("build", "plan"),
        aliases=("ask", "askuser", "askuserquestion", "askfollowupquestion", "requestuserinput"),
        imported=("AskUserQuestion",),
    ),
    ToolRow(
        name="plan_exit",
        shown="Plan",
        activity="Waiting for your answer",
        asks_user=True,
        kind="switch_mode",
        role="plan",
        has_patterns=False,
        only_for=("plan",),
        aliases=("exitplanmode", "submitplan"),
    ),
    ToolRow(name="recall", shown="Recall"),
    ToolRow(name="lsp", shown="lsp", result="lines", needs="languages", has_patterns=False, may_change_unseen=True),
    ToolRow(
        name="skill",
        shown="Skill",
        needs="skills",
        words=Words("Load this skill?", "load skills", "loading skills"),
        imported=("Skill",),
    ),
)
"""The tools of this program, in the order in which the model sees them."""

OLD_TOOLS = (
    ToolRow(name="patch", shown="patch", activity="Applying a patch", result="lines", kind="edit", permission="edit"),
    ToolRow(name="codesearch", shown="codesearch", activity="Searching", result="lines", explores=True),
    ToolRow(name="batch", shown="batch", result="lines"),
    ToolRow(name="plan_enter", shown="plan_enter", result="lines", has_patterns=False, only_for=("build",)),
)
"""Tools that OpenCode has or had: sessions have calls of them, and settings rules for them."""

_BY_NAME = {row.name: row for row in (*OLD_TOOLS, *TOOLS)}


def row_of(tool: str) -> ToolRow:
    """Return the row of a tool; of one of a plugin or of an MCP server a row with its name and the defaults."""
    return _BY_NAME.get(tool) or ToolRow(name=tool, shown=tool, result="lines", may_change_unseen=True)


def permission_of(tool: str) -> str:
    """Return the permission that a tool needs."""
    return row_of(tool).permission or tool


def tool_with(role: Role) -> str:
    """Return the name of the tool that has a role."""
    return next(row.name for row in TOOLS if row.role == role)


PERMISSIONS = frozenset(row.name for row in _BY_NAME.values() if row.edits or not row.permission)
"""The tools that rules can name, though only `edit` of those that edit has an effect."""
