"""Names of the HTTP API that server and client share, including those that are not in OpenCode's API."""

DEFAULT_USERNAME = "opencode"
"""The user name of basic authorization."""

OWN = "/opencode-tui"
"""The path prefix of our own routes."""

KIND_HEADER = "x-opencode-tui-error"
"""The class of the exception in an error response; OpenCode's bodies have fewer kinds."""

MESSAGE_HEADER = "x-opencode-tui-message"
"""The id of the stored request, in a response whose body comes later."""
