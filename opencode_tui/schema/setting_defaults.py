"""What is in effect where no source of the settings has a value, of settings that are numbers or names of the network.

The settings name them in their rows (`config/settings/`); what applies a setting uses the same constant.
"""

SCROLL_LINES = 3
"""Lines per step of the wheel."""
STATUS_COMMAND_S = 2
"""Seconds that the command of the status line may take."""
HOOK_S = 60
"""Seconds that the command of a hook may take. Source: https://docs.claude.com/en/docs/claude-code/hooks."""
REST_S = 60
"""Seconds that an engine without a terminal waits for one after its last work."""
SERVER_HOST = "127.0.0.1"
SERVER_PORT = 4096
"""Where the HTTP server listens, as OpenCode's does."""
SIGN_IN_PORT = 19876
"""The local port to which a browser returns from a sign-in to an MCP server."""
MCP_BACKGROUND_MS = 120_000
"""Milliseconds after which a call of an MCP server continues in the background."""
CHUNK_TIMEOUT_MS = 300_000
"""Milliseconds without data after which the response of a provider fails."""
COMMAND_PROCESSES = 2_000
"""Processes that a confined command may have at a time."""
COMMAND_OPEN_FILES = 65_536
"""Files that each process of a confined command may have open."""
