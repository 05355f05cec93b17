"""MCP servers, their tools, prompts and resources, as the API returns them."""

from typing import Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, Record, absent

McpState = Literal["disabled", "known", "starting", "connected", "failed", "needs_auth", "needs_client_registration"]
"""The state of a server; `known`: its lists are known, and it starts on its first call."""

SignInState = Literal["none", "signed_in", "expired"]
"""Whether there is a token for a server."""


class McpServerStatus(Record):
    """An MCP server. `tokens` estimates the schemas of its tools; `output` are the last lines of its standard error.

    `error` says why it failed, or that it is connected and does not answer, `retry_in` after how many milliseconds its next call
    starts it again. `target` is its command or address, without secrets. `is_listed`: its lists are known. `sign_in` is absent
    where there is no sign-in; `expired`: the user must sign in again. `faults` name the parts of its answers that are left out.
    """

    name: str
    kind: Literal["local", "remote"]
    state: McpState
    target: str
    error: str | None = absent()
    retry_in: int | None = absent()
    tools: int = 0
    tokens: int = 0
    prompts: int = 0
    resources: int = 0
    is_listed: bool = False
    instructions: str | None = absent()
    sign_in: SignInState | None = absent()
    output: list[str] = Field(default_factory=list[str])
    faults: list[str] = Field(default_factory=list[str])

    def opencode_status(self) -> JsonObject:
        """Return the status as OpenCode's clients know it, which have no word for a server that is starting."""
        match self.state:
            case "connected" if self.error:
                return {"status": "failed", "error": self.error}
            case "known" | "connected":
                return {"status": "connected"}
            case "disabled" | "needs_auth":
                return {"status": self.state}
            case "starting":
                return {"status": "failed", "error": "still starting"}
            case "failed" | "needs_client_registration":
                return {"status": self.state, "error": self.error or "the server failed"}


LISTS_S = 30.0
"""Seconds that a turn without a screen waits for servers whose tools are not known yet: as long as one may start."""


class McpWait(Record):
    """How many seconds the lists of servers are waited for."""

    seconds: float


class McpTool(Record):
    """A tool of an MCP server. `name` is the server's own name of it, `id` the one by which the model and rules name it."""

    id: str
    name: str
    server: str
    description: str = ""
    parameters: JsonObject
    tokens: int = 0


class McpArgument(Record):
    """An argument of a prompt."""

    name: str
    description: str | None = absent()
    required: bool = False


class McpPrompt(Record):
    """A prompt of an MCP server."""

    name: str
    server: str
    description: str | None = absent()
    arguments: list[McpArgument] = Field(default_factory=list[McpArgument])


class McpResource(Record):
    """A resource of an MCP server; `client` is the server's name."""

    name: str
    uri: str
    description: str | None = absent()
    mime_type: str | None = absent()
    client: str


class McpAdd(Record):
    """A server to add until the folder is closed; `config` as in the settings."""

    name: str = Field(min_length=1)
    config: dict[str, Any]


class McpStore(McpAdd):
    """A server to write into the user's settings, or into those of the folder."""

    is_global: bool = True


class StoredIn(Record):
    """The file that something was written to."""

    file: str


class McpSignIn(Record):
    """A sign-in that has begun: the address to open in a browser, empty where the server demands no sign-in."""

    authorization_url: str


class McpSignInCode(Record):
    """The code that the browser brought back, or the whole address to which it was sent."""

    code: str = Field(min_length=1, max_length=8_192)


class McpCall(Record):
    """A call of a tool by the user, by the server's own name of it."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
