"""An MCP server of the official SDK: `python -m tests.support.mcp.sdk_server stdio`, or `streamable-http PORT`, `sse PORT`.

Its tools are `echo` and `sleep`.
"""

import asyncio
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk")


@server.tool()
def echo(text: str) -> str:
    """Repeat a text."""
    return text


@server.tool()
async def sleep(seconds: float) -> str:
    """Answer later."""
    await asyncio.sleep(seconds)
    return "done"


def main() -> None:
    match sys.argv[1]:
        case "stdio":
            server.run("stdio")
        case "sse":
            server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
        case _:
            server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))


if __name__ == "__main__":
    main()
