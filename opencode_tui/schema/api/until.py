"""Requests about the check of a session."""

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.until import MAX_TURNS


class SetCheck(Record):
    """The command of a check, and how many turns its failures may start."""

    command: str = Field(min_length=1)
    turns: int = Field(default=MAX_TURNS, ge=1)


class RunCheck(Record):
    """Run the check now. With `goes_on` a failure starts a turn, with the agent, the model and its variant.

    They are those of the session where they are absent.
    """

    goes_on: bool = False
    agent: str | None = absent()
    model: ModelRef | None = absent()
    variant: str | None = absent()
