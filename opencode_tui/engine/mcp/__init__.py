"""MCP servers: their connections, cached lists, tools, prompts and resources."""
