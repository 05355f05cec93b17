"""Our messages as OpenCode 2's: its steps hold their parts, and a compaction is one message."""

import json
import os
from collections.abc import Iterable, Mapping

from opencode_tui.extras.opencode2.entries import (
    AGENT_SWITCHED,
    MODEL_SWITCHED,
    Entry,
    asks_for_compaction,
    is_summary,
    is_synthetic,
    written_text,
)
from opencode_tui.extras.opencode2.schema.location import ModelName
from opencode_tui.extras.opencode2.schema.message import (
    AgentSwitchedValue,
    AssistantValue,
    CallTimes,
    CallValue,
    CompactionValue,
    CompletedCall,
    Content,
    ErrorValue,
    FailedCall,
    FileContentValue,
    MessageTimes,
    MessageValue,
    ModelSwitchedValue,
    PendingCall,
    ReasoningValue,
    RunningCall,
    StepSnapshot,
    SyntheticValue,
    TextContent,
    TextValue,
    UserValue,
)
from opencode_tui.extras.opencode2.schema.session import (
    CacheCount,
    GivenAgent,
    PromptFile,
    PromptSource,
    PromptValue,
    TokenCount,
)
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, Tokens
from opencode_tui.schema.session.part import (
    AgentPart,
    AnyPart,
    CompactionPart,
    FilePart,
    PatchPart,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.stored_error import StoredError
from opencode_tui.schema.session.tool_state import (
    ToolStateCompleted,
    ToolStateError,
    ToolStatePending,
    ToolStateRunning,
)

INTERRUPTED = "Provider turn interrupted"


def message_values(
    messages: Iterable[MessageWithParts], choices: Iterable[Entry], ids: Mapping[str, str], hidden: Iterable[str] = ()
) -> list[MessageValue]:
    """Return the messages of a session and its choices of agent and model, oldest first.

    `ids` are the IDs by which clients know messages that were stored under others; `hidden` are left out.
    """
    left_out = set(hidden)
    listed = list(messages)
    summaries = {
        one.info.parent_id: one for one in listed if isinstance(one.info, AssistantMessage) and one.info.summary
    }
    values: list[tuple[int, MessageValue]] = []
    for one in listed:
        if one.info.id in left_out or is_summary(one.info):
            continue
        value = _value(one, ids.get(one.info.id, one.info.id), summaries.get(one.info.id))
        values.append((one.info.time.created, value))
    for entry in choices:
        place = next((at for at, (time, _) in enumerate(values) if time > entry.time), len(values))
        if entry.kind in (AGENT_SWITCHED, MODEL_SWITCHED):
            values.insert(place, (entry.time, choice_value(entry)))
    return [value for _, value in values]


def choice_value(entry: Entry) -> MessageValue:
    """Return the message of a choice."""
    data, time = entry.data or {}, MessageTimes(created=entry.time)
    if entry.kind == AGENT_SWITCHED:
        return AgentSwitchedValue(id=entry.message, time=time, agent=data["agent"])
    return ModelSwitchedValue(id=entry.message, time=time, model=ModelName.model_validate(data["model"]))


def prompt_value(parts: Iterable[AnyPart]) -> PromptValue:
    """Return the prompt that a message of the user holds."""
    listed = list(parts)
    files = [_prompt_file(part) for part in listed if isinstance(part, FilePart)]
    agents = [GivenAgent(name=part.name, source=_agent_source(part)) for part in listed if isinstance(part, AgentPart)]
    text = written_text(listed) or "\n".join(part.prompt for part in listed if isinstance(part, SubtaskPart))
    return PromptValue(text=text, files=files or None, agents=agents or None)


def tokens_value(tokens: Tokens) -> TokenCount:
    """Return the usage of a step."""
    cache = CacheCount(read=tokens.cache.read, write=tokens.cache.write)
    return TokenCount(input=tokens.input, output=tokens.output, reasoning=tokens.reasoning, cache=cache)


def error_text(error: StoredError) -> str:
    """Return what went wrong in a step, in a sentence."""
    if error.name == "MessageAbortedError":
        return INTERRUPTED
    data = getattr(error, "data", None)
    return str(getattr(data, "message", "") or error.name)


def model_of(info: AssistantMessage) -> ModelName:
    """Return the model of a step."""
    return ModelName(id=info.model_id, provider_id=info.provider_id, variant=info.variant)


def snapshot_of(parts: Iterable[AnyPart], root: str) -> StepSnapshot | None:
    """Return the states of the files around a step; None where none was recorded."""
    start = end = None
    files: list[str] = []
    for part in parts:
        match part:
            case StepStartPart():
                start = start or part.snapshot
            case StepFinishPart():
                end = part.snapshot or end
            case PatchPart():
                files += [_relative(str(file), root) for file in part.files]
            case _:
                pass
    if start is None and end is None:
        return None
    return StepSnapshot(start=start, end=end, files=files if end is not None else None)


def call_content(state: ToolStateCompleted) -> list[Content]:
    """Return what a call returned."""
    content: list[Content] = [TextContent(text=state.output)] if state.output else []
    for file in state.attachments or []:
        uri, mime, name = file.get("url"), file.get("mime"), file.get("filename")
        if isinstance(uri, str) and isinstance(mime, str):
            content.append(FileContentValue(uri=uri, mime=mime, name=name if isinstance(name, str) else None))
    return content


def raw_input(part: ToolPart) -> str:
    """Return the arguments of a call as JSON text."""
    if isinstance(part.state, ToolStatePending):
        return part.state.raw
    return _json(part.state.input)


def _value(message: MessageWithParts, message_id: str, summary: MessageWithParts | None) -> MessageValue:
    info = message.info
    time = MessageTimes(created=info.time.created)
    if isinstance(info, AssistantMessage):
        return _assistant(info, message.parts)
    if asks_for_compaction(message):
        is_auto = any(isinstance(part, CompactionPart) and part.auto for part in message.parts)
        text = "" if summary is None else summary_text(summary)
        return CompactionValue(id=message_id, time=time, reason="auto" if is_auto else "manual", summary=text)
    if is_synthetic(message.parts):
        text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
        return SyntheticValue(id=message_id, time=time, session_id=info.session_id, text=text)
    prompt = prompt_value(message.parts)
    return UserValue(id=message_id, time=time, text=prompt.text, files=prompt.files, agents=prompt.agents)


def summary_text(message: MessageWithParts) -> str:
    """Return the text of a summary."""
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def _assistant(info: AssistantMessage, parts: Iterable[AnyPart]) -> AssistantValue:
    listed = list(parts)
    is_over = info.time.completed is not None
    error = None if info.error is None else ErrorValue(message=error_text(info.error))
    return AssistantValue(
        id=info.id,
        time=MessageTimes(created=info.time.created, completed=info.time.completed),
        agent=info.agent or info.mode,
        model=model_of(info),
        content=[value for part in listed if (value := _content(part, info.time.created)) is not None],
        snapshot=snapshot_of(listed, info.path.root),
        finish="error" if error is not None else info.finish,
        cost=info.cost if is_over and error is None else None,
        tokens=tokens_value(info.tokens) if is_over and error is None else None,
        error=error,
    )


def _content(part: AnyPart, created: int) -> TextValue | ReasoningValue | CallValue | None:
    match part:
        case TextPart() if not part.synthetic:
            return TextValue(id=part.id, text=part.text)
        case ReasoningPart():
            time = MessageTimes(created=part.time.start, completed=part.time.end)
            return ReasoningValue(id=part.id, text=part.text, time=time)
        case ToolPart():
            return _call(part, created)
        case _:
            return None


def _call(part: ToolPart, created: int) -> CallValue:
    match part.state:
        case ToolStatePending() as state:
            value, time = PendingCall(input=state.raw), CallTimes(created=created)
        case ToolStateRunning() as state:
            value = RunningCall(input=state.input, structured=state.metadata or {}, content=[])
            time = CallTimes(created=state.time.start, ran=state.time.start)
        case ToolStateCompleted() as state:
            value = CompletedCall(input=state.input, content=call_content(state), structured=state.metadata)
            time = _times(state)
        case ToolStateError() as state:
            value = FailedCall(input=state.input, error=ErrorValue(message=state.error))
            time = _times(state)
    return CallValue(id=part.call_id, name=part.tool, state=value, time=time)


def _times(state: ToolStateCompleted | ToolStateError) -> CallTimes:
    time = state.time
    return CallTimes(created=time.start, ran=time.start, completed=time.end, pruned=time.compacted)


def _prompt_file(part: FilePart) -> PromptFile:
    text = None if part.source is None else part.source.text
    source = None if text is None else PromptSource(start=text.start, end=text.end, text=text.value)
    return PromptFile(uri=part.url, mime=part.mime, name=part.filename, source=source)


def _agent_source(part: AgentPart) -> PromptSource | None:
    source = part.source
    return None if source is None else PromptSource(start=source.start, end=source.end, text=source.value)


def _relative(path: str, root: str) -> str:
    return os.path.relpath(path, root) if path.startswith(root.rstrip("/") + "/") else path


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
