"""Typed events inside the process: publish, subscribe, delivery classes. Imports `schema` only."""

from opencode_tui.bus.bus import Bus, Subscription

__all__ = ["Bus", "Subscription"]
