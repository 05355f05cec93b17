"""What version 2 of the protocol says otherwise than version 1, in both directions; pure."""

import difflib
import secrets
from collections.abc import Sequence
from typing import Any, cast

from acp.experimental.v2 import schema
from acp.schema import (
    AcpMcpServer,
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AllowedOutcome,
    AudioContentBlock,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    PermissionOption,
    RequestPermissionResponse,
    ResourceContentBlock,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)
from pydantic import BaseModel

from opencode_tui.acp.content import Block
from opencode_tui.acp.errors import invalid
from opencode_tui.acp.servers import Server
from opencode_tui.acp.updates import Update
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import lines_of

PLAN = "todos"
"""The ID of the only plan of a session."""

MAX_LETTERS = 2_000_000
"""Characters of a file's two states up to which a change has a patch; a larger one has the path alone."""

V2Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.SessionToolCallUpdate
    | schema.SessionPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.ConfigOptionUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
V2Option = schema.SelectSessionConfigOption | schema.BooleanSessionConfigOption | schema.OtherSessionConfigOption
V2Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
    | schema.OtherContentBlock
)
V2Server = schema.HttpMcpServer | schema.AcpMcpServer | schema.StdioMcpServer | schema.OtherMcpServer


# What the agent sends.


def update_of(update: Update) -> V2Update | None:
    """Return an update; None for one that version 2 does not have, because an option says the same.

    A text of the program alone is a message of its own. A thought has another ID than the message that it is for.
    """
    given = plain(update)
    match update:
        case UserMessageChunk():
            return schema.UserMessageChunk.model_validate(given)
        case AgentMessageChunk():
            return schema.AgentMessageChunk.model_validate({"messageId": _new_id(), **given})
        case AgentThoughtChunk():
            of = update.message_id or _new_id()
            return schema.AgentThoughtChunk.model_validate({**given, "messageId": f"{of}-thought"})
        case ToolCallStart() | ToolCallProgress():
            return schema.SessionToolCallUpdate.model_validate({**_call(given), "sessionUpdate": "tool_call_update"})
        case AgentPlanUpdate():
            plan = {"type": "items", "planId": PLAN, "entries": given["entries"]}
            return schema.SessionPlanUpdate.model_validate({"sessionUpdate": "plan_update", "plan": plan})
        case AvailableCommandsUpdate():
            commands = [_command(one) for one in given["availableCommands"]]
            return schema.AvailableCommandsUpdate.model_validate({**given, "availableCommands": commands})
        case ConfigOptionUpdate():
            return schema.ConfigOptionUpdate(config_options=options_of(update.config_options))
        case SessionInfoUpdate():
            return schema.SessionInfoUpdate.model_validate(given)
        case UsageUpdate():
            return schema.UsageUpdate.model_validate(given)
        case CurrentModeUpdate():
            return None


def options_of(
    options: Sequence[SessionConfigOptionSelect | SessionConfigOptionBoolean] | None,
) -> list[V2Option]:
    """Return the options of a session."""
    given = [renamed(plain(one), id="configId") for one in options or ()]
    return [
        schema.SelectSessionConfigOption.model_validate(one)
        if one["type"] == "select"
        else schema.BooleanSessionConfigOption.model_validate(one)
        for one in given
    ]


def subject_of(call: ToolCallUpdate) -> schema.ToolCallPermissionSubjectVariant:
    """Return the call that a permission request is about."""
    return schema.ToolCallPermissionSubjectVariant.model_validate({"toolCall": _call(plain(call))})


def answers_of(options: Sequence[PermissionOption]) -> list[schema.PermissionOption]:
    """Return the answers that a client can give."""
    return [schema.PermissionOption.model_validate(plain(one)) for one in options]


def plain(model: BaseModel) -> dict[str, Any]:
    """Return a model as JSON, without the fields that are not set."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def renamed(given: JsonObject, **names: str) -> JsonObject:
    """Return JSON with other names of fields."""
    return {names.get(name, name): value for name, value in given.items()}


def _new_id() -> str:
    return f"note_{secrets.token_hex(8)}"


def _call(given: JsonObject) -> JsonObject:
    """Return a tool call whose changes of files are patches."""
    content = cast("list[JsonObject] | None", given.get("content"))
    if content is None:
        return given
    return {**given, "content": [_change(one) if one["type"] == "diff" else one for one in content]}


def _change(given: JsonObject) -> JsonObject:
    path, old, new = str(given["path"]), given.get("oldText"), str(given["newText"])
    change = {"operation": "add" if old is None else "modify", "path": path}
    patch = _patch(path, None if old is None else str(old), new)
    return {"type": "diff", "changes": [change], **({"patch": {"format": "git_patch", "text": patch}} if patch else {})}


def _patch(path: str, old: str | None, new: str) -> str:
    """Return a change in the format of git; empty for a large one."""
    if len(old or "") + len(new) > MAX_LETTERS:
        return ""
    rooted = path if path.startswith("/") else f"/{path}"
    names = ("/dev/null" if old is None else f"a{rooted}", f"b{rooted}")
    head = [f"diff --git a{rooted} b{rooted}\n", *(["new file mode 100644\n"] if old is None else [])]
    lines = difflib.unified_diff(lines_of(old or ""), lines_of(new), *names)
    return "".join([*head, *(one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n" for one in lines)])


def _command(given: JsonObject) -> JsonObject:
    entered = cast("JsonObject | None", given.get("input"))
    return given if entered is None else {**given, "input": {"type": "text", **entered}}


# What the client sends.


def blocks_of(blocks: Sequence[V2Block]) -> list[Block]:
    """Return the content of a prompt; of a block of an unknown kind only that it was there."""
    return [_block(one) for one in blocks]


def _block(block: V2Block) -> Block:
    match block:
        case schema.TextContentBlock():
            return TextContentBlock.model_validate(plain(block))
        case schema.ImageContentBlock():
            return ImageContentBlock.model_validate(plain(block))
        case schema.AudioContentBlock():
            return AudioContentBlock.model_validate(plain(block))
        case schema.ResourceContentBlock():
            return ResourceContentBlock.model_validate(plain(block))
        case schema.EmbeddedResourceContentBlock():
            return EmbeddedResourceContentBlock.model_validate(plain(block))
        case schema.OtherContentBlock():
            return TextContentBlock(type="text", text=f"[content of the kind {block.type}, which cannot be read]")


def servers_of(servers: Sequence[V2Server] | None) -> list[Server]:
    """Return the MCP servers of a client. Raises RequestError for one of an unknown kind."""
    return [_server(one) for one in servers or ()]


def _server(server: V2Server) -> Server:
    match server:
        case schema.StdioMcpServer():
            return McpServerStdio.model_validate({"args": [], "env": [], **plain(server)})
        case schema.HttpMcpServer():
            return HttpMcpServer.model_validate({"headers": [], **plain(server)})
        case schema.AcpMcpServer():
            return AcpMcpServer.model_validate(plain(server))
        case schema.OtherMcpServer():
            raise invalid(f"MCP servers of the kind {server.type!r} cannot be used; kinds are stdio and http")


def answer_of(response: schema.RequestPermissionResponse) -> RequestPermissionResponse:
    """Return the answer of a client; what is not understood is none, and never an approval."""
    match response.outcome:
        case schema.SelectedPermissionOutcomeVariant() as chosen:
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))
        case _:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
