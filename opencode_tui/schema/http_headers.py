"""Names of the HTTP API that its two ends share, those below which it says what OpenCode's has no place for among them."""

DEFAULT_USERNAME = "opencode"
"""The user of basic authorization."""

OWN = "/opencode-tui"
"""Routes of ours stand below it."""

KIND_HEADER = "x-opencode-tui-error"
"""Of an answer that is no success: the class of the exception; OpenCode's bodies know fewer kinds."""

MESSAGE_HEADER = "x-opencode-tui-message"
"""Of an answer that is still to come: the id of the request that it answers, which is on disk."""
