"""A tool call that the provider rejected before we saw it, as Groq does: the model is shown it, and asked again.

Imported when a provider reports such a call.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from opencode_tui.engine.provider.decode.response import as_list, as_text, read_json
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ModelMessage,
    ResultBlock,
    TextBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.schema.error import ProviderError, split_remedy
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_ID = "call_rejected"
_MAX_SHOWN = 4_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FENCE = re.compile(r"^\s*```\w*\n(.*?)\n?```\s*$", re.DOTALL)


def with_broken_call(request: LlmRequest, error: ProviderError) -> LlmRequest:
    """Return the request with the call that the provider rejected, as an invalid one, and the reason."""
    reason, _ = split_remedy(str(error))
    text = f"Not run: {reason}. Make the call again with a tool and arguments that its schema allows, or answer without it."
    written = _generation(error.failure.body or "")[:_MAX_SHOWN]
    call = _call(written)
    if call is not None:
        result = ResultBlock(call.id, call.tool, text, is_error=True)
        return _with(request, AssistantEntry((call,)), ToolEntry((result,)))
    reminder = TextBlock(as_reminder(text))
    if written.strip():
        return _with(request, AssistantEntry((TextBlock(written.rstrip()),)), UserEntry((reminder,)))
    last = request.messages[-1] if request.messages else None
    if isinstance(last, UserEntry):
        return replace(request, messages=(*request.messages[:-1], UserEntry((*last.content, reminder))))
    return _with(request, UserEntry((reminder,)))


def _with(request: LlmRequest, *entries: ModelMessage) -> LlmRequest:
    return replace(request, messages=(*request.messages, *entries))


def _generation(body: str) -> str:
    """Return what the model wrote, from the body of the error (Groq's `failed_generation`); empty when it is not there."""
    found = _json(body[body.find("{") : body.rfind("}") + 1])
    return as_text(as_object(found.get("error")).get("failed_generation") or found.get("failed_generation"))


def _call(written: str) -> CallBlock | None:
    """Return the first call in what the model wrote as JSON; None for anything else."""
    fenced = _FENCE.match(written)
    found = _json(fenced.group(1) if fenced else written)
    calls: Sequence[object] = as_list(found.get("tool_calls")) or [found]
    call = as_object(calls[0])
    call = as_object(call.get("function")) or call
    name, arguments = as_text(call.get("name")), call.get("arguments", call.get("parameters"))
    if isinstance(arguments, str):
        arguments = _json(arguments)
    return CallBlock(_ID, name, as_object(arguments)) if _NAME.fullmatch(name) else None


def _json(text: str) -> JsonObject:
    """Return the object of a JSON text, or the first one of its list; empty for anything else."""
    try:
        value = read_json(text.encode("utf-8", "replace"))
    except ValueError:
        return {}
    return as_object(next(iter(as_list(value)), value))
