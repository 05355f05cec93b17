"""A session that runs, waits for the user or was stopped, of any folder."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import AnyStatus, SessionInfo
from opencode_tui.schema.totals import SessionTotals

State = Literal["asks", "stopped", "retries", "works"]
"""Of a session; "stopped": its process was killed, or ended with the machine. In the order in which they need the user."""

ORDER: Sequence[State] = ("asks", "stopped", "retries", "works")

Asked = PermissionRequest | QuestionRequest


class Running(Struct, frozen=True):
    """A session that runs, waits or was stopped, with what its subagents do.

    `pid` is its process; `is_reachable` whether that takes answers. `asked` is what waits for the user, oldest first, each with the
    call that asks if known; `last` the newest message; `background` the commands that still run. `branch` is unknown for a process
    that is not reachable.
    """

    info: SessionInfo
    state: State
    pid: int
    is_reachable: bool
    status: AnyStatus
    asked: Sequence[tuple[Asked, ToolPart | None]]
    last: MessageWithParts | None
    background: Sequence[BackgroundCommand]
    totals: SessionTotals
    branch: str | None
