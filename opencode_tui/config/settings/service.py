"""Settings of MCP servers, language servers, formatters, and our own server. Source: reference, section 31."""

from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, Tag

from opencode_tui.config.settings.section import (
    Headers,
    Host,
    Milliseconds,
    Off,
    Section,
    Text,
    Url,
    Variables,
    WebOrigin,
    Words,
)


class McpOauthSettings(Section):
    """How to sign in to a remote MCP server."""

    clientId: str | None = None
    """The client's id; dynamic registration without one."""
    clientSecret: str | None = Field(default=None, repr=False)
    """The client's secret."""
    scope: str | None = None
    """Requested scopes."""


class McpLocalSettings(Section):
    """A local MCP server."""

    type: Literal["local"]
    """A program on this machine."""
    command: Words
    """The program and its arguments."""
    environment: Variables | None = Field(default=None, repr=False)
    """Its environment variables."""
    enabled: bool | None = None
    """Start it."""
    timeout: Milliseconds | None = None
    """Milliseconds to wait for its list of tools."""


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
    enabled: bool | None = None
    """Connect to it."""
    timeout: Milliseconds | None = None
    """Milliseconds to wait for its list of tools."""


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
    Discriminator(_mcp_kind),
]


class LspSettings(Section):
    """A language server."""

    disabled: bool | None = None
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

    disabled: bool | None = None
    """Do not use it."""
    command: Words | None = None
    """The program and its arguments; $FILE is replaced by the file."""
    environment: Variables | None = Field(default=None, repr=False)
    """Its environment variables."""
    extensions: list[Text] | None = None
    """File name extensions."""


class ServerSettings(Section):
    """Our own HTTP server."""

    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """The port; 0 means any free port."""
    hostname: Host | None = None
    """The address to listen on; addresses other than loopback need a password."""
    mdns: bool | None = None
    """Announce the server in the local network."""
    mdnsDomain: str | None = None
    """The announced name."""
    cors: list[WebOrigin] | None = None
    """Further allowed origins."""
