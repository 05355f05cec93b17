"""Subtasks of a request: the loop starts agents itself before it calls the model. Source: reference, section 29.

They run as parallel task calls of an assistant message; their reports are the results. After those of a slash command
a synthetic user message asks the model to report the results.
"""

from collections.abc import Sequence

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.engine.session.step.processor import Outcome, StepProcessor, StepServices
from opencode_tui.engine.session.step.tool_calls import CallScope
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, MessageTime, UserMessage
from opencode_tui.schema.session.part import SubtaskPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStatePending


def find_request_with_subtasks(messages: Sequence[MessageWithParts]) -> MessageWithParts | None:
    """Return the oldest request whose subtasks have not been started, None without one."""
    answered = {message.info.parent_id for message in messages if isinstance(message.info, AssistantMessage)}
    for message in messages:
        if isinstance(message.info, UserMessage) and message.info.id not in answered and subtasks_of(message):
            return message
    return None


def subtasks_of(request: MessageWithParts) -> list[SubtaskPart]:
    """Return the subtasks of a request, in order."""
    return [part for part in request.parts if isinstance(part, SubtaskPart)]


async def run_subtasks(
    step: StepProcessor, request: MessageWithParts, scope: CallScope, services: StepServices
) -> Outcome:
    """Run the subtasks of a request in the step's message; returns `stop` when the user rejected a call."""
    tasks = subtasks_of(request)
    outcome = await step.run_calls([_call(task, step, services.identifier) for task in tasks], scope)
    if outcome == "continue" and any(task.command for task in tasks) and isinstance(request.info, UserMessage):
        await _ask_for_report(request.info, services)
    return outcome


def _call(task: SubtaskPart, step: StepProcessor, identifier: Identifier) -> tuple[ToolPart, ToolCall]:
    call_id = identifier.ascending("tool")
    arguments = {"description": task.description, "prompt": task.prompt, "subagent_type": task.agent}
    if task.command:
        arguments["command"] = task.command
    part = ToolPart(
        id=identifier.ascending("prt"),
        session_id=step.message.session_id,
        message_id=step.message.id,
        call_id=call_id,
        tool="task",
        state=ToolStatePending(input=arguments),
    )
    return part, ToolCall(call_id, "task", arguments)


async def _ask_for_report(request: UserMessage, services: StepServices) -> None:
    message = request.changed(
        id=services.identifier.ascending("msg"), time=MessageTime(created=services.clock()), summary=None
    )
    text = TextPart(
        id=services.identifier.ascending("prt"),
        session_id=message.session_id,
        message_id=message.id,
        text=read_prompt("subtask_report"),
        synthetic=True,
    )
    await services.store.update_message(message)
    await services.store.update_part(text)
