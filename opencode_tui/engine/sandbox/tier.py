"""Which way to confine commands works on this machine: found by starting a process in it."""

from typing import Literal

from msgspec import Struct

Tier = Literal["bubblewrap", "landlock", "seatbelt", "none"]


class TierStatus(Struct, frozen=True):
    """Whether a tier works; `reason` is one line that says why not and how to get it, empty where it works."""

    tier: Tier
    works: bool
    reason: str
