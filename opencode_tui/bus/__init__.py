"""Typed events inside the process: publish, subscribe, classes of delivery. Imports `schema` only."""

from opencode_tui.bus.bus import Bus, Subscription

__all__ = ["Bus", "Subscription"]
