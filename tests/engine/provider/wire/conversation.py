"""A conversation with everything in it that a request can hold."""

from typing import Any

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    MediaBlock,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    ToolSpec,
    UserEntry,
)
from opencode_tui.schema.model import Model

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolSpec("read", "Reads a file.", SCHEMA)
PICTURE = MediaBlock("image/png", "UE5H", "x.png")
PAPER = MediaBlock("application/pdf", "UERG", "y.pdf")


def assistant(*content: TextBlock | ThinkingBlock | CallBlock) -> AssistantEntry:
    return AssistantEntry(content)


def user(*content: str | MediaBlock) -> UserEntry:
    return UserEntry(tuple(TextBlock(block) if isinstance(block, str) else block for block in content))


def call(identifier: str = "c1", **arguments: Any) -> CallBlock:
    return CallBlock(identifier, "read", arguments or {"path": "a"})


def result(identifier: str = "c1", text: str = "inside", **fields: Any) -> ToolEntry:
    return ToolEntry((ResultBlock(identifier, "read", text, **fields),))


def request(*messages: ModelMessage, model: Model | None = None, **fields: Any) -> LlmRequest:
    asked = model or Model(provider_id="fake", model_id="m")
    return LlmRequest(model=asked, system=fields.pop("system", ()), messages=messages, **fields)
