"""The base of these values."""

from opencode_tui.schema.record import Record


class Value(Record):
    """A record of exactly the described fields: others that a client sends are left out, as none may be in an answer."""

    unknown = "ignore"
