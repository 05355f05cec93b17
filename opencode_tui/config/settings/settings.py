"""All keys of the settings with their types: OpenCode's and our own.

A key that is absent in all sources is None, or the default of its section. Source: reference, section 31.
"""

from typing import Annotated, Literal

from pydantic import Field

from opencode_tui.config.settings.agent import AgentSettings, CommandSettings
from opencode_tui.config.settings.provider import ProviderSettings
from opencode_tui.config.settings.section import (
    Action,
    HostRule,
    Line,
    Milliseconds,
    ModelName,
    Name,
    Off,
    ProviderName,
    Section,
    Text,
    Tokens,
    Url,
    VariableName,
)
from opencode_tui.config.settings.service import FormatterSettings, LspSettings, McpSettings, ServerSettings

DEFAULT_PREPARE = 0.75
"""Share of the usable context from which a summary is prepared. Source: SPEC, section 3."""


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


class ScrollAccelerationSettings(Section):
    """Accelerated scrolling."""

    enabled: bool | None = None
    """Use it."""


class TuiSettings(Section):
    """The screen."""

    scroll_speed: Annotated[float, Field(ge=0.001, le=100)] | None = None
    """Lines per step of the wheel."""
    scroll_acceleration: ScrollAccelerationSettings | None = None
    """Accelerated scrolling."""
    diff_style: Literal["auto", "stacked"] | None = None
    """Show changes side by side where there is space, or always stacked."""
    reduced_motion: bool | None = None
    """Disable animations."""
    ascii: bool | None = None
    """ASCII glyphs only, also where the terminal shows UTF-8."""


class SkillsSettings(Section):
    """Further locations of skills."""

    paths: list[Text] | None = None
    """Further folders with skills."""
    urls: list[Url] | None = None
    """Addresses of skills."""


class WatcherSettings(Section):
    """Watching files for changes."""

    ignore: list[str] | None = None
    """Patterns of paths that are not watched."""


class EnterpriseSettings(Section):
    """A company's own service."""

    url: Url | None = None
    """Its address."""


class SandboxSettings(Section):
    """What commands may do without a question: they run confined by the operating system."""

    mode: Literal["auto", "off", "read-only"] | None = None
    """`auto` confines commands where the system can, `off` never, `read-only` also keeps them from writing in the project."""
    tier: Literal["auto", "bubblewrap", "landlock", "none"] | None = None
    """How commands are confined; `auto` is the best way that works here."""
    network: Literal["off", "hosts", "on"] | None = None
    """Whether confined commands have a network: `off`, the `hosts` only, or `on`; by default `hosts` if any."""
    writable: list[Text] | None = None
    """Further files and folders that confined commands may read and write."""
    readable: list[Text] | None = None
    """Further files and folders that confined commands may read."""
    hidden: list[Text] | None = None
    """Further files and folders that confined commands may not read; lists of several files are joined."""
    hosts: list[HostRule] | None = None
    """Hosts that confined commands may reach over HTTP: names, `*.suffix` or addresses, with or without `:port`."""
    env: list[VariableName] | None = None
    """Variables that commands get although they look like keys or name sockets."""
    auto: Literal["inside", "outside"] | None = None
    """Whether automatic approval also answers yes where a command would leave the sandbox: `inside` (the default) or `outside`."""


class ExperimentalSettings(Section):
    """Experimental settings, which may change or be removed."""

    disable_paste_summary: bool | None = None
    """Show a long pasted text in full."""
    batch_tool: bool | None = None
    """Add a tool that calls several tools."""
    openTelemetry: bool | None = None
    """Send traces."""
    primary_tools: list[Text] | None = None
    """Tools that only primary agents have."""
    continue_loop_on_deny: bool | None = None
    """Continue the turn after a rejected call."""
    mcp_timeout: Milliseconds | None = None
    """Milliseconds to wait for an MCP server."""
    approvals: Literal["ask", "normal", "auto"] | None = None
    """How sessions ask at first: for every edit and command, by the rules (`normal`), or `auto`, not at all inside the sandbox."""
    sandbox: SandboxSettings | None = None
    """What commands may do without a question."""


class Settings(Section):
    """All settings, as one object."""

    schema_url: str | None = Field(default=None, alias="$schema")
    """Address of the JSON schema for editors; never fetched."""
    theme: Line | None = None
    """Name of the color theme."""
    keybinds: dict[str, str] | None = None
    """Keys by action; `none` switches one off, a comma separates alternatives, <leader> means the leader key."""
    logLevel: Literal["DEBUG", "INFO", "WARN", "ERROR"] | None = None
    """Level of the log file."""
    tui: TuiSettings | None = None
    """The screen."""
    server: ServerSettings | None = None
    """Our own HTTP server."""
    command: dict[Name, CommandSettings] | None = None
    """Slash commands by name."""
    skills: SkillsSettings | None = None
    """Further locations of skills."""
    watcher: WatcherSettings | None = None
    """Watching files for changes."""
    plugin: list[Text] | None = None
    """Plugins: Python files or modules; lists of several files are joined."""
    snapshot: bool | None = None
    """Record snapshots of files for undo; on by default."""
    share: Literal["manual", "auto", "disabled"] | None = None
    """Share sessions manually, automatically, or never (not supported yet)."""
    autoshare: bool | None = None
    """Former name of `share: auto`."""
    autoupdate: bool | Literal["notify"] | None = None
    """Look for newer versions."""
    disabled_providers: list[Text] | None = None
    """Providers that are not used."""
    enabled_providers: list[Text] | None = None
    """If given, only these providers are used."""
    model: ModelName | None = None
    """The model to use, as provider/model."""
    small_model: ModelName | None = None
    """The model for titles and other small tasks, as provider/model."""
    default_agent: Line | None = None
    """The agent of new sessions; must be a primary agent."""
    username: Line | None = None
    """Your name in conversations, for clients of the server."""
    agent: dict[Name, AgentSettings] | None = None
    """Agents by name."""
    mode: dict[Name, AgentSettings] | None = None
    """Former name of `agent` for primary agents."""
    provider: dict[ProviderName, ProviderSettings] | None = None
    """Providers of models by id."""
    mcp: dict[Text, McpSettings] | None = None
    """MCP servers by name."""
    formatter: bool | dict[Text, FormatterSettings] | None = None
    """Formatters by name, or false for none."""
    lsp: bool | dict[Text, LspSettings] | None = None
    """Language servers by name, or false for none."""
    instructions: list[Text] | None = None
    """Further files with instructions, patterns, or addresses; lists of several files are joined."""
    layout: Literal["auto", "stretch"] | None = None
    """Former setting of the screen; has no effect."""
    permission: dict[str, Action | dict[str, Action]] | None = None
    """Rules: tool to action, or tool to pattern to action, where an action is ask, allow or deny; the last match wins."""
    tools: dict[str, bool] | None = None
    """Former way to enable tools; use `permission`."""
    shell: str | None = None
    """The shell that runs commands."""
    enterprise: EnterpriseSettings | None = None
    """A company's own service."""
    compaction: CompactionSettings = Field(default_factory=CompactionSettings.model_construct)
    """Automatic compaction and pruning of the context."""
    experimental: ExperimentalSettings | None = None
    """Experimental settings, which may change or be removed."""


UNSUPPORTED = (
    "mcp", "lsp", "formatter", "share", "autoupdate", "watcher", "enterprise", "layout", "shell", "skills.urls",
    "server.mdns", "server.mdnsDomain", "experimental.openTelemetry", "experimental.batch_tool", "experimental.mcp_timeout",
    "provider.*.options.setCacheKey", "provider.*.models.*.interleaved",
)  # fmt: skip
"""OpenCode's keys that are not supported yet; each is reported once when its value would have an effect."""

FORMER = ("autoshare", "mode", "tools", "agent.*.tools", "agent.*.maxSteps")
"""Former names of other keys, which still work."""

DESCRIPTIVE = (
    *(f"provider.*.models.*.{name}" for name in ("family", "release_date", "status", "experimental", "modalities")),
    "username",
    "agent.*.color",
)
"""Keys that describe a model, a user or an agent to clients of the server; they have no effect in this program."""

SILENT_VALUES = (False, None, "disabled", "manual")
"""Values of an unsupported key that would have no effect, like empty objects and lists."""
