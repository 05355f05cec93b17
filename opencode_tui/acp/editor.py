"""What the sessions of a client send to it and ask it, in the types of version 1 of the protocol."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acp.schema import PermissionOption, RequestPermissionResponse, StopReason, ToolCallUpdate

if TYPE_CHECKING:
    from opencode_tui.acp.updates import Update

Ended = Callable[[], Awaitable[StopReason]]
"""Returns why a turn ended. Raises RequestError for a failure."""


@dataclass(frozen=True, slots=True)
class Editor:
    """The client, by the ID of a session and what it is sent or asked. All raise ConnectionError when the client is gone.

    `session_update` returns when the client's pipe has accepted the update; `request_permission` raises RequestError for an answer
    that is an error. `state_changed` is called when a turn runs, one of another client included, and when none does any more: then
    with what returns why the last one ended.
    """

    session_update: "Callable[[str, Update], Awaitable[None]]"
    request_permission: Callable[[str, ToolCallUpdate, list[PermissionOption]], Awaitable[RequestPermissionResponse]]
    state_changed: Callable[[str, Ended | None], Awaitable[None]]
