"""A session of any folder that runs, waits for the user, was stopped or ended, and what is needed to answer it."""

from collections.abc import Sequence
from typing import Literal

from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.field import Field
from opencode_tui.schema.permission import PermissionReport, PermissionRequest
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo, SessionStatus
from opencode_tui.schema.session.stored_error import EndState
from opencode_tui.schema.totals import SessionTotals

State = Literal["asks", "stopped", "retries", "works"]
"""Of a session; "stopped": its process was killed, or ended with the machine. In the order in which they need the user."""

ORDER: Sequence[State] = ("asks", "stopped", "retries", "works")

Asked = PermissionRequest | QuestionRequest


class Waiting(Record):
    """A permission request or a question of a tool, one of both, with the call that asks if it is known."""

    permission: PermissionRequest | None = absent()
    question: QuestionRequest | None = absent()
    call: ToolPart | None = absent()

    @property
    def asked(self) -> Asked:
        """Return the request."""
        asked = self.permission or self.question
        assert asked is not None
        return asked


class Running(Record):
    """A session that runs, waits or was stopped, with what its subagents do.

    `pid` is its process; `is_reachable` whether that takes answers. `waiting` is what waits for the user, oldest first. `doing` is
    the call that runs, `said` the last line of the newest text, at most `SAID` characters; `background` the commands that still
    run. `branch` is absent for a process that is not reachable. `left` are the folders with what killed agents of the
    session had changed.
    """

    info: SessionInfo
    state: State
    pid: int
    is_reachable: bool
    status: SessionStatus
    waiting: list[Waiting] = Field(default_factory=list[Waiting])
    doing: ToolPart | None = absent()
    said: str = ""
    background: list[BackgroundCommand] = Field(default_factory=list[BackgroundCommand])
    totals: SessionTotals
    branch: str | None = absent()
    left: list[str] = Field(default_factory=list[str])


SAID = 500


class Done(Record):
    """What a session and its subagents did since a moment: turns that went on, changes in lines and files, USD.

    `state` is that of a session that still runs or waits; otherwise how its last turn ended.
    """

    info: SessionInfo
    state: State | EndState
    turns: int
    files: int = 0
    additions: int = 0
    deletions: int = 0
    cost: float = 0


class Ended(Record):
    """A session whose last turn ended at a moment in ms, and how.

    `said` is the error or the last line of the answer, of an interrupted one too, at most `SAID` characters; `cost` that of the
    session in USD.
    """

    info: SessionInfo
    state: EndState
    at: int
    said: str = ""
    cost: float = 0


class InboxView(Record):
    """What runs, waits or was stopped: what needs the user first, then the newest; `silent` are processes that do not respond.

    `ended` are sessions that ended and that the user has not looked at since, the newest first.
    """

    rows: list[Running]
    silent: list[int]
    ended: list[Ended] = Field(default_factory=list[Ended])


class Look(Record):
    """What the user has seen: a session as it is now, or without one all that ended up to a moment in ms."""

    session_id: str | None = absent()
    until: int = 0


class AskedSubject(Record):
    """What a permission request is about, as rules see it."""

    permission: str
    subject: str


class AskedReasons(Record):
    """Why a permission request asks: the rules of its agent, the folders for short paths, and why no sandbox works there.

    `report` is absent when the agent is gone.
    """

    agent: str = ""
    report: PermissionReport | None = absent()
    places: Places
    no_sandbox: str = ""


class StopSession(Record):
    """Whether what a session has started in the background ends too."""

    background: bool = False
