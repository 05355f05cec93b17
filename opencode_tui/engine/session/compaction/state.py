"""Pure: how full a context is by what was reported, what a compaction could take away, and what is said when nothing helps."""

import re
from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.engine.session.limits import OUTPUT_TOKEN_MAX
from opencode_tui.engine.session.request.history import compaction_of
from opencode_tui.schema.error import ContextOverflowError
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted

GAIN = 0.2
"""Share of a request that a compaction must be able to take away, or none is done by itself."""

LEAST_ANSWER = 1_000
"""Tokens of the shortest answer that is worth asking for."""

_LEAST_LIMIT = 1_000
_LEAST_SHARE = 16
"""A limit below one in so many of what was refused is taken for another number."""
_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d.])|(?<![\d.,])\d+(?![\d.])")


def reported_use(messages: Sequence[MessageWithParts], model: Model) -> int:
    """Return what the newest finished step has taken as its provider reported it; 0 when that says nothing of the next request.

    It says nothing when a compaction came after it, when another model gave it, or when outputs were pruned since. `messages` are
    all of the session, in its order.
    """
    for message in reversed(messages):
        info = message.info
        if not isinstance(info, AssistantMessage) or not info.finish or info.error is not None:
            continue
        is_same = (info.provider_id, info.model_id) == (model.provider_id, model.model_id)
        if info.summary or not is_same or pruned_since(messages, info.time.completed or 0):
            return 0
        return info.tokens.context
    return 0


def max_request(model: Model) -> int:
    """Return the tokens that a request may take at the very most, so that an eighth of the context is left for the answer."""
    return model.limit.input or model.limit.context - max(LEAST_ANSWER, model.limit.context // 8)


def pending_from(sent: Sequence[MessageWithParts]) -> int:
    """Return the place of the first request that still waits for its answer, the end without one."""
    at = len(sent)
    while at > 0 and isinstance(sent[at - 1].info, UserMessage) and compaction_of(sent[at - 1]) is None:
        at -= 1
    return at


def new_messages(sent: Sequence[MessageWithParts]) -> Sequence[MessageWithParts]:
    """Return the messages that no summary stands for yet: what a compaction can make smaller."""
    return [
        message
        for message in sent
        if compaction_of(message) is None and not (isinstance(message.info, AssistantMessage) and message.info.summary)
    ]


def parse_reported_limit(text: str, size: int) -> int | None:
    """Return the tokens that a provider's refusal of a request of about `size` names as its limit, None when it names none."""
    numbers = (int(found.replace(",", "")) for found in _NUMBER.findall(text))
    least = max(_LEAST_LIMIT, size // _LEAST_SHARE)
    return max((number for number in numbers if least <= number < size), default=None)


def full_context(model: Model, size: int, room: int | None) -> ContextOverflowError:
    """Return the error that ends a turn whose context is full although nothing is left to summarise."""
    takes = f"has room for {room:,} beside its answer" if room is not None else "does not take that many"
    return ContextOverflowError(
        f"the context is full: the next request takes about {size:,} tokens, {model.ref} {takes}, and a summary would gain too "
        f"little; go on in a new session, choose a model with a larger context, or correct "
        f"provider.{model.provider_id}.models.{model.model_id}.limit in opencode.json",
        provider_id=model.provider_id,
    )


def pruned_since(messages: Sequence[MessageWithParts], moment: int) -> bool:
    """Tell whether a tool's output has been pruned since a moment, in milliseconds since 1970."""
    return any(
        isinstance(part, ToolPart)
        and isinstance(part.state, ToolStateCompleted)
        and (part.state.time.compacted or 0) > moment
        for message in messages
        for part in message.parts
    )


# Pure: when a conversation no longer fits its model. Source: seeds 000 and 001; SPEC section 3, "overflow".


class OverflowRules(Struct, frozen=True):
    """What the settings and flags say of a full context.

    `is_automatic` is false when nothing is compacted by itself; `reserved` are tokens of a model's input limit that stay free;
    `output_max` are the tokens that an answer may have at the most.
    """

    is_automatic: bool = True
    reserved: int = 0
    output_max: int = OUTPUT_TOKEN_MAX


def usable(model: Model, rules: OverflowRules) -> int | None:
    """Return the tokens that a conversation may take, at least 0; None when the model's limit is not known."""
    limit = model.limit
    if limit.context <= 0:
        return None
    if limit.input:
        return max(0, limit.input - rules.reserved)
    return max(0, limit.context - min(limit.output or rules.output_max, rules.output_max))


def exceeds(count: int, model: Model, rules: OverflowRules) -> bool:
    """Return whether a count of tokens, reported or estimated, is too large; never when compaction is switched off."""
    room = usable(model, rules)
    return rules.is_automatic and room is not None and count > room
