"""Pure: how full a context is, what a compaction could save, and the error when nothing helps."""

import re
from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.engine.session.request.builder import OUTPUT_TOKEN_MAX
from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.schema.error import ContextOverflowError, split_remedy
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.stored_error import keeps_answer
from opencode_tui.schema.session.tool_state import ToolStateCompleted

GAIN = 0.2
"""Share of a request that an automatic compaction must be able to save."""

LEAST_ANSWER = 1_000
"""Minimum tokens of an answer."""

_LEAST_LIMIT = 1_000
_LEAST_SHARE = 16
"""A reported limit smaller than the rejected size divided by this is taken for another number."""
_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d.])|(?<![\d.,])\d+(?![\d.])")


def reported_use(messages: Sequence[MessageWithParts], model: Model) -> int:
    """Return the tokens that the provider reported for the newest finished step; 0 when they do not apply to the next request.

    They do not apply after a compaction, for another model, or when outputs were pruned since. `messages` are
    all of the session, in its order.
    """
    for message in reversed(messages):
        info = message.info
        if not isinstance(info, AssistantMessage) or not info.finish or not keeps_answer(info.error):
            continue
        is_same = (info.provider_id, info.model_id) == (model.provider_id, model.model_id)
        if info.summary or not is_same or pruned_since(messages, info.time.completed or 0):
            return 0
        return info.tokens.context
    return 0


def max_request(model: Model) -> int:
    """Return the maximum tokens of a request, so that an eighth of the context is left for the answer."""
    return model.limit.input or model.limit.context - max(LEAST_ANSWER, model.limit.context // 8)


def pending_from(sent: Sequence[MessageWithParts]) -> int:
    """Return the index of the first request without an answer, the length without one."""
    at = len(sent)
    while at > 0 and isinstance(sent[at - 1].info, UserMessage) and compaction_of(sent[at - 1]) is None:
        at -= 1
    return at


def new_messages(sent: Sequence[MessageWithParts]) -> Sequence[MessageWithParts]:
    """Return the messages that no summary covers yet: what a compaction can shorten."""
    return [
        message
        for message in sent
        if compaction_of(message) is None and not (isinstance(message.info, AssistantMessage) and message.info.summary)
    ]


def parse_reported_limit(text: str, size: int) -> int | None:
    """Return the limit in tokens that a provider's error names for a request of about `size`, None when it names none."""
    numbers = (int(found.replace(",", "")) for found in _NUMBER.findall(text))
    least = max(_LEAST_LIMIT, size // _LEAST_SHARE)
    return max((number for number in numbers if least <= number < size), default=None)


def context_full_error(model: Model, size: int, room: int | None) -> ContextOverflowError:
    """Return the error that ends a turn whose context is full when compaction cannot help."""
    limit = f"the {room:,} that {model.ref} accepts" if room is not None else f"{model.ref} accepts"
    return ContextOverflowError(
        f"the context is full: the next request needs about {size:,} tokens, more than {limit}, and compaction would not free "
        f"enough; {_remedy(model)}",
        provider_id=model.provider_id,
    )


def rejected_error(model: Model, size: int, error: ContextOverflowError) -> ContextOverflowError:
    """Return the error that ends a turn whose request the provider rejected as too large when compaction cannot help.

    The provider's sentence and numbers count; what is estimated here only follows.
    """
    reason, _ = split_remedy(str(error))
    return ContextOverflowError(
        f"{reason} (estimated here: {size:,} tokens); the context is full, and compaction would not free enough; {_remedy(model)}",
        provider_id=model.provider_id,
        failure=error.failure,
    )


def _remedy(model: Model) -> str:
    return (
        "start a new session, use a model with a larger context, or correct "
        f"provider.{model.provider_id}.models.{model.model_id}.limit in opencode.json"
    )


def pruned_since(messages: Sequence[MessageWithParts], moment: int) -> bool:
    """Return whether a tool's output has been pruned since a time in milliseconds since 1970."""
    return any(
        isinstance(part, ToolPart)
        and isinstance(part.state, ToolStateCompleted)
        and (part.state.time.compacted or 0) > moment
        for message in messages
        for part in message.parts
    )


# When a conversation exceeds its model's context. Source: docs/internals/compaction.md#overflow.


class OverflowRules(Struct, frozen=True):
    """The settings and flags for a full context.

    `is_automatic` is false when automatic compaction is off; `reserved` are tokens of a model's input limit that stay free;
    `output_max` is the maximum of an answer in tokens.
    """

    is_automatic: bool = True
    reserved: int = 0
    output_max: int = OUTPUT_TOKEN_MAX


def usable(model: Model, rules: OverflowRules) -> int | None:
    """Return the tokens that a conversation may take, at least 0; None when the model's limit is unknown."""
    limit = model.limit
    if limit.context <= 0:
        return None
    if limit.input:
        return max(0, limit.input - rules.reserved)
    return max(0, limit.context - min(limit.output or rules.output_max, rules.output_max))


def exceeds(count: int, model: Model, rules: OverflowRules) -> bool:
    """Return whether a reported or estimated count of tokens is too large; always False when compaction is off."""
    room = usable(model, rules)
    return rules.is_automatic and room is not None and count > room
