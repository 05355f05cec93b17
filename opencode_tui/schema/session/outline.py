"""A message in outline: what the timeline needs of most messages, a fraction of what they are."""

from msgspec import Struct

from opencode_tui.schema.record import json_name


class OutlinedMessage(Struct, frozen=True, gc=False, omit_defaults=True, rename=json_name):
    """A finished message that changed no file; of any other one only the ID, with `is_partial`: it has to be read whole.

    A request has a text, an answer none; times are in ms since 1970.
    """

    id: str
    is_partial: bool = False
    created: int = 0
    text: str = ""
    """What the user wrote; each request has some."""
    diffs: list[tuple[str, int, int]] = []
    """The files that the turn of a request changed, each with the lines that were added and removed."""
    completed: int = 0
    tokens: int = 0
    """Tokens that an answer added: new input and output, without what a cache had."""
    context: int = 0
    """Tokens that an answer occupies in the context."""
    calls: list[tuple[int, int, int]] = []
    """When each call of an answer began, when its waits for the user had passed, and its end."""
