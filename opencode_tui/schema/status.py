"""Whether a session works, waits or rests. Source: reference, section 33."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from opencode_tui.schema.record import Record, absent


class IdleStatus(Record):
    """Nothing runs."""

    type: Literal["idle"] = "idle"


class BusyStatus(Record):
    """A run works on the session."""

    type: Literal["busy"] = "busy"


class RetryStatus(Record):
    """A run waits before it asks the provider again; `next` is when, in milliseconds since 1970, `attempts` how many at most."""

    type: Literal["retry"] = "retry"
    attempt: int
    message: str
    next: int
    attempts: int | None = absent()


AnyStatus = IdleStatus | BusyStatus | RetryStatus
SessionStatus = Annotated[AnyStatus, Field(discriminator="type")]

STATUSES: TypeAdapter[dict[str, AnyStatus]] = TypeAdapter(dict[str, SessionStatus], config=ConfigDict(defer_build=True))
"""Validates statuses by session id from JSON."""
