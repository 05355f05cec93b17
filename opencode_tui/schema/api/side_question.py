"""A question about a session that is not a part of it."""

from collections.abc import Sequence

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record


class SideExchange(Record):
    """A side question that was answered before."""

    question: str
    answer: str


class SideQuestion(Record):
    """A question about a session, with those that were asked before and that it may refer to, oldest first."""

    text: str = Field(min_length=1)
    earlier: Sequence[SideExchange] = ()


class SideAnswer(Record):
    """The answer to a side question, its model, and what it cost in USD; `cached` of the `input` tokens came from the cache."""

    text: str
    model: ModelRef
    cost: float
    input: int
    cached: int
    output: int
