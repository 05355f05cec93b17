"""What the sessions of a client send to it and ask it, in the types of version 1 of the protocol."""

from typing import Any, Protocol

from acp.schema import PermissionOption, RequestPermissionResponse, ToolCallUpdate

from opencode_tui.acp.updates import Update


class Editor(Protocol):
    """The client. The connection of the library is one for version 1; that of `v2` translates."""

    async def session_update(self, session_id: str, update: Update, **kwargs: Any) -> None:
        """Send an update; returns when the client's pipe has accepted it. Raises ConnectionError when the client is gone."""
        ...

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse:
        """Ask the client, and wait for its answer. Raises RequestError for one that is an error, and ConnectionError."""
        ...
