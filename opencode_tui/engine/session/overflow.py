"""Pure: when a conversation no longer fits its model. Source: seeds 000 and 001; SPEC section 3, "overflow"."""

from msgspec import Struct

from opencode_tui.engine.session.limits import OUTPUT_TOKEN_MAX
from opencode_tui.schema.model import Model


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
