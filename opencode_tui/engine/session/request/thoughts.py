"""Pure: a request without the reasoning of earlier answers, for a provider that cannot read it any more.

A signature or encrypted reasoning belongs to a key or an account, to a server behind a gateway, and for some models to all that
came before it. Claude Fable 5.1 rejects a thought whose conversation was pruned or compacted.
Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
)
from opencode_tui.engine.session.retry import THOUGHTS, UNTHOUGHT
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

_SIGNATURES = frozenset({"thoughtSignature", "extra_content"})
"""What the metadata of a text or a call has of the reasoning before it, by Gemini and by its API in the form of OpenAI's."""

_WORDS = ("reason", "think", "effort")
"""Parts of the words by which providers name what they reject of the default reasoning."""

_ASKING = ("thinking", "reasoningEffort")
"""The options that ask for reasoning; None removes one of the settings too."""


def without_refused(request: LlmRequest, kind: str) -> LlmRequest | None:
    """Return a request without the reasoning that its provider rejected with a failure of this kind; None where nothing changes."""
    if kind == UNTHOUGHT:
        found = _unthinking(request)
    elif kind == THOUGHTS:
        found = replace(request, messages=without_thoughts(request.messages))
    else:
        return None
    return None if found == request else found


def without_default(request: LlmRequest, message: str) -> LlmRequest | None:
    """Return a request without the default reasoning of its model, if a provider's message is about that; None for any other."""
    words = message.lower()
    if not request.unasked or not any(word in words for word in _WORDS):
        return None
    options = {name: value for name, value in request.options.items() if name not in request.unasked}
    return replace(request, options=options, unasked=())


def without_thoughts(entries: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Return the entries without reasoning and signatures; texts, calls and their results stay."""
    return tuple(_without(entry) if isinstance(entry, AssistantEntry) else entry for entry in entries)


def _unthinking(request: LlmRequest) -> LlmRequest:
    """Return a request that does not ask the model to think, and has none of its reasoning, which goes with that."""
    options = {**request.options, **dict.fromkeys(_ASKING)}
    return replace(request, messages=without_thoughts(request.messages), options=options)


def _without(entry: AssistantEntry) -> AssistantEntry:
    return AssistantEntry(tuple(_unsigned(one) for one in entry.content if not isinstance(one, ThinkingBlock)))


def _unsigned(block: TextBlock | CallBlock) -> TextBlock | CallBlock:
    if not block.metadata:
        return block
    kept = {provider: _other(as_object(own)) for provider, own in block.metadata.items()}
    return replace(block, metadata={provider: own for provider, own in kept.items() if own} or None)


def _other(own: JsonObject) -> JsonObject:
    return {name: value for name, value in own.items() if name not in _SIGNATURES}
