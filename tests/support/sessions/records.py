"""Records for tests, with as few words as possible; ids count up, so that order is plain."""

from itertools import count
from typing import Any

from opencode_tui.schema.model import Limit, Model, ModelRef
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, MessagePath, MessageTime, UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    PartTime,
    ReasoningPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.tool_state import (
    ToolStateCompleted,
    ToolStateError,
    ToolStatePending,
    ToolStateRunning,
    ToolTime,
)

SESSION = "ses_test"
MODEL = Model(provider_id="fake", model_id="fake-model", adapter="openai", limit=Limit(context=100_000, output=8_000))
_numbers = count(1)


def new_id(prefix: str) -> str:
    return f"{prefix}_{next(_numbers):012x}00000000000000"


def owner(message_id: str = "msg_x") -> dict[str, Any]:
    return {"id": new_id("prt"), "session_id": SESSION, "message_id": message_id}


def text(content: str, **fields) -> TextPart:
    return TextPart(**owner(), text=content, **fields)


def reasoning(content: str, **fields) -> ReasoningPart:
    return ReasoningPart(**owner(), text=content, time=PartTime(start=1, end=2), **fields)


def step_start() -> StepStartPart:
    return StepStartPart(**owner())


def compaction(**fields) -> CompactionPart:
    return CompactionPart(**owner(), auto=True, **fields)


def image(data: str = "iVBOR", name: str = "a.png") -> FilePart:
    return FilePart(**owner(), mime="image/png", filename=name, url=f"data:image/png;base64,{data}")


def call(
    call_id: str, tool: str = "read", *, status: str = "completed", output: str = "out", pruned: bool = False, **fields
) -> ToolPart:
    given = {"filePath": "a"}
    time = ToolTime(start=1, end=2, compacted=3 if pruned else None)
    state = {
        "pending": ToolStatePending(),
        "running": ToolStateRunning(input=given, time=ToolTime(start=1)),
        "completed": ToolStateCompleted(input=given, output=output, time=time),
        "error": ToolStateError(input=given, error=output, time=time),
    }[status]
    return ToolPart(**owner(), call_id=call_id, tool=tool, state=state, **fields)


def user(*parts: AnyPart | str, model: ModelRef | None = None, **fields) -> MessageWithParts:
    message = UserMessage(
        id=new_id("msg"),
        session_id=SESSION,
        time=MessageTime(created=1),
        agent="build",
        model=model or MODEL.ref,
        **fields,
    )
    return with_parts(message, [text(part) if isinstance(part, str) else part for part in parts])


def assistant(
    *parts: AnyPart | str, parent: MessageWithParts | None = None, finish: str | None = "stop", **fields
) -> MessageWithParts:
    message = AssistantMessage(
        id=new_id("msg"),
        session_id=SESSION,
        parent_id=parent.info.id if parent else "msg_parent",
        model_id=MODEL.model_id,
        provider_id=MODEL.provider_id,
        mode="build",
        agent="build",
        path=MessagePath(cwd="/p", root="/p"),
        time=MessageTime(created=1, completed=2),
        finish=finish,
    )
    return with_parts(message.changed(**fields), [text(part) if isinstance(part, str) else part for part in parts])
