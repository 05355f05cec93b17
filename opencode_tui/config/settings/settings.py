"""All keys of the settings with their types: OpenCode's and our own.

A key that is absent in all sources is None, or the default of its section. Source: docs/internals/settings.md#keys.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, cast

from opencode_tui.config.settings.marks import (
    ADDS_SKILLS,
    HARMLESS,
    HARMLESS_TEXT,
    LOOSENS,
    NOTHING,
    OPENS,
    REBINDS,
    SENDS,
    STARTS,
    WEAKENS,
    Default,
    Former,
    Mark,
    Trust,
    starts_each,
)
from opencode_tui.config.settings.provider import ProviderSettings
from opencode_tui.config.settings.section import (
    COLOR_PATTERN,
    Action,
    Bytes,
    Count,
    EditorLinks,
    Headers,
    Host,
    HostRule,
    Line,
    LongMilliseconds,
    Milliseconds,
    ModelName,
    Name,
    Off,
    Pattern,
    PromptName,
    ProviderName,
    Section,
    Size,
    Text,
    Tokens,
    Url,
    VariableName,
    Variables,
    WebOrigin,
    Words,
)
from opencode_tui.schema.field import Field, Tag, TagOf
from opencode_tui.schema.setting_defaults import (
    COMMAND_OPEN_FILES,
    COMMAND_PROCESSES,
    HOOK_S,
    MCP_BACKGROUND_MS,
    REST_S,
    SCROLL_LINES,
    SERVER_HOST,
    SERVER_PORT,
    SIGN_IN_PORT,
    STATUS_COMMAND_S,
)


class McpOauthSettings(Section):
    """How to sign in to a remote MCP server."""

    clientId: str | None = None
    """The ID of a client that is registered there, or the https address of its metadata; without one it registers itself."""
    clientSecret: str | None = Field(default=None, repr=False)
    """The client's secret, if it has one."""
    scope: str | None = None
    """Requested scopes, separated by spaces; those that the server names without them."""
    callbackPort: Annotated[Annotated[int, Field(ge=1, le=65535)] | None, Default(SIGN_IN_PORT)] = None
    """Local port for the browser's redirect."""


Unattended = Literal["decline", "defaults"]
"""What to answer to a form of a server where no user can be asked, such as in `run` without a terminal."""


class McpLocalSettings(Section):
    """A local MCP server."""

    type: Literal["local"]
    """A program on this machine."""
    command: Words
    """The program and its arguments."""
    environment: Variables | None = Field(default=None, repr=False)
    """Its environment variables."""
    cwd: Text | None = None
    """The folder that it starts in, absolute or below `~/`; the project's where this is not set."""
    enabled: Annotated[bool | None, Default(True)] = None
    """Start it."""
    timeout: Milliseconds | None = None
    """Milliseconds to wait for each answer, from its last progress on; the start may take 30 seconds, or this if it is longer."""
    unattended: Annotated[Unattended | None, Default("decline")] = None
    """Where no user can be asked: decline the server's forms, or send their default values."""


class McpRemoteSettings(Section):
    """A remote MCP server (HTTP)."""

    type: Literal["remote"]
    """A remote server."""
    url: Url
    """Its address."""
    headers: Headers | None = Field(default=None, repr=False)
    """HTTP headers of each request."""
    oauth: McpOauthSettings | Off | None = None
    """How to sign in, or false for never."""
    enabled: Annotated[bool | None, Default(True)] = None
    """Connect to it."""
    timeout: Milliseconds | None = None
    """Milliseconds to wait for each answer, from its last progress on; the start may take 30 seconds, or this if it is longer."""
    unattended: Annotated[Unattended | None, Default("decline")] = None
    """Where no user can be asked: decline the server's forms, or send their default values."""


class McpSwitch(Section):
    """Switches an MCP server of an earlier file on or off."""

    enabled: bool
    """Whether it is used."""


def _mcp_kind(value: Any) -> str:
    """Return the tag of an MCP entry: its type, or `switch` for a lone `enabled`."""
    if not isinstance(value, dict):
        return str(getattr(value, "type", "switch"))
    entry = cast("dict[str, Any]", value)
    return "switch" if set(entry) == {"enabled"} else str(entry.get("type", "missing"))


McpSettings = Annotated[
    Annotated[McpLocalSettings, Tag("local")]
    | Annotated[McpRemoteSettings, Tag("remote")]
    | Annotated[McpSwitch, Tag("switch")],
    TagOf(_mcp_kind),
]


class LspSettings(Section):
    """A language server."""

    disabled: Annotated[bool | None, Default(False)] = None
    """Do not start it."""
    command: Words | None = None
    """The program and its arguments."""
    extensions: list[Text] | None = None
    """File name extensions."""
    env: Variables | None = Field(default=None, repr=False)
    """Its environment variables."""
    initialization: dict[str, Any] | None = None
    """Initialization options."""


class FormatterSettings(Section):
    """A program that formats a file after an edit."""

    disabled: Annotated[bool | None, Default(False)] = None
    """Do not use it."""
    command: Words | None = None
    """The program; it formats its input, or a copy ($FILE) outside the project, where its settings are not found by path."""
    environment: Variables | None = Field(default=None, repr=False)
    """Its environment variables."""
    extensions: list[Text] | None = None
    """File name extensions."""
    whole: Annotated[bool | None, Default(False)] = None
    """Let it change the whole file, not only what is at most three lines from the edit."""


class ServerSettings(Section):
    """Our own HTTP server."""

    port: Annotated[Annotated[int, Field(ge=0, le=65535)] | None, Default(SERVER_PORT)] = None
    """The port; 0 means any free port."""
    hostname: Annotated[Host | None, Default(SERVER_HOST)] = None
    """The address to listen on; addresses other than loopback need a password."""
    mdns: Annotated[bool | None, Mark.UNSUPPORTED] = None
    """Announce the server in the local network."""
    mdnsDomain: Annotated[str | None, Mark.UNSUPPORTED] = None
    """The announced name."""
    cors: list[WebOrigin] | None = None
    """Further allowed origins."""
    pty: Annotated[bool | None, Default(False)] = None
    """Let clients with the password start terminals (`/pty`): unconfined shells."""


AgentMode = Literal["primary", "subagent", "all"]


class AgentSettings(Section):
    """An agent: the values change those of a built-in agent; an unknown name defines a new one."""

    is_open: ClassVar[bool] = True
    untrusted: ClassVar[Trust | None] = Trust(SENDS)

    name: Annotated[Line | None, HARMLESS] = None
    """The display name; commands use the key."""
    description: Annotated[str | None, HARMLESS_TEXT] = None
    """What the agent is for; the model chooses subagents by it."""
    mode: Annotated[AgentMode | None, HARMLESS] = None
    """`primary` is chosen by the user, `subagent` by another agent, `all` by both (the default of a new agent)."""
    model: Annotated[ModelName | None, HARMLESS_TEXT] = None
    """The model that this agent uses, as provider/model."""
    variant: Annotated[Line | None, HARMLESS] = None
    """The model's variant to use."""
    prompt: Annotated[str | None, HARMLESS_TEXT] = None
    """The agent's system prompt."""
    temperature: Annotated[Annotated[float, Field(ge=0, le=2)] | None, HARMLESS] = None
    """Sampling temperature, 0 to 2."""
    top_p: Annotated[Annotated[float, Field(ge=0, le=1)] | None, HARMLESS] = None
    """Nucleus sampling, 0 to 1."""
    steps: Annotated[Annotated[int, Field(ge=1, le=100_000)] | None, HARMLESS] = None
    """Maximum number of model calls in one turn; then the agent summarizes without tools."""
    maxSteps: Annotated[Annotated[int, Field(ge=1, le=100_000)] | None, HARMLESS, Former("steps")] = None
    """Former name of `steps`."""
    permission: Annotated[dict[str, Action | dict[str, Action]] | None, HARMLESS] = (
        None  # each rule is judged by itself
    )
    """Rules of this agent, after those of the settings: tool to action, or tool to pattern to action; the last match wins."""
    tools: Annotated[dict[str, bool] | None, HARMLESS, Former("permission")] = None
    """Former way to enable tools; use `permission`."""
    disable: Annotated[bool | None, HARMLESS, Default(False)] = None
    """Remove this agent."""
    hidden: Annotated[bool | None, HARMLESS, Default(False)] = None
    """Hide this agent in lists."""
    color: Annotated[Annotated[str, Field(pattern=COLOR_PATTERN)] | None, HARMLESS, Mark.DESCRIPTIVE] = None
    """Color of the agent, as #rrggbb or the name of a theme color, for clients of the server; our screen does not show it."""
    options: dict[str, Any] | None = None
    """Options that are sent to the provider with each request."""


class CommandSettings(Section):
    """A slash command: a prompt with a name."""

    template: str
    """The prompt; $ARGUMENTS and $1 are replaced by the arguments, @path attaches a file, !`command` inserts its output."""
    description: Annotated[str | None, HARMLESS_TEXT] = None
    """One line for lists."""
    agent: Line | None = None
    """The agent to use."""
    model: ModelName | None = None
    """The model to use, as provider/model."""
    subtask: Annotated[bool | None, Default(False)] = None
    """Run it in a subagent session."""


DEFAULT_PREPARE = 0.75
"""Share of the usable context from which a summary is prepared. Source: docs/internals/compaction.md#prepared-summaries."""


class CompactionSettings(Section):
    """Automatic compaction and pruning of the context."""

    auto: bool = True
    """Compact automatically when the context is full."""
    prune: bool = True
    """Drop old tool output from the context."""
    reserved: Tokens = 0
    """Tokens of the model's input limit that are kept free."""
    prepare: Off | Annotated[float, Field(gt=0, le=1)] = DEFAULT_PREPARE
    """Share of the usable context from which a summary is prepared in the background, or false for never."""


class SnapshotLimits(Section):
    """What undo records in addition to tracked and small files."""

    ignored: Count = 1_048_576
    """Bytes of the largest ignored file that counts as a file of the project, 200 MiB of all; 0: none."""
    keep: Bytes = 2_147_483_648
    """Bytes of all other files in a worktree that are kept before a command discards them, a tenth of the free disk at most."""


class ModelListSettings(Section):
    """The lists of models."""

    untrusted: ClassVar[Trust | None] = Trust(SENDS)

    refresh: Annotated[bool, Trust(SENDS, unless=(False,))] = True
    """Read newer lists of models in the background, once a day at most; false: only by `opencode-tui models --refresh`."""
    url: Url | None = None
    """The address of the catalog: models.dev's `api.json`, which is read without a setting, or a file in litellm's format."""


class CostLimitSettings(Section):
    """Budgets in USD; a request that would pass one is not sent before you are asked."""

    session: Annotated[float, Field(gt=0)] | None = None
    """Of a session with its subagent sessions."""
    day: Annotated[float, Field(gt=0)] | None = None
    """Of a day, over all sessions."""


class AgentLimitSettings(Section):
    """Limits of the agents that one prompt starts, at every depth, together."""

    parallel: Annotated[int, Field(ge=1, le=16)] = 4
    """Agents that work at the same time; the others wait."""
    depth: Annotated[int, Field(ge=1, le=10)] = 3
    """How deep agents may start others; 1: only the agent that you talk with starts any."""
    count: Annotated[int, Field(ge=1)] = 50
    """Agents that are started."""
    requests: Annotated[int, Field(ge=1)] | None = None
    """Requests that they send."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens that they use, those of their prompts included; a request that would probably pass it is not sent."""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """How long they work; then those that still do are stopped."""


class UseLimitSettings(Section):
    """Limits of what the program uses."""

    cost: CostLimitSettings = Field(default_factory=CostLimitSettings.trusted)
    """Budgets in USD; a request that would pass one is not sent before you are asked."""
    agents: AgentLimitSettings = Field(default_factory=AgentLimitSettings.trusted)
    """Limits of the agents that one prompt starts, at every depth, together."""


class BackgroundSettings(Section):
    """Work that goes on without a terminal."""

    hangup: bool = True
    """Go on when the terminal is closed or its connection is lost while a turn or a background command runs; false: stop them."""
    rest: Annotated[int, Field(ge=0, le=86_400)] = REST_S
    """Seconds that the engine waits for a terminal after its last work, before it ends."""


DEFAULT_TRASH_DAYS = 30
"""Days that a deleted session can be restored."""


class TrashSettings(Section):
    """Deleted sessions."""

    days: Off | Annotated[int, Field(ge=1, le=36_500)] = DEFAULT_TRASH_DAYS
    """Days after which a deleted session is removed permanently, or false for never."""


class CommandHook(Section):
    """A shell command that runs on an event."""

    type: Literal["command"] = "command"
    """Always `command`."""
    command: Text
    """The command for /bin/sh; the event is JSON on its standard input."""
    environment: Variables | None = Field(default=None, repr=False)
    """Its environment variables, besides those of this program."""
    timeout: Annotated[Annotated[float, Field(gt=0, le=3600)] | None, Default(HOOK_S)] = None
    """Seconds that it may take."""


class HookGroup(Section):
    """Commands for some tools."""

    matcher: Pattern | None = None
    """Names of tools, such as `Edit|Write`, or a regular expression for a part of the name, such as `^mcp__`; without it all."""
    hooks: list[CommandHook]
    """The commands, which run side by side."""


HookTrigger = Literal[
    "PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "PreCompact", "Notification"
]


class ScrollAccelerationSettings(Section):
    """Accelerated scrolling."""

    enabled: Annotated[bool | None, Default(False)] = None
    """Use it."""


StatusField = Literal[
    "agent", "model", "context", "cost", "waiting", "approvals", "sandbox", "branch", "folder", "command"
]
"""A field of the status line."""


class StatusLineSettings(Section):
    """The last row of the screen."""

    fields: list[StatusField] | None = None
    """Its fields from the left; by default the agent first, the branch and the command last."""
    command: Annotated[Text | None, Trust(STARTS, unless=(None,), starts_unasked=True)] = None
    """A command for /bin/sh; its first line is shown. The session is JSON on its standard input."""
    timeout: Annotated[Annotated[float, Field(gt=0, le=60)] | None, Default(STATUS_COMMAND_S)] = None
    """Seconds that the command may take."""


class TuiSettings(Section):
    """The screen."""

    scroll_speed: Annotated[Annotated[float, Field(ge=0.001, le=100)] | None, Default(SCROLL_LINES)] = None
    """Lines per step of the wheel."""
    scroll_acceleration: ScrollAccelerationSettings | None = None
    """Accelerated scrolling."""
    diff_style: Annotated[Literal["auto", "stacked"] | None, Default("auto")] = None
    """Show changes side by side where there is space, or always stacked."""
    reduced_motion: Annotated[bool | None, Default(False)] = None
    """Disable animations."""
    ascii: Annotated[bool | None, Default(False)] = None
    """ASCII glyphs only, also where the terminal shows UTF-8."""
    images: Annotated[Literal["auto", "kitty", "sixel", "blocks", "off"] | None, Default("auto")] = None
    """How pictures in the conversation are shown: `auto` with kitty's graphics or sixel where the terminal answers that it has
    them, else as half blocks; `off` shows their names."""
    editor_links: Annotated[EditorLinks | None, Trust(STARTS)] = None
    """What opens when you click a path in the terminal, at its line: `vscode`, `vscode-insiders`, `vscodium`, `cursor`, `windsurf`,
    `zed`, `idea`, `pycharm`, `textmate`, or the form of your editor's addresses, such as `mine://open?file={path}&line={line}`.
    Without it the links are `file://` addresses, which name no line."""
    tips: Annotated[bool | None, Default(True)] = None
    """Show a tip in an empty chat, another one each day."""
    status_line: StatusLineSettings | None = None
    """The fields of the last row, and a command of your own."""
    notify: Annotated[Text | None, Trust(STARTS, unless=(None,), starts_unasked=True)] = None
    """A command for /bin/sh, run when a question begins to wait or a turn ends while the terminal has no focus. Its text is in
    `$OPENCODE_TUI_MESSAGE`, more is JSON on its standard input."""
    delivery: Annotated[Literal["steer", "queue"] | None, Default("steer")] = None
    """When a message that you send during a turn is read: `steer`, at its next step, or `queue`, after it."""
    vim: Annotated[bool | None, Default(False)] = None
    """Edit the prompt with the keys of vim; `/vim` changes and saves it."""


class SkillsSettings(Section):
    """Further locations of skills."""

    untrusted: ClassVar[Trust | None] = Trust(ADDS_SKILLS)

    paths: list[Text] | None = None
    """Further folders with skills."""
    urls: Annotated[list[Url] | None, Mark.UNSUPPORTED] = None
    """Addresses of skills."""


class WatcherSettings(Section):
    """Events about changed files."""

    ignore: list[str] | None = None
    """Patterns of paths, relative to the folder, whose changes by tools are not sent as `file.watcher.updated`: `dist/*`."""


class EnterpriseSettings(Section):
    """A server of your own for shared sessions."""

    url: Url | None = None
    """Its address; `opencode-tui share serve` is such a server."""


class SandboxSettings(Section):
    """What commands may do without a question: they run confined by the operating system."""

    untrusted: ClassVar[Trust | None] = Trust(WEAKENS, unless=(None,))

    mode: Annotated[
        Literal["auto", "off", "read-only"] | None, Trust(WEAKENS, unless=("read-only",)), Default("auto")
    ] = None
    """`auto` confines commands where the system can, `off` never, `read-only` also keeps them from writing in the project."""
    tier: Annotated[Literal["auto", "bubblewrap", "landlock", "none"] | None, Default("auto")] = None
    """How commands are confined; `auto` is the best way that works here."""
    network: Annotated[Literal["off", "hosts", "on"] | None, Trust(WEAKENS, unless=("off",))] = None
    """Whether confined commands have a network: `off`, the `hosts` only, or `on`; by default `hosts` if any."""
    writable: Annotated[list[Text] | None, Trust(WEAKENS, unless=([],))] = None
    """Further files and folders that confined commands may read and write."""
    readable: Annotated[list[Text] | None, Trust(WEAKENS, unless=([],))] = None
    """Further files and folders that confined commands may read."""
    hidden: Annotated[list[Text] | None, HARMLESS, Mark.JOINED] = None
    """Further files and folders that confined commands may not read; lists of several files are joined."""
    hosts: Annotated[list[HostRule] | None, Trust(WEAKENS, unless=([],))] = None
    """Hosts that confined commands may reach over HTTP: names, `*.suffix` or addresses, with or without `:port`."""
    env: Annotated[list[VariableName] | None, Trust(WEAKENS, unless=([],))] = None
    """Variables that commands get although they look like keys or name sockets."""
    auto: Annotated[Literal["inside", "outside"] | None, Trust(WEAKENS, unless=("inside",)), Default("inside")] = None
    """Whether automatic approval also answers yes where a command would leave the sandbox: `inside` (no) or `outside`."""
    memory: Size | None = None
    """Memory that all processes of a command may use together, as `8 GB`, or `none`; by default half of the machine's."""
    processes: Annotated[Count | None, Default(COMMAND_PROCESSES)] = None
    """Processes that a command may have at a time; 0 is no limit."""
    file_size: Size | None = None
    """Size of a file that a command may write, as `20 GB`, or `none`; by default half of what the disk has free."""
    open_files: Annotated[Count | None, Default(COMMAND_OPEN_FILES)] = None
    """Files that each process of a command may have open; 0 is no limit but the system's."""


class ExperimentalSettings(Section):
    """Experimental settings, which may change or be removed."""

    untrusted: ClassVar[Trust | None] = Trust(WEAKENS, unless=(False,))

    disable_paste_summary: Annotated[bool | None, HARMLESS, Default(False)] = None
    """Show a long pasted text in full."""
    batch_tool: Annotated[bool | None, HARMLESS, Mark.UNSUPPORTED] = None
    """Add a tool that calls several tools."""
    openTelemetry: Annotated[bool | None, Trust(SENDS, unless=(False,)), Default(False)] = None
    """Send traces and metrics of turns, requests and tools by OTLP, to OTEL_EXPORTER_OTLP_ENDPOINT; needs the extra `otel`."""
    primary_tools: Annotated[list[Text] | None, HARMLESS] = None
    """Tools that only primary agents have."""
    continue_loop_on_deny: Annotated[bool | None, Default(False)] = None
    """Continue the turn after a rejected call."""
    mcp_timeout: Annotated[Milliseconds | None, HARMLESS] = None
    """Milliseconds to wait for each answer of an MCP server without a `timeout` of its own."""
    mcp_background: Annotated[LongMilliseconds | None, HARMLESS, Default(MCP_BACKGROUND_MS)] = None
    """Milliseconds after which a call of an MCP server goes on in the background."""
    approvals: Annotated[
        Literal["ask", "normal", "auto"] | None, Trust(WEAKENS, unless=("ask",)), Default("normal")
    ] = None
    """How sessions ask at first: for every edit and command, by the rules (`normal`), or `auto`, not at all inside the sandbox."""
    well_known: list[Url] | None = None
    """In managed settings only: addresses of servers whose settings (`/.well-known/opencode`) count for all users, unreviewed."""
    sandbox: SandboxSettings | None = None
    """What commands may do without a question."""
    websearch: Annotated[
        Literal["auto", "brave", "tavily", "provider", "off"] | None, Trust(WEAKENS, unless=("off",)), Default("auto")
    ] = None
    """The service of the websearch tool; `auto` is the first with a key (BRAVE_API_KEY, TAVILY_API_KEY, `auth login brave`).

    `provider` lets Anthropic, OpenAI (Responses) and Gemini 3 search by themselves, which they charge for, where no rule asks about
    or denies searches; other models use the service with a key, or do not search."""
    lsp_diagnostics: Annotated[
        Literal["edit", "turn", "off"] | None, Trust(WEAKENS, unless=("off",)), Default("edit")
    ] = None
    """When the model sees errors that its edits brought: after each `edit`, at the end of the `turn` (at most twice), or never."""


class Settings(Section):
    """All settings, as one object."""

    schema_url: str | None = Field(default=None, alias="$schema")
    """Address of the JSON schema for editors; never fetched."""
    theme: Annotated[Line | None, HARMLESS_TEXT] = None
    """Name of the color theme."""
    keybinds: Annotated[dict[str, str] | None, Trust(REBINDS, unless=NOTHING)] = None
    """Keys by action; `none` switches one off, a comma separates alternatives, <leader> means the leader key."""
    logLevel: Annotated[Literal["DEBUG", "INFO", "WARN", "ERROR"] | None, Default("WARN")] = None
    """Level of the log file."""
    tui: TuiSettings | None = None
    """The screen."""
    server: Annotated[ServerSettings | None, Trust(OPENS, unless=NOTHING), Mark.AT_START] = None
    """Our own HTTP server."""
    command: dict[Name, CommandSettings] | None = None
    """Slash commands by name."""
    skills: Annotated[SkillsSettings | None, Mark.NAMES_FOLDERS] = None
    """Further locations of skills."""
    watcher: WatcherSettings | None = None
    """Events about changed files, for clients of the server."""
    plugin: Annotated[list[Text] | None, Trust(STARTS, unless=NOTHING), Mark.JOINED, Mark.NAMES_FOLDERS] = None
    """Plugins: Python files or modules; lists of several files are joined."""
    hooks: Annotated[dict[HookTrigger, list[HookGroup]] | None, Trust(STARTS, unless=NOTHING, starts_unasked=True)] = (
        None
    )
    """Shell commands that run on events, by event, in Claude Code's format."""
    snapshot: Annotated[bool | SnapshotLimits | None, Trust(WEAKENS, unless=(True,)), Default(True)] = None
    """Record snapshots of files for undo, with these limits."""
    share: Annotated[
        Literal["manual", "auto", "disabled"] | None, Trust(SENDS, unless=("disabled",)), Default("manual")
    ] = None
    """Share sessions when you ask for it, every new one, or never; to the server of `enterprise.url`."""
    autoshare: Annotated[bool | None, Trust(SENDS, unless=(False,)), Former("share")] = None
    """Former name of `share: auto`."""
    autoupdate: Annotated[bool | Literal["notify"] | None, Trust(STARTS, unless=(False, "notify")), Default(False)] = (
        None
    )
    """`notify`: report a newer version on the screen, looked up with pip once a day if it was installed
    from a package index. This program never updates itself."""
    disabled_providers: Annotated[list[Text] | None, Trust(SENDS)] = None
    """Providers that are not used."""
    local_models: Annotated[bool | None, Trust(SENDS, unless=(False,)), Default(True)] = None
    """`false`: never look for servers of models on this machine (Ollama, LM Studio, llama.cpp, vLLM) that no setting names."""
    enabled_providers: Annotated[list[Text] | None, Trust(SENDS)] = None
    """If given, only these providers are used."""
    model: Annotated[ModelName | None, HARMLESS_TEXT] = None
    """The model to use, as provider/model."""
    small_model: Annotated[ModelName | None, HARMLESS_TEXT] = None
    """The model for titles and other small tasks, as provider/model."""
    models: ModelListSettings = Field(default_factory=ModelListSettings.trusted)
    """The lists of models, which are renewed."""
    prompts: dict[Text, PromptName] | None = None
    """System prompts by pattern of models (`provider/model` or a name, with `*`): a built-in one, or your prompts/NAME.md."""
    default_agent: Annotated[Line | None, HARMLESS] = None  # not from a file: which agent it names decides
    """The agent of new sessions; must be a primary agent."""
    username: Annotated[Line | None, HARMLESS_TEXT, Mark.DESCRIPTIVE] = None
    """Your name in conversations, for clients of the server; our screen does not show it."""
    agent: dict[Name, AgentSettings] | None = None
    """Agents by name."""
    mode: Annotated[dict[Name, AgentSettings] | None, Former("agent")] = None
    """Former name of `agent` for primary agents."""
    provider: dict[ProviderName, ProviderSettings] | None = None
    """Providers of models by id."""
    mcp: Annotated[dict[Text, McpSettings] | None, starts_each(unasked=True)] = None
    """MCP servers by name."""
    formatter: Annotated[bool | dict[Text, FormatterSettings] | None, starts_each(), Default(False)] = None
    """Formatters that run on what an edit changed, by name; true for all that are installed, false for none."""
    lsp: Annotated[bool | dict[Text, LspSettings] | None, starts_each(), Default(True)] = None
    """Language servers by name, changes of known ones or further ones; false for none. Installed ones start by themselves."""
    instructions: Annotated[list[Text] | None, Mark.JOINED] = None
    """Further files with instructions, patterns, or addresses; lists of several files are joined."""
    layout: Annotated[Literal["auto", "stretch"] | None, Mark.UNSUPPORTED, Former("")] = None
    """Former setting of the screen; has no effect."""
    permission: dict[str, Action | dict[str, Action]] | None = None
    """Rules: tool to action, or tool to pattern to action, where an action is ask, allow or deny; the last match wins."""
    tools: Annotated[dict[str, bool] | None, Trust(LOOSENS, unless=NOTHING), Former("permission")] = None
    """Former way to enable tools; use `permission`."""
    shell: Annotated[str | None, Trust(STARTS, unless=NOTHING)] = None
    """The bash that runs commands, a path or a name; others are not used, because permissions are decided by its grammar."""
    enterprise: Annotated[EnterpriseSettings | None, Trust(SENDS, unless=NOTHING)] = None
    """A server of your own for shared sessions."""
    compaction: CompactionSettings = Field(default_factory=CompactionSettings.trusted)
    """Automatic compaction and pruning of the context."""
    limits: Annotated[UseLimitSettings, Trust(WEAKENS, unless=NOTHING)] = Field(
        default_factory=UseLimitSettings.trusted
    )
    """Limits of what the program uses."""
    background: Annotated[BackgroundSettings, Trust(WEAKENS, unless=NOTHING)] = Field(
        default_factory=BackgroundSettings.trusted
    )
    """Work that goes on without a terminal."""
    trash: Annotated[TrashSettings, Trust(WEAKENS, unless=NOTHING)] = Field(default_factory=TrashSettings.trusted)
    """Deleted sessions."""
    experimental: ExperimentalSettings | None = None
    """Experimental settings, which may change or be removed."""

    @property
    def snapshot_limits(self) -> tuple[int, int] | None:
        """The bytes of the largest ignored file that undo records and of what it keeps, None where nothing is chosen."""
        limits = self.snapshot
        return (limits.ignored, limits.keep) if isinstance(limits, SnapshotLimits) else None
