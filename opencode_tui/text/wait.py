"""Words for what a run waits for."""

from opencode_tui.schema.session.session import Wait
from opencode_tui.text.quantity import duration
from opencode_tui.text.safe_text import screen_line

SAID_AFTER_S = 3.0
"""Seconds after which a wait has a line where lines stay: in plain output and in editors."""

_FOR = {
    "connection": "a connection to {}",
    "first_byte": "the first byte of {}",
    "more": "more from {}",
    "instructions": "the addresses in `instructions`",
    "sign_in": "the sign-in to {}",
    "process": "the start of {}",
    "disk": "the disk to write {}",
}


def wait_words(wait: Wait) -> str:
    """Return what is waited for: `Waiting for the first byte of anthropic`."""
    if wait.on == "disk" and not wait.name:
        return "Waiting for the disk"
    name = screen_line(wait.name) or "the provider"
    return f"Waiting for {_FOR.get(wait.on, '{}').format(name)}"


def engine_words(pid: int | None, limit_s: float) -> str:
    """Return which engine is waited for, and how long that may last: `Waiting for the engine of process 4711, at most 1 m`."""
    holder = "another process" if pid is None else f"process {pid}"
    return f"Waiting for the engine of {holder}, at most {duration(limit_s)}"


def wait_time(wait: Wait, now: int) -> str:
    """Return how long it lasts and may last, `31 s, at most 5 m`; `now` is in ms since 1970."""
    return f"{duration(max(0, now - wait.since) / 1000)}{wait_limit(wait)}"


def wait_line(wait: Wait) -> str:
    """Return the line for output that stays: `Waiting for the first byte of anthropic, at most 5 m`."""
    return f"{wait_words(wait)}{wait_limit(wait)}"


def said_in(wait: Wait, now: int) -> float:
    """Return the seconds until a wait has lasted for `SAID_AFTER_S`, at least 0; `now` is in ms since 1970."""
    return max(0.0, SAID_AFTER_S - (now - wait.since) / 1000)


def wait_limit(wait: Wait) -> str:
    """Return how long it may last, `, at most 5 m`; empty without a limit."""
    return "" if wait.limit is None else f", at most {duration(wait.limit / 1000)}"
