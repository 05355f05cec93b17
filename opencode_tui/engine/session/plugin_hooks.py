"""The plugin hooks inside a turn: the input of each, and how its answer is applied.

Every function returns its argument when no plugin has the hook, or when the answer is invalid. Names and shapes are
OpenCode's: docs/internals/tools.md#plugins.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal, cast

from msgspec.structs import replace

from opencode_tui.engine.plugin.hooks import HookName, Hooks
from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.tool.tool import ToolContext, ToolResult
from opencode_tui.schema.api.request import CommandInput, PromptPart
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.record import JsonObject, Reader, ValidationError
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, Part, TextPart

_REQUEST_HOOKS: tuple[HookName, ...] = ("chat.params", "chat.headers", "experimental.chat.system.transform")


async def change_message(hooks: Hooks, message: UserMessage, parts: list[AnyPart]) -> tuple[UserMessage, list[AnyPart]]:
    """`chat.message`: return the request and its parts to store; their ids do not change."""
    if not hooks.has("chat.message"):
        return message, parts
    given = {
        "sessionID": message.session_id,
        "messageID": message.id,
        "agent": message.agent,
        "model": message.model.to_dict(),
        "variant": message.variant,
    }
    output = {"message": message.to_dict(), "parts": [part.to_dict() for part in parts]}
    changed = await hooks.run("chat.message", given, output)
    new_message = _parsed_answer(hooks, "chat.message", UserMessage, changed.get("message"))
    new_parts = _parsed_answer(hooks, "chat.message", list[Part], changed.get("parts"))
    if new_message is None or new_parts is None:
        return message, parts
    owner = {"session_id": message.session_id, "message_id": message.id}
    kept = new_message.changed(id=message.id, session_id=message.session_id)
    return kept, [part.changed(**owner) for part in new_parts]


async def change_request(hooks: Hooks, request: LlmRequest, user: UserMessage, agent: str) -> LlmRequest:
    """`chat.params`, `chat.headers`, `experimental.chat.system.transform`: return the request to send."""
    if not any(hooks.has(name) for name in _REQUEST_HOOKS):
        return request  # the model's fields as JSON cost 1.5 ms the first time
    given = {
        "sessionID": user.session_id,
        "agent": agent,
        "model": request.model.to_dict(),
        "provider": {"id": request.model.provider_id},
        "message": user.to_dict(),
    }
    fields: dict[str, Any] = {}
    if hooks.has("chat.params"):
        fields |= await _params(hooks, request, given)
    if hooks.has("chat.headers"):
        headers = (await hooks.run("chat.headers", given, {"headers": {}})).get("headers")
        taken = _parsed_answer(hooks, "chat.headers", dict[str, str], headers)
        if taken:
            fields["model"] = request.model.changed(headers={**request.model.headers, **taken})
    if hooks.has("experimental.chat.system.transform"):
        fields["system"] = await _system(hooks, request, user.session_id)
    return _replaced(request, fields)


async def change_history(hooks: Hooks, messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """`experimental.chat.messages.transform`: return the messages for a request; the records do not change."""
    name: HookName = "experimental.chat.messages.transform"
    if not hooks.has(name):
        return list(messages)
    changed = await hooks.run(name, {}, {"messages": [message.to_dict() for message in messages]})
    return _parsed_answer(hooks, name, list[MessageWithParts], changed.get("messages")) or list(messages)


async def change_tools(hooks: Hooks, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """`tool.definition`: return the tool definitions for the model."""
    if not hooks.has("tool.definition"):
        return tuple(tools)
    changed: list[ToolSpec] = []
    for tool in tools:
        output = {"description": tool.description, "parameters": tool.parameters}
        output = await hooks.run("tool.definition", {"toolID": tool.name}, output)
        description = _parsed_answer(hooks, "tool.definition", str, output.get("description"))
        schema = _parsed_answer(hooks, "tool.definition", dict[str, Any], output.get("parameters"))
        if description is not None and schema is not None:
            tool = ToolSpec(tool.name, description, schema, tool.server)
        changed.append(tool)
    return tuple(changed)


async def change_arguments(
    hooks: Hooks, *, tool: str, session_id: str, call_id: str, arguments: JsonObject, claude_name: str = ""
) -> tuple[JsonObject, str]:
    """`tool.execute.before`: return the input of a call, and why the user must be asked about it, empty for no question.

    `claude_name` is what Claude Code would call a tool of a server.
    """
    if not hooks.has("tool.execute.before"):
        return arguments, ""
    given = {"tool": tool, "sessionID": session_id, "callID": call_id, **_claude_name(claude_name)}
    output = await hooks.run("tool.execute.before", given, {"args": arguments})
    changed = _parsed_answer(hooks, "tool.execute.before", dict[str, Any], output.get("args"))
    return arguments if changed is None else changed, str(output.get("ask") or "")


def _claude_name(name: str) -> JsonObject:
    return {"claudeName": name} if name else {}


async def change_result(
    hooks: Hooks,
    result: ToolResult,
    *,
    tool: str,
    context: ToolContext,
    arguments: Mapping[str, Any],
    claude_name: str = "",
) -> ToolResult:
    """`tool.execute.after`: return the result of a call to store. What a command of the settings changes counts as the call's."""
    if not hooks.has("tool.execute.after"):
        return result
    given = {
        "tool": tool,
        "sessionID": context.session_id,
        "callID": context.call_id,
        "args": dict(arguments),
        **_claude_name(claude_name),
    }
    output = {"title": result.title, "output": result.output, "metadata": result.metadata}
    async with context.commands() if hooks.runs_commands("tool.execute.after", given) else nullcontext():
        changed = await hooks.run("tool.execute.after", given, output)
    title = _parsed_answer(hooks, "tool.execute.after", str, changed.get("title"))
    text = _parsed_answer(hooks, "tool.execute.after", str, changed.get("output"))
    metadata = _parsed_answer(hooks, "tool.execute.after", dict[str, Any], changed.get("metadata"))
    if title is None or text is None or metadata is None:
        return result
    return ToolResult(title, text, metadata, result.attachments)


async def change_text(hooks: Hooks, message: AssistantMessage, part: TextPart) -> TextPart:
    """`experimental.text.complete`: return a complete text of an answer to store."""
    name: HookName = "experimental.text.complete"
    if not hooks.has(name):
        return part
    given = {"sessionID": message.session_id, "messageID": message.id, "partID": part.id}
    output = await hooks.run(name, given, {"text": part.text})
    text = _parsed_answer(hooks, name, str, output.get("text"))
    return part if text is None else part.changed(text=text)


async def change_command(
    hooks: Hooks, session_id: str, given: CommandInput, parts: list[PromptPart]
) -> list[PromptPart]:
    """`command.execute.before`: return the parts of a command's prompt."""
    name: HookName = "command.execute.before"
    if not hooks.has(name):
        return parts
    facts = {"command": given.command, "sessionID": session_id, "arguments": given.arguments}
    output = await hooks.run(name, facts, {"parts": [part.to_dict() for part in parts]})
    return _parsed_answer(hooks, name, list[PromptPart], output.get("parts")) or parts


async def change_environment(
    hooks: Hooks, environ: Mapping[str, str], *, folder: str, session_id: str, call_id: str
) -> Mapping[str, str]:
    """`shell.env`: return the environment variables of a shell command."""
    if not hooks.has("shell.env"):
        return environ
    given = {"cwd": folder, "sessionID": session_id, "callID": call_id}
    added = _parsed_answer(
        hooks, "shell.env", dict[str, str], (await hooks.run("shell.env", given, {"env": {}})).get("env")
    )
    return {**environ, **(added or {})}


async def advise_permission(hooks: Hooks, request: PermissionRequest) -> Literal["ask", "allow", "deny"]:
    """`permission.ask`: return the decision of plugins on a permission request."""
    if not hooks.has("permission.ask"):
        return "ask"
    output = await hooks.run("permission.ask", request.to_dict(), {"status": "ask"})
    status = _parsed_answer(hooks, "permission.ask", Literal["ask", "allow", "deny"], output.get("status"))
    return cast("Literal['ask', 'allow', 'deny']", status or "ask")


async def advise_compaction(hooks: Hooks, session_id: str) -> tuple[list[str], str | None]:
    """`experimental.session.compacting`: return additional texts for the summary's request, and a prompt that replaces it."""
    name: HookName = "experimental.session.compacting"
    if not hooks.has(name):
        return [], None
    output = await hooks.run(name, {"sessionID": session_id}, {"context": []})
    context = _parsed_answer(hooks, name, list[str], output.get("context"))
    prompt = _parsed_answer(hooks, name, str, output["prompt"]) if output.get("prompt") is not None else None
    return context or [], prompt


async def _params(hooks: Hooks, request: LlmRequest, given: JsonObject) -> dict[str, Any]:
    output = {"temperature": request.temperature, "topP": request.top_p, "options": request.options}
    changed = await hooks.run("chat.params", given, output)
    options = _parsed_answer(hooks, "chat.params", dict[str, Any], changed.get("options"))
    if options is None:
        return {}
    numbers: Reader[float | None] = Reader(float | None)
    try:
        temperature = numbers.validate_python(changed.get("temperature"))
        top_p = numbers.validate_python(changed.get("topP"))
    except ValidationError as error:
        hooks.refuse("chat.params", _first(error))
        return {}
    top_k = changed.get("topK")
    return {
        "temperature": temperature,
        "top_p": top_p,
        "options": options if top_k is None else {**options, "top_k": top_k},
    }


async def _system(hooks: Hooks, request: LlmRequest, session_id: str) -> tuple[str, ...]:
    """Return the changed segments; after an unchanged first one all others become one, so that a provider can cache two."""
    name: HookName = "experimental.chat.system.transform"
    given = {"sessionID": session_id, "model": request.model.to_dict()}
    system = _parsed_answer(
        hooks, name, list[str], (await hooks.run(name, given, {"system": list(request.system)})).get("system")
    )
    if not system:
        return request.system
    if len(system) > 2 and system[0] == request.system[0]:
        return system[0], "\n".join(system[1:])
    return tuple(system)


def _replaced(request: LlmRequest, fields: Mapping[str, Any]) -> LlmRequest:
    return replace(request, **fields) if fields else request


def _parsed_answer(hooks: Hooks, name: HookName, kind: Any, value: object) -> Any:
    """Return a plugin's answer in its type, None when it is invalid, which is reported."""
    try:
        return Reader[Any](kind).validate_python(value)
    except ValidationError as error:
        hooks.refuse(name, _first(error))
        return None


def _first(error: ValidationError) -> str:
    fault = error.errors()[0]
    place = ".".join(str(step) for step in fault["loc"])
    return f"its output is invalid{f' at {place}' if place else ''}: {fault['msg']}"
