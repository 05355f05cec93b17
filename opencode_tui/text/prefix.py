"""What all requests of a session start with, and what broke that, as text."""

from typing import TYPE_CHECKING

from opencode_tui.text.quantity import amount, money, plural, when
from opencode_tui.text.safe_text import screen_line

if TYPE_CHECKING:
    from opencode_tui.schema.api.context import PrefixView

SHOWN_BREAKS = 12
"""Breaks in a text, the newest ones."""


def prefix_line(view: "PrefixView", now: int) -> str:
    """Return since when the start of requests is fixed, and what broke it, in one line; empty before the first request.

    The times are as is clear at `now`, in ms since 1970.
    """
    if view.since is None:
        return ""
    words = [f"Cached prefix unchanged since {when(view.since, now)}"]
    if view.pending:
        words.append(f"{plural(len(view.pending), 'change')} will join the next prompt")
    if view.breaks:
        cost = f", {money(view.lost_cost)}" if view.lost_cost else ""
        words.append(
            f"{len(view.breaks)} of {plural(view.requests, 'request')} broke it: {amount(view.lost_tokens)} tokens{cost}"
        )
    return " · ".join(words)


def prefix_text(view: "PrefixView", now: int) -> str:
    """Return the state of the frozen start, the changes that will be announced, and the newest breaks; empty without a start.

    The times are as is clear at `now`, in ms since 1970.
    """
    if view.since is None:
        return ""
    lines = [prefix_line(view, now)]
    lines += [f"  will join the next prompt: {screen_line(one.name)}" for one in view.pending]
    for one in view.breaks[-SHOWN_BREAKS:]:
        cost = "price unknown" if one.cost is None else f"{money(one.cost)} more than cached"
        lines.append(
            f"  {when(one.time, now)}  {screen_line(one.cause)}, at {screen_line(one.place)}: "
            f"{amount(one.tokens)} tokens sent anew ({cost})"
        )
    return "\n".join(lines)
