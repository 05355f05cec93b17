"""MCP servers: their connections, cached lists, tools, prompts and resources.

Only `sdk.py` and `sdk_oauth.py` import the SDK, on a thread, when a server starts. A token is only sent to the address it was
issued for. No request and no frame waits for a server; a changed list takes effect at a user message. Start at `servers.py`,
`server.py` and `tools.py` (the calls and what they ask); guards: `tests/engine/mcp/`, an import contract,
`bench_mcp_conformance`, `bench_mcp_real`.
"""
