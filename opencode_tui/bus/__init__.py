"""Typed events inside the process: publish, subscribe, delivery classes. Imports `schema` only.

Structural events are never dropped silently; growth of texts is merged while it is queued. Start at `bus.py`; guards:
`tests/bus/`.
"""

from opencode_tui.bus.bus import Bus, Subscription

__all__ = ["Bus", "Subscription"]
