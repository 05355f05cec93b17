"""The states of a tool call, and the functions for its transitions.

    pending ──start──▶ running ──complete──▶ completed
       │                  │ ▲ progress
       └──────fail────────┴─┴──────fail────▶ error

`completed` and `error` are final; a completed output can be marked as pruned and restored.
Source: docs/internals/session.md#tool-calls.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, ValidationError, convert

from opencode_tui.schema.error import (
    ApprovalUnavailableError,
    CommandRefusedError,
    DeniedError,
    MissingFileError,
    OutsideRefusedError,
    QuestionDismissedError,
    RejectedError,
    ToolError,
)
from opencode_tui.schema.field import Field
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent

ABORTED_TOOL = "Tool execution aborted"
"""The error of an interrupted call. Source: docs/internals/session.md#tool-calls."""

StopReason = Literal["interrupted", "rejected", "denied"]
"""Why a call was not executed: the user interrupted or rejected it, or a rule denies it."""

_STOP_REASON = "stopReason"
"""The key in the metadata of an error state."""


class ToolTime(Record):
    """Milliseconds since 1970; `compacted` is when the output was pruned.

    `waited` ms of it passed until the user replied, or files were recorded for undo: `recorded` ms of these.
    """

    start: int
    end: int | None = absent()
    compacted: int | None = absent()
    waited: int | None = absent()
    recorded: int | None = absent()

    def worked(self, now: int) -> int:
        """Return for how many ms the call ran until its end, or until now, without the wait for the user."""
        return max(0, (now if self.end is None else self.end) - self.start - (self.waited or 0))


class ToolStatePending(Record):
    """The model has started to write the call; its input is not complete."""

    status: Literal["pending"] = "pending"
    input: dict[str, Any] = Field(default_factory=dict[str, Any])
    raw: str = ""


class ToolStateRunning(Record):
    """The call runs; `title` and `metadata` are its progress for the screen."""

    status: Literal["running"] = "running"
    input: dict[str, Any]
    time: ToolTime
    title: str | None = absent()
    metadata: dict[str, Any] | None = absent()


class ToolStateCompleted(Record):
    """The call is done; `output` is what the model reads."""

    status: Literal["completed"] = "completed"
    input: dict[str, Any]
    output: str
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    time: ToolTime
    attachments: list[dict[str, Any]] | None = absent()


WORK = "work"
"""The key in the metadata of a call that started an agent: between which messages of the agent's session its work is."""

RECORDING = "recording"
"""The key of metadata that says whether the files are being recorded before or after a call, for undo."""

KEPT_LINES = "lines"
"""The key in the metadata of a completed call for the `KeptLines` of an output that was cut."""


class KeptLines(Struct, frozen=True):
    """How many lines an output had in `total`, and how many of the `first` and the `last` of them are left."""

    total: int
    first: int
    last: int = 0


def kept_lines_of(metadata: Mapping[str, object]) -> KeptLines | None:
    """Return which lines of an output are left; None of a whole one, and in records of older and of other programs."""
    try:
        return convert(metadata.get(KEPT_LINES), KeptLines)
    except ValidationError:
        return None


class ErrorDetails(Record):
    """What an error is about, for sentences to the user; absent in records of other and of older programs.

    Of a rejection `subject` is what permission was asked for, as `to repeat read: …` (empty for the call itself), `dismissed` that
    it was a question of the agent, `feedback` what the user said. `unasked`: the call needed approval, and there was nobody to ask.
    `rule` denies the call; its permission is the one that was asked for; `built_in`: it is a rule of the program. `nearest` are
    paths with similar names where the path of the call does not exist, best first. `problem` is the error without the advice for
    the model that its text has too.
    """

    subject: str | None = absent()
    dismissed: bool | None = absent()
    feedback: str | None = absent()
    unasked: bool | None = absent()
    rule: Rule | None = absent()
    built_in: bool | None = absent()
    nearest: list[str] | None = absent()
    problem: str | None = absent()


NO_DETAILS = ErrorDetails.trusted()


def details_of(error: Exception) -> ErrorDetails:
    """Return what an error is about."""
    match error:
        case QuestionDismissedError():
            return ErrorDetails(dismissed=True)
        case RejectedError():
            return ErrorDetails(subject=error.subject, feedback=error.feedback or None)
        case ApprovalUnavailableError():
            return ErrorDetails(unasked=True)
        case OutsideRefusedError():
            return ErrorDetails(unasked=True, problem=error.problem)
        case DeniedError():
            rule = Rule(permission=error.permission, pattern=error.rule.pattern, action="deny")
            return ErrorDetails(rule=rule, built_in=error.rule.is_built_in or None)
        case MissingFileError():
            return ErrorDetails(nearest=list(error.nearest))
        case CommandRefusedError() if error.advice:
            return ErrorDetails(problem=error.problem)
        case ToolError() if error.advice:
            return ErrorDetails(problem=f"{error.problem}{error.below}")
        case _:
            return NO_DETAILS


class ToolStateError(ErrorDetails):
    """The call failed or was rejected; `error` is what the model reads."""

    status: Literal["error"] = "error"
    input: dict[str, Any] = Field(default_factory=dict[str, Any])
    error: str
    time: ToolTime
    metadata: dict[str, Any] | None = absent()

    @property
    def stop_reason(self) -> StopReason | None:
        """Return why the call was not executed; None for one that failed. For records of OpenCode, derived from the text."""
        given = (self.metadata or {}).get(_STOP_REASON)
        if given in get_args(StopReason):
            return given
        if self.error.startswith(ABORTED_TOOL):
            return "interrupted"
        return "rejected" if self.error.startswith("The user rejected permission") else None


ToolStateUnion = ToolStatePending | ToolStateRunning | ToolStateCompleted | ToolStateError


class ToolTransitionError(ValueError):
    """A tool state was asked to take a step that its machine does not have."""

    def __init__(self, state: ToolStateUnion, step: str) -> None:
        super().__init__(f"a tool call that is {state.status} cannot {step}")


def start(state: ToolStateUnion, *, input: dict[str, Any], now: int) -> ToolStateRunning:
    """Return the running state; only a pending call can start."""
    if not isinstance(state, ToolStatePending):
        raise ToolTransitionError(state, "start")
    return ToolStateRunning(input=input, time=ToolTime(start=now))


def progress(
    state: ToolStateUnion, *, title: str | None = None, metadata: dict[str, Any] | None = None
) -> ToolStateRunning:
    """Return the running state with new facts for the screen; the start time stays."""
    if not isinstance(state, ToolStateRunning):
        raise ToolTransitionError(state, "report progress")
    return state.changed(
        title=title if title is not None else state.title,
        metadata={**(state.metadata or {}), **metadata} if metadata is not None else state.metadata,
    )


def wait(state: ToolStateUnion, *, waited: int, is_recording: bool = False) -> ToolStateRunning:
    """Return the running state with `waited` more ms that are not the call's own: of waiting for the user, or recording files."""
    if not isinstance(state, ToolStateRunning):
        raise ToolTransitionError(state, "wait")
    time = state.time.changed(waited=(state.time.waited or 0) + waited)
    return state.changed(time=time.changed(recorded=(time.recorded or 0) + waited) if is_recording else time)


def complete(
    state: ToolStateUnion,
    *,
    output: str,
    title: str,
    metadata: dict[str, Any],
    now: int,
    attachments: list[dict[str, Any]] | None = None,
) -> ToolStateCompleted:
    """Return the completed state; only a running call can complete."""
    if not isinstance(state, ToolStateRunning):
        raise ToolTransitionError(state, "complete")
    return ToolStateCompleted(
        input=state.input,
        output=output,
        title=title,
        metadata=metadata,
        time=state.time.changed(end=now),
        attachments=attachments or None,
    )


def fail(
    state: ToolStateUnion,
    *,
    error: str,
    now: int,
    metadata: dict[str, Any] | None = None,
    stop_reason: StopReason | None = None,
    details: ErrorDetails = NO_DETAILS,
) -> ToolStateError:
    """Return the error state of a call that has not ended yet; its metadata is kept."""
    if stop_reason is not None:
        metadata = {**(metadata or {}), _STOP_REASON: stop_reason}
    match state:
        case ToolStatePending():
            time, kept = ToolTime(start=now, end=now), metadata
        case ToolStateRunning():
            time, kept = state.time.changed(end=now), {**(state.metadata or {}), **(metadata or {})} or None
        case _:
            raise ToolTransitionError(state, "fail")
    return ToolStateError(
        input=state.input,
        error=error,
        time=time,
        metadata=kept,
        subject=details.subject,
        dismissed=details.dismissed,
        feedback=details.feedback,
        unasked=details.unasked,
        rule=details.rule,
        built_in=details.built_in,
        nearest=details.nearest,
        problem=details.problem,
    )


def prune(state: ToolStateUnion, *, now: int) -> ToolStateCompleted:
    """Return a completed state whose output is no longer sent to the model; the output itself is kept."""
    if not isinstance(state, ToolStateCompleted):
        raise ToolTransitionError(state, "be pruned")
    return state.changed(time=state.time.changed(compacted=now))


def restore(state: ToolStateUnion) -> ToolStateCompleted:
    """Return a completed state whose output is sent again; `metadata.keep` excludes it from later pruning."""
    if not isinstance(state, ToolStateCompleted):
        raise ToolTransitionError(state, "be restored")
    return state.changed(time=state.time.changed(compacted=None), metadata={**state.metadata, "keep": True})
