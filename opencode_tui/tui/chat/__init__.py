"""The open chat: its widgets, when they are updated, and its panels."""
