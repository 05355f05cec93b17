"""Rules and grants in words."""

from opencode_tui.schema.api.grants import StoredGrant
from opencode_tui.text.quantity import moment


def use_words(grant: StoredGrant) -> str:
    """Return how often a grant has decided, and when it did so last: `used 14 times, last 2026-11-21 10:12`."""
    if not grant.used:
        return "not used yet"
    times = "once" if grant.used == 1 else f"{grant.used} times"
    return f"used {times}, last {moment(grant.last_used)}" if grant.last_used else f"used {times}"


def scope_words(grant: StoredGrant) -> str:
    """Return whether a grant is off, whether its commands run outside the sandbox, what it allows with files; empty for none."""
    access = _ACCESS.get(grant.access or "", "")
    facts = (("off", not grant.is_on), ("outside", grant.is_outside), (access, bool(access)))
    return ", ".join(words for words, holds in facts if holds)


_ACCESS = {"read": "reading", "write": "writing", "any": "reading and writing"}
