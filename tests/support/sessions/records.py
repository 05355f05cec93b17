"""Sessions, messages and parts for tests, with as few words as possible; ids count up, so that order is plain.

    answer = assistant("I look.", call("1", "bash", given={"command": "ls"}), parent=request, finish="tool-calls")
    write_records(paths, session_info(), [request, answer])

A message owns the parts that it is given; texts given as `str` have later ids than the others.
Fields that are not named here are those of the record.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.model import Limit, Model
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, MessagePath, MessageTime, UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    PartTime,
    PatchPart,
    ReasoningPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import SessionInfo, SessionTime
from opencode_tui.schema.session.tool_state import (
    ToolStateCompleted,
    ToolStateError,
    ToolStatePending,
    ToolStateRunning,
    ToolTime,
)
from opencode_tui.storage.paths import Paths

SESSION = "ses_test"
MODEL = Model(provider_id="fake", model_id="fake-model", adapter="openai", limit=Limit(context=100_000, output=8_000))
_numbers = count(1)
_session_ids = Identifier()


def new_id(prefix: str) -> str:
    return f"{prefix}_{next(_numbers):012x}00000000000000"


def session_info(session_id: str = "ses_1", *, created: int = 1, updated: int = 1, **fields: Any) -> SessionInfo:
    info = SessionInfo(
        id=session_id,
        version="1",
        project_id="global",
        directory="/p",
        title="a title",
        time=SessionTime(created=created, updated=updated),
    )
    return info.changed(**fields)


def owner(message_id: str = "msg_x") -> dict[str, Any]:
    return {"id": new_id("prt"), "session_id": SESSION, "message_id": message_id}


def text(content: str, **fields) -> TextPart:
    return TextPart(**owner(), text=content, **fields)


def reasoning(content: str, *, start: int = 1, end: int = 2, **fields) -> ReasoningPart:
    return ReasoningPart(**owner(), text=content, time=PartTime(start=start, end=end), **fields)


def step_start(**fields) -> StepStartPart:
    return StepStartPart(**owner(), **fields)


def compaction(**fields) -> CompactionPart:
    return CompactionPart(**owner(), auto=True, **fields)


def image(data: str = "iVBOR", name: str = "a.png") -> FilePart:
    return FilePart(**owner(), mime="image/png", filename=name, url=f"data:image/png;base64,{data}")


def call(
    call_id: str,
    tool: str = "read",
    *,
    status: str = "completed",
    given: dict[str, Any] | None = None,
    output: str = "out",
    title: str = "",
    details: dict[str, Any] | None = None,
    start: int = 1,
    end: int = 2,
    pruned: bool = False,
    **fields,
) -> ToolPart:
    """Return a call; `details` is the metadata of its state."""
    given = {"filePath": "a"} if given is None else given
    time = ToolTime(start=start, end=end, compacted=end + 1 if pruned else None)
    state = {
        "pending": ToolStatePending(),
        "running": ToolStateRunning(input=given, time=ToolTime(start=start), metadata=details),
        "completed": ToolStateCompleted(input=given, output=output, title=title, metadata=details or {}, time=time),
        "error": ToolStateError(input=given, error=output, time=time),
    }[status]
    return ToolPart(**owner(), call_id=call_id, tool=tool, state=state, **fields)


def user(*parts: AnyPart | str, **fields) -> MessageWithParts:
    message = UserMessage(
        id=new_id("msg"), session_id=SESSION, time=MessageTime(created=1), agent="build", model=MODEL.ref
    )
    return _owning(message.changed(**fields), parts)


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
    return _owning(message.changed(**fields), parts)


def _owning(info: UserMessage | AssistantMessage, parts: Sequence[AnyPart | str]) -> MessageWithParts:
    made = [text(part) if isinstance(part, str) else part for part in parts]
    return with_parts(info, [part.changed(message_id=info.id, session_id=info.session_id) for part in made])


def write_records(paths: Paths, info: SessionInfo, messages: Iterable[MessageWithParts]) -> None:
    """Write a session with its messages and parts straight to the disk."""
    _write(paths.storage / "session" / info.project_id, info)
    for message in messages:
        _write(paths.storage / "message" / info.id, message.info)
        for part in message.parts:
            _write(paths.storage / "part" / message.info.id, part)


def write_session(paths: Paths, *, turns: int, **fields: Any) -> str:
    """Write a session of so many turns, a request of one part and an answer of three each; return its id."""
    info = session_info(_session_ids.descending("ses"), title="deep", **fields)
    write_records(paths, info, (one for number in range(turns) for one in _turn(info.id, number)))
    return info.id


def _turn(session_id: str, number: int) -> list[MessageWithParts]:
    request = user(f"request {number}", session_id=session_id, time=MessageTime(created=number))
    answer = assistant(
        step_start(snapshot="a" * 40),
        text(f"answer {number}"),
        PatchPart(**owner(), hash="a" * 40, after="b" * 40, files=["/p/a.py"]),
        parent=request,
        session_id=session_id,
        time=MessageTime(created=number, completed=number),
    )
    return [request, answer]


def _write(folder: Path, record: SessionInfo | UserMessage | AssistantMessage | AnyPart) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{record.id}.json").write_bytes(record.to_json())
